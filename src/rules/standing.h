/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One rule on one series, for the engine: its state, why it did not fire, and when it fired. The windows are those of
 * the series: Quantity.text -> Window for each quantity of the rules that has one.
 */
#ifndef JESCOPE_RULES_STANDING_H
#define JESCOPE_RULES_STANDING_H

#include "rules/engine.h"

typedef struct {
    gint64 time_us;
    guint64 bytes; /* stored by its actions */
} Fired;

/* One rule on one series. */
typedef struct {
    gboolean chosen; /* the rule's filters match the process */
    RuleState state;
    RuleReason reason;
    guint condition;    /* the one that the reason is about */
    gboolean has_value; /* of that condition */
    gdouble value;
    guint32 on;          /* bit i: condition i holds */
    gint64 since_us;     /* since when the conditions hold */
    gdouble fired_value; /* value of the first condition at the last firing */
    gboolean at_work;
    GArray *fired; /* of Fired, in the rule's window; NULL: none */
} Standing;

/* Judges the rule on a reading. TRUE if it should fire, as far as this rule and this series are concerned; otherwise
 * the reason says why not. */
gboolean standing_judge(Standing *standing, const Rule *rule, GHashTable *windows, const RuleReading *reading);

/* Notes that the rule fires. Returns which conditions hold, with their values, to be freed. */
char *standing_fire(Standing *standing, const Rule *rule, GHashTable *windows, const RuleReading *reading);

/* Starts over, but for the firings. */
void standing_rearm(Standing *standing);

/* The clock was set back: times in the future are moved to now. */
void standing_set_back(Standing *standing, gint64 now_us);

/* NULL: it has not fired. */
const Fired *standing_last_fired(const Standing *standing);

/* The number of firings in the rule's window, and in *BYTES what their actions have stored. */
guint standing_count_fired(const Standing *standing, const Rule *rule, gint64 now_us, guint64 *bytes);

/* Adds to what the actions of the last firing have stored. */
void standing_add_bytes(Standing *standing, guint64 bytes);

/* A phrase for the reason, to be freed. USER, whom the process belongs to, may be NULL unless a limit of his is it. */
char *standing_describe(const Standing *standing, const Rule *rule, gint64 now_us, const char *user);

#endif
