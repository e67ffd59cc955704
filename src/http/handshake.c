/* SPDX-License-Identifier: Apache-2.0 */
#include "http/handshake.h"

#include "confine/thread-time.h"

#include <sys/socket.h>
#include <unistd.h>

enum {
    RUNS = 3,  /* with each group; the first one is slower */
    STEPS = 8, /* of each side, of which a handshake needs no more than three */
};

#define CLIENT "NORMAL:-VERS-TLS-ALL:+VERS-TLS1.3:-GROUP-ALL:+GROUP-"

static const char *const clients[] = {CLIENT "X25519", CLIENT "SECP256R1", CLIENT "SECP384R1"};

typedef struct {
    gnutls_session_t session;
    int code; /* of gnutls_handshake() */
} Side;

static gboolean
begin(Side *side, const char *priorities, gnutls_certificate_credentials_t credentials, int fd)
{
    gnutls_transport_set_int(side->session, fd);
    side->code = GNUTLS_E_AGAIN;
    return gnutls_priority_set_direct(side->session, priorities, NULL) == GNUTLS_E_SUCCESS &&
           gnutls_credentials_set(side->session, GNUTLS_CRD_CERTIFICATE, credentials) == GNUTLS_E_SUCCESS;
}

static void
go_on(Side *side)
{
    if (side->code != GNUTLS_E_SUCCESS && !gnutls_error_is_fatal(side->code))
        side->code = gnutls_handshake(side->session);
}

/* The time that SERVER needs to complete the handshake with CLIENT; 0: they cannot. */
static gint64
complete(Side *client, Side *server)
{
    gint64 spent_us = 0;
    for (int i = 0; i < STEPS; i++) {
        go_on(client);
        const gint64 begun_us = thread_time_us();
        go_on(server);
        spent_us += thread_time_us() - begun_us;
    }
    return server->code == GNUTLS_E_SUCCESS ? spent_us : 0;
}

static gint64
measure_between(const int *ends, const char *client_priorities, gnutls_certificate_credentials_t credentials)
{
    Side client = {0}, server = {0};
    gint64 spent_us = 0;
    if (gnutls_init(&client.session, GNUTLS_CLIENT | GNUTLS_NONBLOCK) != GNUTLS_E_SUCCESS)
        return 0;
    if (gnutls_init(&server.session, GNUTLS_SERVER | GNUTLS_NONBLOCK) == GNUTLS_E_SUCCESS) {
        if (begin(&client, client_priorities, credentials, ends[0]) &&
            begin(&server, HANDSHAKE_PRIORITIES, credentials, ends[1]))
            spent_us = complete(&client, &server);
        gnutls_deinit(server.session);
    }
    gnutls_deinit(client.session);
    return spent_us;
}

static gint64
measure(const char *client_priorities, gnutls_certificate_credentials_t credentials)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0)
        return 0;
    const gint64 spent_us = measure_between(ends, client_priorities, credentials);
    close(ends[0]);
    close(ends[1]);
    return spent_us;
}

gint64
handshake_measure_us(gnutls_certificate_credentials_t credentials)
{
    gint64 most_us = 0;
    for (gsize i = 0; i < G_N_ELEMENTS(clients); i++) {
        gint64 least_us = G_MAXINT64;
        for (int run = 0; run < RUNS; run++)
            least_us = MIN(least_us, measure(clients[i], credentials));
        most_us = MAX(most_us, least_us);
    }
    return most_us;
}
