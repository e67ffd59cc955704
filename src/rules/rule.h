/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rule: of which processes, when, what is done, and how often at most. docs/rules.md explains the language; a rule is
 * read by file.h and judged by engine.h. Immutable once read, reference counted. Times are microseconds.
 */
#ifndef JESCOPE_RULES_RULE_H
#define JESCOPE_RULES_RULE_H

#include "rules/quantity.h"

/* What is known of a process, to choose by; NULL: it cannot be known, and is not looked at. */
typedef enum {
    RULE_FILTER_PROCESS, /* its name */
    RULE_FILTER_ARGUMENTS,
    RULE_FILTER_USER,
    RULE_FILTER_UNIT,
    RULE_FILTER_CGROUP,
    RULE_FILTER_SERIES, /* its name in the history */
    RULE_FILTERS,
} RuleFilter;

typedef struct {
    const char *facts[RULE_FILTERS];
    const char *const *labels; /* "NAME=VALUE" (export/labels.h), NULL at the end; NULL: they cannot be known */
} RuleSubject;

/* A process has a label NAME with a value that PATTERN matches. */
typedef struct {
    char *name;
    GPatternSpec *pattern;
} RuleLabel;

typedef enum {
    RULE_ABOVE,
    RULE_BELOW,
    RULE_IS, /* of QUANTITY_GROWS */
} RuleSide;

typedef struct {
    Quantity quantity;
    RuleSide side;
    gdouble threshold;
    gdouble clear;     /* where it stops to hold; equal to threshold if none was given */
    guint alternative; /* conditions of one alternative must hold together; one alternative is enough */
} RuleCondition;

typedef enum {
    RULE_RECORD, /* amount: milliseconds */
    RULE_DUMP,
    RULE_STATISTICS,
    RULE_PURGE,
    RULE_DECAY,  /* amount: milliseconds; -1: never */
    RULE_RENEW,  /* amount: bytes of the sampling period, 0: as it is */
    RULE_RUN,    /* argv */
    RULE_PUSH,   /* argv: options of `jescope push`, the one that says where to first */
    RULE_POST,   /* url */
    RULE_OTLP,   /* url */
    RULE_SYSLOG, /* path */
    RULE_LOG,
    RULE_ACTIONS,
} RuleActionKind;

typedef struct {
    RuleActionKind kind;
    gint64 amount;
    char **argv;
    char *url;
    char *path;
} RuleAction;

typedef struct {
    gatomicrefcount references;
    char *name;
    char *place;                         /* "FILE:LINE", for messages */
    char *text;                          /* its lines; two rules with the same text are the same */
    GPatternSpec *filters[RULE_FILTERS]; /* NULL: any */
    char *patterns[RULE_FILTERS];        /* as they were written */
    GArray *labels;                      /* of RuleLabel: all of them must match */
    GArray *conditions;                  /* of RuleCondition, by alternative */
    gint64 for_us;                       /* they must hold for so long */
    gint64 warm_up_us;                   /* after the process was started */
    GArray *actions;                     /* of RuleAction, in order */
    gint64 time_limit_us;                /* of a command or a request */
    char *run_as;                        /* the user that commands run as; NULL: jescope's own */
    guint count;                         /* it fires at most so often for one series... */
    guint user_count;                    /* and so often for all series of one user... */
    gint64 window_us;                    /* ...in this time */
    gint64 cooldown_us;                  /* not before so long after the last time... */
    gdouble again;                       /* ...unless the first condition's quantity has moved on by this; NAN: never */
    guint64 disk;                        /* bytes of dumps in one window; 0: any */
    gdouble spare;                       /* the share of the machine's memory that must be available */
} Rule;

Rule *rule_ref(Rule *rule);
void rule_unref(Rule *rule);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Rule, rule_unref)

/* Nothing is set in it but the defaults. */
Rule *rule_new(const char *name);

gboolean rule_matches(const Rule *rule, const RuleSubject *subject);

/* "process"; "record". */
const char *rule_filter_name(RuleFilter filter);
const char *rule_action_name(RuleActionKind kind);

/* "held above 2 GiB", for people. To be freed. */
char *rule_describe_condition(const RuleCondition *condition);

#endif
