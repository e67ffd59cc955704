/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/debuginfod.h"

#include "confine/opener.h"
#include "confine/rights.h"

#include <dlfcn.h>
#include <elfutils/debuginfod.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CACHE_VARIABLE "DEBUGINFOD_CACHE_PATH"

typedef struct {
    debuginfod_client *(*begin)(void);
    int (*find)(debuginfod_client *, const unsigned char *, int, char **);
    void (*end)(debuginfod_client *);
    void (*set_progress)(debuginfod_client *, debuginfod_progressfn_t);
    void (*set_user_data)(debuginfod_client *, void *);
    void *(*get_user_data)(debuginfod_client *);
} Library;

/* All requests so far. */
static struct {
    GMutex lock; /* requests are made one after the other */
    gint64 time_us, vain_us, bytes;
} spent;

typedef struct {
    gint64 began_us, bytes;
} Request;

/* The directory of the default exists already where libdebuginfod was used before. */
static void
choose_cache(void)
{
    const char *given = g_getenv(CACHE_VARIABLE);
    g_autofree char *ours = rights_cache_directory();
    g_autofree char *path = g_build_filename(ours, "debuginfod_client", NULL);
    if (given != NULL && (geteuid() != 0 || rights_decide_alone(given)))
        return;
    g_mkdir_with_parents(ours, 0700);
    g_setenv(CACHE_VARIABLE, path, TRUE);
}

static gboolean
load(Library *to)
{
    const struct {
        const char *name;
        void **function;
    } functions[] = {
        {"debuginfod_begin", (void **)&to->begin},
        {"debuginfod_find_debuginfo", (void **)&to->find},
        {"debuginfod_end", (void **)&to->end},
        {"debuginfod_set_progressfn", (void **)&to->set_progress},
        {"debuginfod_set_user_data", (void **)&to->set_user_data},
        {"debuginfod_get_user_data", (void **)&to->get_user_data},
    };
    void *opened = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
    gboolean whole = opened != NULL;
    for (gsize i = 0; whole && i < G_N_ELEMENTS(functions); i++) {
        *functions[i].function = dlsym(opened, functions[i].name);
        whole = *functions[i].function != NULL;
    }
    return whole;
}

/* Loaded on request only, since it loads an HTTP client with all its dependencies. */
static const Library *
library(void)
{
    static Library loaded;
    static gsize state;
    if (g_once_init_enter(&state)) {
        choose_cache();
        g_once_init_leave(&state, load(&loaded) ? 1 : 2);
    }
    return state == 1 ? &loaded : NULL;
}

static gboolean
may_go_on(const Request *request)
{
    gint64 took = g_get_monotonic_time() - request->began_us;
    gint64 granted = DEBUGINFOD_IDLE_S * G_USEC_PER_SEC + request->bytes * (G_USEC_PER_SEC / DEBUGINFOD_LEAST_RATE);
    return took <= granted && spent.time_us + took <= DEBUGINFOD_ALL_S * G_USEC_PER_SEC &&
           spent.vain_us <= DEBUGINFOD_VAIN_S * G_USEC_PER_SEC && request->bytes <= DEBUGINFOD_ALL_BYTES - spent.bytes;
}

/* Called about once a second. RECEIVED is the number of calls until a server has begun to answer. */
static int
on_progress(debuginfod_client *client, long received, long all G_GNUC_UNUSED)
{
    Request *request = library()->get_user_data(client);
    request->bytes = MAX(request->bytes, received);
    return may_go_on(request) ? 0 : 1;
}

static int
ask(const Library *use, debuginfod_client *client, const char *build_id, char **path)
{
    Request request = {.began_us = g_get_monotonic_time()};
    if (!may_go_on(&request))
        return -ETIME;
    use->set_user_data(client, &request);
    use->set_progress(client, on_progress);
    int fd = use->find(client, (const unsigned char *)build_id, 0, path); /* length 0: text in hex */
    gint64 took = g_get_monotonic_time() - request.began_us;
    spent.time_us += took;
    spent.vain_us += fd < 0 ? took : 0;
    spent.bytes += request.bytes;
    return fd;
}

/* Only a valid build id is sent over the network. */
static int
answer_request(const OpenerQuestion *question, OpenerAnswer *answer)
{
    const char *build_id = question->text;
    const Library *found = build_id[strspn(build_id, "0123456789abcdef")] == '\0' ? library() : NULL;
    debuginfod_client *client = found != NULL ? found->begin() : NULL;
    if (client == NULL)
        return ENOSYS;
    char *path = NULL;
    g_mutex_lock(&spent.lock);
    answer->fd = ask(found, client, build_id, &path);
    g_mutex_unlock(&spent.lock);
    found->end(client);
    int failure = answer->fd < 0 ? -answer->fd : 0;
    answer->fd = MAX(answer->fd, -1);
    g_strlcpy(answer->text, path != NULL ? path : "", sizeof(answer->text));
    free(path);
    return failure;
}

void
debuginfod_allow(void)
{
    opener_handle(OPENER_DEBUGINFOD, answer_request);
}
