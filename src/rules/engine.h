/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judges rules over samples. Each pair of a rule and a series has a state:
 *
 *   armed    its conditions do not hold
 *   holding  they hold, but not for long enough yet, or a limit prevents firing
 *   cooling  it has fired; it is armed again when they no longer hold and the cooldown is over
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
    RULE_NO_VALUE, /* a condition has no value: its window is not filled, or the sample lacks it */
    RULE_NOT_TRUE, /* a condition does not hold */
    RULE_NOT_LONG, /* they hold, but not for long enough */
    RULE_IN_COOLDOWN,
    RULE_NOT_CLEARED, /* it has fired and the conditions still hold */
    RULE_COUNTED_OUT,
    RULE_DISK_FULL,
    RULE_MACHINE_SHORT,
    RULE_AT_WORK, /* its previous actions are still running */
    RULE_USER_COUNTED_OUT,
    RULE_USER_AT_WORK, /* ENGINE_WORKS_OF_USER actions are charged to this user */
    RULE_REASONS,
} RuleReason;

/* One sample of one series. */
typedef struct {
    const char *series;
    const RuleSubject *subject;
    guint32 owner;   /* the user whom the process belongs to, for engine_each() */
    guint32 account; /* to whom actions on it are charged (confine/account.h) */
    guint64 life;    /* differs for another process */
    gint64 began_us; /* when the process began, or was first seen */
    gint64 now_us;   /* of the caller's clock, which need not be the time of day */
    gint64 gap_us;   /* samples further apart interrupt the time for which a condition holds */
    const StatsSample *sample;
    GHashTable *probed;  /* as for quantity_read(); NULL: nothing was measured */
    gboolean probed_now; /* it was measured since the previous reading */
    gdouble spare;       /* the share of the machine's memory that is available; 1: unknown */
} RuleReading;

typedef struct {
    Rule *rule; /* owned by the array */
    char *series;
    gint64 time_us;
    char *because; /* "held above 2 GiB: 2.1 GiB" */
} RuleFiring;

/* A new array for engine_judge(), which frees its elements. */
GArray *rule_firings_new(void);

Engine *engine_new(void);
void engine_free(Engine *engine);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Engine, engine_free)

/* Replaces the rules by RULES (of Rule). A rule with the same name and text keeps its state; one with the same name
 * only keeps its firings. */
void engine_set_rules(Engine *engine, const GPtrArray *rules);

/* Judges all rules on READING, and appends those that fire to FIRINGS, in order. */
void engine_judge(Engine *engine, const RuleReading *reading, GArray *firings);

/* Calls EACH for each condition with a probe in the rules that select SERIES; a quantity may occur several times. */
void engine_each_probe(const Engine *engine, const char *series,
                       void (*each)(Rule *rule, const Quantity *quantity, gpointer data), gpointer data);

/* Why rule number RULE did not fire for SERIES at its last sample. */
RuleReason engine_reason(const Engine *engine, guint rule, const char *series);

enum {
    ENGINE_ENDED_MAX = 1024, /* series kept after their process has ended */
    ENGINE_WORKS_OF_USER = 8,
};

/* To be called when the process of SERIES has ended: only its firings are kept, for ENGINE_ENDED_MAX series, of which
 * the user with most loses the oldest. */
void engine_forget(Engine *engine, const char *series);

/* To be called when the actions of the rule NAME on SERIES begin and end; it does not fire in between. BYTES is what
 * they have stored on disk. */
void engine_begin_work(Engine *engine, const char *name, const char *series);
void engine_end_work(Engine *engine, const char *name, const char *series, guint64 bytes);

typedef struct {
    const Rule *rule;
    const char *series;
    RuleState state;
    RuleReason reason;
    const char *why; /* a phrase for display */
    guint fired;     /* number of firings in the rule's window */
    gint64 last_us;  /* when it fired last; 0: never */
} RuleStanding;

/* Calls EACH for each rule and each series that it selects, in order; of those of OWNER unless it is NULL. The standing
 * is valid during the call. */
void engine_each(const Engine *engine, const guint32 *owner, void (*each)(const RuleStanding *standing, gpointer data),
                 gpointer data);

/* Where a list in portions continues; {0} at its beginning. */
typedef struct {
    guint64 edition; /* of the rules; 0: the list has not begun */
    guint rule;
    guint64 series; /* the least number of a series that comes next */
} EngineCursor;

typedef enum {
    ENGINE_MORE,
    ENGINE_COMPLETE,
    ENGINE_REPLACED, /* the rules were replaced: the list is to begin again */
} EngineProgress;

/* Like engine_each(), for the next MOST pairs of a rule and a series, so that a lock need not be held for the whole
 * list: what was added since may be missing. */
EngineProgress engine_each_portion(const Engine *engine, const guint32 *owner, EngineCursor *cursor, guint most,
                                   void (*each)(const RuleStanding *standing, gpointer data), gpointer data);

/* The number of series that a rule selects, by its state. */
typedef struct {
    char *rule; /* its name */
    guint series[RULE_STATES];
} RuleCount;

/* A new array of RuleCount, which frees its elements. */
GArray *rule_counts_new(void);

/* Returns a new array with the count of each rule, in order. */
GArray *engine_count(const Engine *engine);

/* The number of times that a rule was judged on a sample of a series that it selects. */
guint64 engine_judged(const Engine *engine);

/* "armed"; "cooldown". */
const char *rule_state_name(RuleState state);
const char *rule_reason_name(RuleReason reason);

#endif
