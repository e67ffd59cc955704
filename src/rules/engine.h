/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judges rules over samples. Each pair of a rule and a series has a state:
 *
 *   armed    its conditions do not hold
 *   holding  they hold, not yet for long enough, or a limit forbids to fire
 *   cooling  it has fired, and is armed again when they have stopped to hold and the cooldown is over
 *
 * Pure: samples and times in, decisions out. One thread at a time.
 */
#ifndef JESCOPE_RULES_ENGINE_H
#define JESCOPE_RULES_ENGINE_H

#include "rules/rule.h"

typedef struct Engine Engine;

typedef enum {
    RULE_ARMED,
    RULE_HOLDING,
    RULE_COOLING,
    RULE_STATES,
} RuleState;

/* Why a rule did not fire when it was judged last. */
typedef enum {
    RULE_FIRED,
    RULE_NOT_JUDGED, /* there was no sample yet */
    RULE_OTHER_PROCESS,
    RULE_WARMING_UP,
    RULE_NO_VALUE, /* of a condition: its window is not filled, or the sample lacks it */
    RULE_NOT_TRUE, /* a condition does not hold */
    RULE_NOT_LONG, /* they hold, not for long enough */
    RULE_IN_COOLDOWN,
    RULE_NOT_CLEARED, /* it has fired and the conditions still hold */
    RULE_COUNTED_OUT,
    RULE_DISK_FULL,
    RULE_MACHINE_SHORT,
    RULE_AT_WORK, /* its actions of the last time are not done */
    RULE_USER_COUNTED_OUT,
    RULE_USER_AT_WORK, /* ENGINE_WORKS_OF_USER rules act on processes of this user */
    RULE_REASONS,
} RuleReason;

/* One sample of one series. */
typedef struct {
    const char *series;
    const RuleSubject *subject;
    guint64 life;    /* another number: another process */
    gint64 began_us; /* when that began, or was first seen */
    gint64 now_us;   /* of the caller's clock, which need not be that of the day */
    gint64 gap_us;   /* samples further apart are not of one time that a condition holds */
    const StatsSample *sample;
    GHashTable *probed;  /* as quantity_read()'s; NULL: nothing was measured */
    gboolean probed_now; /* since the reading before */
    gdouble spare;       /* the share of the machine's memory that is available; 1: unknown */
} RuleReading;

typedef struct {
    Rule *rule; /* a reference of the array's */
    char *series;
    gint64 time_us;
    char *because; /* "held above 2 GiB: 2.1 GiB" */
} RuleFiring;

/* An array for engine_judge(), cleared with its elements. */
GArray *rule_firings_new(void);

Engine *engine_new(void);
void engine_free(Engine *engine);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Engine, engine_free)

/* RULES (of Rule) instead of those before. A rule that has the same text goes on; one that has the same name keeps how
 * often it has fired. */
void engine_set_rules(Engine *engine, const GPtrArray *rules);

/* Appends to FIRINGS those rules that fire now, in their order. */
void engine_judge(Engine *engine, const RuleReading *reading, GArray *firings);

/* Of each condition with a probe, of rules that choose SERIES; a quantity may come several times. */
void engine_each_probe(const Engine *engine, const char *series,
                       void (*each)(Rule *rule, const Quantity *quantity, gpointer data), gpointer data);

/* Why rule number RULE did not fire for SERIES at its last sample. */
RuleReason engine_reason(const Engine *engine, guint rule, const char *series);

enum {
    ENGINE_ENDED_MAX = 1024, /* series whose process has ended */
    ENGINE_WORKS_OF_USER = 8,
};

/* The process of SERIES has ended: only how often rules have fired is kept, of the last ENGINE_ENDED_MAX. */
void engine_forget(Engine *engine, const char *series);

/* The actions of NAME on SERIES begin or end; in between it does not fire. BYTES is what they have kept on disk. */
void engine_begin_work(Engine *engine, const char *name, const char *series);
void engine_end_work(Engine *engine, const char *name, const char *series, guint64 bytes);

typedef struct {
    const Rule *rule;
    const char *series;
    RuleState state;
    RuleReason reason;
    const char *why; /* a phrase for people */
    guint fired;     /* in the rule's window */
    gint64 last_us;  /* when it fired last; 0: never */
} RuleStanding;

/* Of each rule and each series it chooses, in the order of both, borrowed until the next call. */
void engine_each(Engine *engine, void (*each)(const RuleStanding *standing, gpointer data), gpointer data);

/* For how many of the series that a rule chooses it is in each state. */
typedef struct {
    char *rule; /* its name */
    guint series[RULE_STATES];
} RuleCount;

/* An array for these, cleared with its elements. */
GArray *rule_counts_new(void);

/* Of each rule, in their order. */
GArray *engine_count(const Engine *engine);

/* How often a rule was judged on a sample of a series that it chooses. */
guint64 engine_judged(const Engine *engine);

/* "armed"; "cooldown". */
const char *rule_state_name(RuleState state);
const char *rule_reason_name(RuleReason reason);

#endif
