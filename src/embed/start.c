/* SPDX-License-Identifier: Apache-2.0 */
/* jescope_start() and jescope_stop(): start and stop the thread. */
#include "agent/life.h"
#include "agent/turn.h"
#include "embed/call.h"
#include "embed/failure.h"
#include "embed/host.h"
#include "embed/kept.h"
#include "embed/recordings.h"

#include <errno.h>
#include <pthread.h>

enum { FLAGS_KNOWN = JESCOPE_START_NO_SOCKET };

const char *
jescope_version(void)
{
    return JESCOPE_VERSION;
}

/* Called in a forked child, after the agent has reset its own state: forgets the parent's recordings and dumps. */
static void
forget(void)
{
    recordings_forget();
    kept_forget();
    host_forget();
}

/* A constructor, so that it runs before any call in another thread: a handler registered during a fork is not called
 * for that fork. */
__attribute__((constructor)) static void
prepare_for_forks(void)
{
    int saved = errno;
    life_on_fork(forget);
    pthread_atfork(NULL, NULL, turn_reset);
    errno = saved;
}

static Outcome
check_options(const JescopeOptions *options, Failure *failure)
{
    if (options->size != sizeof(*options)) {
        return failure_set(failure, OUTCOME_INVALID, "options.size is %zu; set it to sizeof(JescopeOptions), %zu",
                           options->size, sizeof(*options));
    }
    if ((options->flags & ~(unsigned)FLAGS_KNOWN) != 0) {
        return failure_set(failure, OUTCOME_INVALID, "options.flags has bits this version does not know: 0x%x",
                           options->flags);
    }
    if (options->dumps_kept > ROUTE_DUMPS_MAX) {
        return failure_set(failure, OUTCOME_INVALID, "options.dumps_kept is %u; at most %d can be kept",
                           options->dumps_kept, (int)ROUTE_DUMPS_MAX);
    }
    return OUTCOME_DONE;
}

/* The program's options override the environment, except JESCOPE=off and JESCOPE_ONLY. */
static Outcome
read_environment(const JescopeOptions *options, Environment *environment, Failure *failure)
{
    environment_read(environment);
    environment->is_silent = (options->flags & JESCOPE_START_NO_SOCKET) != 0;
    if (environment->bad_socket_directory) {
        return failure_set(failure, OUTCOME_INVALID,
                           "JESCOPE_SOCKET_DIR must be absolute and shorter than %d bytes; change or unset it",
                           (int)DIRECTORY_MAX);
    }
    if (options->socket_directory != NULL && !environment_set_directory(environment, options->socket_directory)) {
        return failure_set(failure, OUTCOME_INVALID,
                           "options.socket_directory is '%.128s'; it must be absolute and shorter than %d bytes",
                           options->socket_directory, (int)DIRECTORY_MAX);
    }
    if (!environment->wanted) {
        return failure_set(failure, OUTCOME_NOT_ALLOWED,
                           "the environment disables jescope (JESCOPE=off or JESCOPE_ONLY); unset the variable");
    }
    return OUTCOME_DONE;
}

static Outcome
describe_start(LifeResult result, int why, Failure *failure)
{
    switch (result) {
    case LIFE_NO_JEMALLOC:
        return failure_set_no_jemalloc(failure);
    case LIFE_ALREADY:
        return failure_set(failure, OUTCOME_ALREADY_STARTED, "the library's thread is already running");
    case LIFE_STILL_ENDING:
        return failure_set(failure, OUTCOME_BUSY, "the library's thread is about to end; start it again in a moment");
    case LIFE_NO_THREAD:
        return failure_set_error(failure, OUTCOME_SYSTEM, why, "cannot start a thread");
    default:
        return OUTCOME_DONE;
    }
}

/* Called once, before there is any state that children could inherit. */
static void
prepare_guest(void)
{
    Guest *guest = life_guest();
    if (guest != NULL)
        guest->tick = recordings_tick;
}

static Outcome
start(const JescopeOptions *options, Failure *failure)
{
    Environment environment;
    int why = 0;
    Outcome result = check_options(options, failure);
    if (result == OUTCOME_DONE)
        result = read_environment(options, &environment, failure);
    if (result == OUTCOME_DONE && !host_set_program(options->program))
        result = failure_set(failure, OUTCOME_INVALID, "options.program is too long: '%.128s'", options->program);
    if (result != OUTCOME_DONE)
        return result;
    CALL_SCOPE(CALL_WITH_TURN);
    prepare_guest();
    result = describe_start(life_start(&environment, &why), why, failure);
    if (result == OUTCOME_DONE)
        kept_limit(options->dumps_kept, options->dump_bytes_kept);
    return result;
}

int
jescope_start(const JescopeOptions *options, JescopeError *error)
{
    static const JescopeOptions defaults = {.size = sizeof(defaults)};
    Failure failure;
    return failure_publish(start(options != NULL ? options : &defaults, &failure), &failure, error);
}

static Outcome
stop(Failure *failure)
{
    CALL_SCOPE(CALL_ALONE);
    switch (life_stop()) {
    case LIFE_NOT_STARTED:
        return failure_set(failure, OUTCOME_NOT_STARTED, "the library's thread was not started");
    case LIFE_STOPPING:
        return failure_set(failure, OUTCOME_BUSY, "another thread is already stopping the library");
    default:
        return OUTCOME_DONE;
    }
}

int
jescope_stop(JescopeError *error)
{
    Failure failure;
    return failure_publish(stop(&failure), &failure, error);
}
