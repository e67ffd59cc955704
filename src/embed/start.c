/* SPDX-License-Identifier: Apache-2.0 */
/* jescope_start(), jescope_stop(): the life of the thread. */
#include "agent/life.h"
#include "agent/turn.h"
#include "embed/call.h"
#include "embed/failure.h"
#include "embed/host.h"
#include "embed/kept.h"
#include "embed/recordings.h"
#include "routes/reply.h"

#include <errno.h>
#include <pthread.h>

enum { FLAGS_KNOWN = JESCOPE_START_NO_SOCKET };

const char *
jescope_version(void)
{
    return JESCOPE_VERSION;
}

/* In a child, after the agent's own state has been put in order: its parent's recordings and dumps are its parent's. */
static void
forget(void)
{
    recordings_forget();
    kept_forget();
}

/* Before any call can be under way in another thread: a handler registered during a fork has no part in it. */
__attribute__((constructor)) static void
prepare_for_forks(void)
{
    int saved = errno;
    life_on_fork(forget);
    pthread_atfork(NULL, NULL, turn_reset);
    errno = saved;
}

static int
check_options(const JescopeOptions *options, JescopeError *error)
{
    if (options->size != sizeof *options) {
        return failure_set(error, JESCOPE_INVALID, 0, "options.size is %zu; set it to sizeof(JescopeOptions), %zu",
                           options->size, sizeof *options);
    }
    if ((options->flags & ~(unsigned)FLAGS_KNOWN) != 0) {
        return failure_set(error, JESCOPE_INVALID, 0, "options.flags has bits this version does not know: 0x%x",
                           options->flags);
    }
    if (options->dumps_kept > ROUTE_DUMPS_MAX) {
        return failure_set(error, JESCOPE_INVALID, 0, "options.dumps_kept is %u; at most %d can be kept",
                           options->dumps_kept, (int)ROUTE_DUMPS_MAX);
    }
    return JESCOPE_OK;
}

/* What the program says goes before what the environment does, but for keeping us out. */
static int
read_environment(const JescopeOptions *options, Environment *environment, JescopeError *error)
{
    environment_read(environment);
    environment->is_silent = (options->flags & JESCOPE_START_NO_SOCKET) != 0;
    if (environment->bad_socket_directory) {
        return failure_set(error, JESCOPE_INVALID, 0,
                           "JESCOPE_SOCKET_DIR must be absolute and shorter than %d bytes; change or unset it",
                           (int)DIRECTORY_MAX);
    }
    if (options->socket_directory != NULL && !environment_set_directory(environment, options->socket_directory)) {
        return failure_set(error, JESCOPE_INVALID, 0,
                           "options.socket_directory is '%.128s'; it must be absolute and shorter than %d bytes",
                           options->socket_directory, (int)DIRECTORY_MAX);
    }
    if (!environment->wanted) {
        return failure_set(error, JESCOPE_NOT_ALLOWED, 0,
                           "the environment keeps jescope out (JESCOPE=off or JESCOPE_ONLY); unset it");
    }
    return JESCOPE_OK;
}

static int
describe_start(LifeResult result, int why, JescopeError *error)
{
    switch (result) {
    case LIFE_NO_JEMALLOC:
        return failure_set_no_jemalloc(error);
    case LIFE_ALREADY:
        return failure_set(error, JESCOPE_ALREADY_STARTED, 0, "the library's thread is there already");
    case LIFE_STILL_ENDING:
        return failure_set(error, JESCOPE_BUSY, 0, "the library's thread is about to end; start it again in a moment");
    case LIFE_NO_THREAD:
        return failure_set(error, JESCOPE_SYSTEM, why, "cannot start a thread: %s", reply_error_name(why));
    default:
        return JESCOPE_OK;
    }
}

/* Once: what follows is ready for children before anything can be in them. */
static void
prepare_guest(void)
{
    Guest *guest = life_guest();
    if (guest != NULL) {
        guest->tick = recordings_tick;
    }
}

int
jescope_start(const JescopeOptions *options, JescopeError *error)
{
    static const JescopeOptions defaults = {.size = sizeof defaults};
    Environment environment;
    options = options != NULL ? options : &defaults;
    int code = check_options(options, error);
    if (code == JESCOPE_OK) {
        code = read_environment(options, &environment, error);
    }
    if (code == JESCOPE_OK && !host_set_program(options->program)) {
        code = failure_set(error, JESCOPE_INVALID, 0, "options.program is too long a name: '%.128s'", options->program);
    }
    if (code != JESCOPE_OK) {
        return code;
    }
    Call call;
    int why = 0;
    call_begin(&call, CALL_WITH_TURN);
    prepare_guest();
    code = describe_start(life_start(&environment, &why), why, error);
    if (code == JESCOPE_OK) {
        kept_limit(options->dumps_kept, options->dump_bytes_kept);
    }
    call_end(&call);
    return code;
}

int
jescope_stop(JescopeError *error)
{
    Call call;
    call_begin(&call, CALL_ALONE);
    LifeStop stop = life_stop();
    call_end(&call);
    if (stop == LIFE_NOT_STARTED) {
        return failure_set(error, JESCOPE_NOT_STARTED, 0, "the library's thread was not started");
    }
    if (stop == LIFE_STOPPING) {
        return failure_set(error, JESCOPE_BUSY, 0, "another thread is stopping the library already");
    }
    return JESCOPE_OK;
}
