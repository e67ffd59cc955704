/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scope of a call by a thread of the program: the call is not a cancellation point, preserves errno, and is not
 * killed by the signals of failing writes (SIGXFSZ, SIGPIPE).
 */
#ifndef JESCOPE_EMBED_CALL_H
#define JESCOPE_EMBED_CALL_H

#include <signal.h>
#include <stdbool.h>

typedef enum {
    CALL_WITH_TURN, /* holds the agent's turn during the call */
    CALL_ALONE,     /* uses nothing that requires the turn */
} CallKind;

typedef struct {
    CallKind kind;
    int cancel_state;
    int saved_errno;
    sigset_t mask;
    sigset_t pending; /* signals pending before the call */
} Call;

void call_begin(Call *call, CallKind kind);
void call_end(const Call *call);

/* Calls call_begin() here, and call_end() at the end of the block. */
#define CALL_SCOPE(kind)                                                                                               \
    Call scope __attribute__((cleanup(call_end)));                                                                     \
    call_begin(&scope, kind)

#endif
