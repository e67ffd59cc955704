/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to the native API about a target of a history file: the dumps that were kept of it by one moment, and
 * reports of them. There is nothing else to be asked, and nothing changes. */
#ifndef JESCOPE_TUI_REPLAY_ASK_H
#define JESCOPE_TUI_REPLAY_ASK_H

#include "tui/replay-source.h"

typedef struct {
    const ReplaySource *source;
    const char *target; /* its name */
    gint64 now_us;      /* later dumps are not there yet */
} ReplayMoment;

typedef struct ReplayAsk ReplayAsk;

/* BODY is that of the answer, NULL: ERROR says why. Both are borrowed. */
typedef void (*ReplayAnswer)(guint id, const char *body, const GError *error, gpointer data);

typedef struct {
    guint id;
    const char *method;
    const char *path; /* below "/api/v1/targets/{target}", with its query */
} ReplayQuestion;

/* Asks in a process of its own, as a report may take long. The calling process must have one thread. The answer comes
 * from the main loop, once, after which the result is not valid any more; replay_ask_cancel() before that: never. */
ReplayAsk *replay_ask(const ReplayMoment *moment, const ReplayQuestion *question, ReplayAnswer answer, gpointer data);
guint replay_ask_id(const ReplayAsk *ask);
void replay_ask_cancel(gpointer ask);

#endif
