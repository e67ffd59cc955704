/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call by a thread of the program: not a cancellation point, preserves errno, and is not killed by the signals of
 * failing writes (SIGXFSZ, SIGPIPE).
 */
#ifndef JESCOPE_EMBED_CALL_H
#define JESCOPE_EMBED_CALL_H

#include <signal.h>
#include <stdbool.h>

typedef enum {
    CALL_WITH_TURN, /* has the agent's turn in between */
    CALL_ALONE,     /* touches nothing that needs it */
} CallKind;

typedef struct {
    CallKind kind;
    int cancel_state;
    int saved_errno;
    sigset_t mask;
    sigset_t pending; /* before the call */
} Call;

void call_begin(Call *call, CallKind kind);
void call_end(const Call *call);

/* From here to the end of the block. */
#define CALL_SCOPE(kind)                                                                                               \
    Call scope __attribute__((cleanup(call_end)));                                                                     \
    call_begin(&scope, kind)

#endif
