/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call that a thread of the program makes: it cannot be cancelled there, finds its errno as it was, and is not killed
 * by what writing to a full or closed place raises (SIGXFSZ, SIGPIPE).
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

#endif
