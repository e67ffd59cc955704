/* SPDX-License-Identifier: Apache-2.0 */
/* Native API questions about a target of a history file: the list of its dumps kept up to one moment, and reports of
 * these. All other requests fail; nothing is changed. */
#ifndef JESCOPE_TUI_REPLAY_ASK_H
#define JESCOPE_TUI_REPLAY_ASK_H

#include "tui/replay-source.h"

typedef struct {
    const ReplaySource *source;
    const char *target; /* its name */
    gint64 now_us;      /* later dumps do not exist yet */
} ReplayMoment;

typedef struct ReplayAsk ReplayAsk;

/* BODY is the answer, or NULL with ERROR. Both are borrowed. */
typedef void (*ReplayAnswer)(guint id, const char *body, const GError *error, gpointer data);

typedef struct {
    guint id;
    const char *method;
    const char *path; /* below "/api/v1/targets/{target}", including the query */
} ReplayQuestion;

/* Answers QUESTION in a child process, since a report may take long. The calling process must have a single thread.
 * ANSWER is called once from the main loop, after which the ReplayAsk is freed; after replay_ask_cancel() it is not
 * called. */
ReplayAsk *replay_ask(const ReplayMoment *moment, const ReplayQuestion *question, ReplayAnswer answer, gpointer data);
guint replay_ask_id(const ReplayAsk *ask);
void replay_ask_cancel(gpointer ask);

#endif
