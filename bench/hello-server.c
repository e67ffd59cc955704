/* SPDX-License-Identifier: Apache-2.0 */
/* Measures the maximum throughput of libmicrohttpd, for comparison by bench/serve: one thread, epoll, the same few
 * bytes for every request. Prints its port; ends at the end of stdin. */
#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>

static struct MHD_Response *response;

static enum MHD_Result
answer(void *data, struct MHD_Connection *connection, const char *url, const char *method, const char *version,
       const char *upload, size_t *upload_size, void **state)
{
    static int seen;
    if (*state == NULL) {
        *state = &seen;
        return MHD_YES;
    }
    return MHD_queue_response(connection, MHD_HTTP_OK, response);
}

int
main(void)
{
    static char body[] = "hello\n";
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    response = MHD_create_response_from_buffer(sizeof(body) - 1, body, MHD_RESPMEM_PERSISTENT);
    struct MHD_Daemon *daemon = MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, answer, NULL,
                                                 MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_END);
    if (daemon == NULL || response == NULL)
        return 1;
    printf("%u\n", (unsigned)MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
    fflush(stdout);
    while (getchar() != EOF)
        continue;
    MHD_stop_daemon(daemon);
    MHD_destroy_response(response);
    return 0;
}
