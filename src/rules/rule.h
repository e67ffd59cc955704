/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rule: for which processes, when, what it does, and how often at most. docs/rules.md explains the language; file.h
 * reads rules, and engine.h judges them. Immutable once read, reference counted. Times are microseconds.
 */
#ifndef JESCOPE_RULES_RULE_H
#define JESCOPE_RULES_RULE_H

#include "rules/quantity.h"

/* The facts about a process that filters match; one that is NULL is unknown and not checked. */
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
    const char *const *labels; /* "NAME=VALUE" (export/labels.h), NULL-terminated; NULL: unknown */
} RuleSubject;

/* Matches a process that has a label NAME with a value that matches PATTERN. */
typedef struct {
    char *name;
    GPatternSpec *pattern;
} RuleLabel;

typedef enum {
    RULE_ABOVE,
    RULE_BELOW,
    RULE_IS, /* for QUANTITY_GROWS */
} RuleSide;

typedef struct {
    Quantity quantity;
    RuleSide side;
    gdouble threshold;
    gdouble clear;     /* where it stops holding; threshold by default */
    guint alternative; /* all conditions of an alternative must hold; one alternative is enough */
} RuleCondition;

typedef enum {
    RULE_RECORD, /* amount: milliseconds */
    RULE_DUMP,
    RULE_STATISTICS,
    RULE_PURGE,
    RULE_DECAY,  /* amount: milliseconds; -1: never */
    RULE_RENEW,  /* amount: sampling period in bytes; 0: unchanged */
    RULE_RUN,    /* argv */
    RULE_PUSH,   /* argv: options of `jescope push`, the destination first */
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
    uid_t server_user; /* of RULE_POST and RULE_OTLP: as Loopback.named */
    char *path;
} RuleAction;

typedef struct {
    gatomicrefcount references;
    char *name;
    char *place;                         /* "FILE:LINE", for messages */
    char *text;                          /* its lines; two rules with the same text are the same */
    GPatternSpec *filters[RULE_FILTERS]; /* NULL: any */
    char *patterns[RULE_FILTERS];        /* as written */
    GArray *labels;                      /* of RuleLabel: all of them must match */
    GArray *conditions;                  /* of RuleCondition, by alternative */
    gint64 for_us;                       /* how long they must hold */
    gint64 warm_up_us;                   /* how long after the start of the process it does not fire */
    GArray *actions;                     /* of RuleAction, in order */
    gint64 time_limit_us;                /* of a command or a request */
    char *run_as;                        /* the user that commands run as; NULL: jescope's own */
    guint count;                         /* maximum number of firings for a series... */
    guint user_count;                    /* ...and for all series of a user... */
    gint64 window_us;                    /* ...in this time */
    gint64 cooldown_us;                  /* minimum time between firings... */
    gdouble again; /* ...unless the first condition's quantity has moved by this; NAN: no exception */
    guint64 disk;  /* maximum bytes of dumps in one window; 0: no limit */
    gdouble spare; /* the share of the machine's memory that must be available */
} Rule;

Rule *rule_ref(Rule *rule);
void rule_unref(Rule *rule);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Rule, rule_unref)

/* A new rule with default values. */
Rule *rule_new(const char *name);

gboolean rule_matches(const Rule *rule, const RuleSubject *subject);

/* "record" */
const char *rule_action_name(RuleActionKind kind);

/* "held above 2 GiB", for people. To be freed. */
char *rule_describe_condition(const RuleCondition *condition);

#endif
