/* SPDX-License-Identifier: Apache-2.0 */
/* How often each rule has fired for the processes of each account (confine/account.h), whatever became of them. */
#ifndef JESCOPE_RULES_TALLY_H
#define JESCOPE_RULES_TALLY_H

#include <glib.h>

typedef struct Tally Tally;

Tally *tally_new(void);
void tally_free(Tally *tally);

/* Notes that the rule of this name fires for a process of ACCOUNT. Times ascend, or begin again earlier if the clock
 * was set back. */
void tally_add(Tally *tally, const char *rule, guint32 account, gint64 now_us);

/* How often it has done so within WINDOW_US before NOW_US; forgets those before. */
guint tally_count(Tally *tally, const char *rule, guint32 account, gint64 now_us, gint64 window_us);

/* Forgets the rules that are not in RULES (of Rule). */
void tally_keep(Tally *tally, const GPtrArray *rules);

#endif
