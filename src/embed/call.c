/* SPDX-License-Identifier: Apache-2.0 */
#include "embed/call.h"

#include "agent/turn.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <time.h>

static const int raised_by_writing[] = {SIGPIPE, SIGXFSZ};
enum { N_RAISED = sizeof(raised_by_writing) / sizeof(raised_by_writing[0]) };

void
call_begin(Call *call, CallKind kind)
{
    sigset_t set;
    call->kind = kind;
    call->saved_errno = errno;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &call->cancel_state);
    sigemptyset(&set);
    for (size_t i = 0; i < N_RAISED; i++)
        sigaddset(&set, raised_by_writing[i]);
    pthread_sigmask(SIG_BLOCK, &set, &call->mask);
    sigpending(&call->pending);
    if (kind == CALL_WITH_TURN)
        turn_take();
}

/* Drops signals that were not pending before the call: they were raised by its writes. */
static void
drop_raised(const Call *call)
{
    const struct timespec at_once = {0};
    sigset_t pending;
    sigpending(&pending);
    for (size_t i = 0; i < N_RAISED; i++) {
        const int number = raised_by_writing[i];
        if (sigismember(&pending, number) == 1 && sigismember(&call->pending, number) == 0) {
            sigset_t one;
            sigemptyset(&one);
            sigaddset(&one, number);
            sigtimedwait(&one, NULL, &at_once);
        }
    }
}

void
call_end(const Call *call)
{
    if (call->kind == CALL_WITH_TURN)
        turn_give();
    drop_raised(call);
    pthread_sigmask(SIG_SETMASK, &call->mask, NULL);
    pthread_setcancelstate(call->cancel_state, NULL);
    errno = call->saved_errno;
}
