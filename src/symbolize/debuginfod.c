/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/debuginfod.h"

#include "confine/opener.h"
#include "confine/rights.h"
#include "confine/subprocess.h"
#include "symbolize/redirects.h"

#include <dlfcn.h>
#include <elfutils/debuginfod.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
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

/* A request, in memory that is shared with the child that makes it. */
typedef struct {
    const Library *use;
    const char *build_id;
    gint64 began_us;
    volatile gint64 bytes; /* that have come from the network; written by the child */
} Request;

/* What the child answers. */
typedef struct {
    int failure; /* errno; 0: the message has the file */
    char path[OPENER_MAX_TEXT];
} Found;

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
    gboolean whole = opened != NULL && redirects_refuse(opened);
    for (gsize i = 0; whole && i < G_N_ELEMENTS(functions); i++) {
        *functions[i].function = dlsym(opened, functions[i].name);
        whole = *functions[i].function != NULL;
    }
    return whole;
}

/* By these, libdebuginfod prints to standard error, the first one what servers send, with what controls a terminal. */
static void
keep_quiet(void)
{
    static const char *const variables[] = {"DEBUGINFOD_VERBOSE", "DEBUGINFOD_PROGRESS"};
    for (gsize i = 0; i < G_N_ELEMENTS(variables); i++)
        g_unsetenv(variables[i]);
}

/* Loaded on request only, since it loads an HTTP client with all its dependencies. */
static const Library *
library(void)
{
    static Library loaded;
    static gsize state;
    if (g_once_init_enter(&state)) {
        choose_cache();
        keep_quiet();
        g_once_init_leave(&state, load(&loaded) ? 1 : 2);
    }
    return state == 1 ? &loaded : NULL;
}

/* ---- one request ---- */

static gboolean
may_go_on(gpointer data)
{
    const Request *request = data;
    gint64 bytes = request->bytes, took = g_get_monotonic_time() - request->began_us;
    gint64 granted = DEBUGINFOD_IDLE_S * G_USEC_PER_SEC + bytes * (G_USEC_PER_SEC / DEBUGINFOD_LEAST_RATE);
    return took <= granted && spent.time_us + took <= DEBUGINFOD_ALL_S * G_USEC_PER_SEC &&
           spent.vain_us <= DEBUGINFOD_VAIN_S * G_USEC_PER_SEC && bytes <= DEBUGINFOD_ALL_BYTES - spent.bytes;
}

/* Called about once a second, but not while libcurl decompresses what has come. RECEIVED is the number of calls until a
 * server has begun to answer. */
static int
on_progress(debuginfod_client *client, long received, long all G_GNUC_UNUSED)
{
    Request *request = library()->get_user_data(client);
    request->bytes = MAX(request->bytes, received);
    return may_go_on(request) ? 0 : 1;
}

/* In the child: the answer is the descriptor of the file and its path, or -errno. */
static void
find(gpointer data, ChannelMessage *answer)
{
    Request *request = data;
    const Library *use = request->use;
    debuginfod_client *client = use->begin();
    char *path = NULL;
    int fd = -ENOSYS;
    if (client != NULL) {
        use->set_user_data(client, request);
        use->set_progress(client, on_progress);
        fd = use->find(client, (const unsigned char *)request->build_id, 0, &path); /* length 0: text in hex */
    }
    Found *found = answer->bytes;
    found->failure = fd < 0 ? -fd : 0;
    g_strlcpy(found->path, path != NULL ? path : "", sizeof(found->path));
    answer->fds[0] = fd;
    answer->n_fds = fd >= 0 ? 1 : 0;
}

/* Removes what a child that was killed has begun: libdebuginfod itself never removes such files. */
static void
remove_unfinished(const char *build_id)
{
    g_autofree char *place = g_build_filename(g_getenv(CACHE_VARIABLE), build_id, NULL);
    g_autoptr(GDir) directory = g_dir_open(place, 0, NULL);
    const char *name;
    while (directory != NULL && (name = g_dir_read_name(directory)) != NULL)
        if (g_str_has_prefix(name, "debuginfo.")) {
            g_autofree char *path = g_build_filename(place, name, NULL);
            unlink(path);
        }
}

static void
note_spent(const Request *request, int fd)
{
    struct stat st = {0};
    gint64 took = g_get_monotonic_time() - request->began_us;
    spent.time_us += took;
    spent.vain_us += fd < 0 ? took : 0;
    /* A file may be larger than what has come for it. */
    spent.bytes += MAX(request->bytes, fd >= 0 && fstat(fd, &st) == 0 ? st.st_size : 0);
}

/* The library's own bounds hold for what comes, which can be compressed any number of times: then it expands in one
 * call, without a bound. */
static int
ask(Request *request, OpenerAnswer *answer)
{
    Found found = {.failure = ETIME};
    ChannelMessage message = {.bytes = &found, .size = sizeof(found)};
    const Subprocess subprocess = {.work = find,
                                   .may_go_on = may_go_on,
                                   .data = request,
                                   .file_max = (guint64)(DEBUGINFOD_ALL_BYTES - spent.bytes)};
    request->began_us = g_get_monotonic_time();
    if (!may_go_on(request))
        return ETIME;
    if (!subprocess_run(&subprocess, &message))
        remove_unfinished(request->build_id);
    else if (message.n_fds == 1 && message.size == sizeof(found))
        answer->fd = message.fds[0];
    else
        channel_close_fds(&message);
    found.path[sizeof(found.path) - 1] = '\0';
    g_strlcpy(answer->text, found.path, sizeof(answer->text));
    note_spent(request, answer->fd);
    return answer->fd >= 0 ? 0 : found.failure != 0 ? found.failure : EIO;
}

/* Only a valid build id is sent over the network. */
static int
answer_request(const OpenerQuestion *question, OpenerAnswer *answer)
{
    const char *build_id = question->text;
    const Library *use = build_id[strspn(build_id, "0123456789abcdef")] == '\0' ? library() : NULL;
    Request *request = use != NULL
                           ? mmap(NULL, sizeof(*request), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)
                           : MAP_FAILED;
    if (request == MAP_FAILED)
        return ENOSYS;
    *request = (Request){.use = use, .build_id = build_id};
    g_mutex_lock(&spent.lock);
    int failure = ask(request, answer);
    g_mutex_unlock(&spent.lock);
    munmap(request, sizeof(*request));
    return failure;
}

void
debuginfod_allow(void)
{
    opener_handle(OPENER_DEBUGINFOD, answer_request);
}
