/* SPDX-License-Identifier: Apache-2.0 */
/* Executes the actions of fired rules, one after another for each firing. Used in the main context. */
#ifndef JESCOPE_SERVICE_RULE_WORK_H
#define JESCOPE_SERVICE_RULE_WORK_H

#include "service/core.h"

#include "rules/rule.h"

typedef struct RuleWorks RuleWorks;

/* The outcome of a firing. */
typedef struct {
    const Rule *rule;
    ServiceTarget *target;
    guint64 bytes; /* bytes of kept dumps */
    guint failed;  /* number of failed actions */
} RuleOutcome;

typedef void (*RuleWorkDone)(const RuleOutcome *outcome, gpointer data);

/* DONE is called at the end of each firing's actions. */
RuleWorks *rule_works_new(Service *service, RuleWorkDone done, gpointer data);

/* Terminates running programs, which a clean shutdown of the service waits for; no others are started. */
void rule_works_stop(RuleWorks *works);

/* Kills running programs; abandons actions that wait for a target or a web hook. */
void rule_works_close(RuleWorks *works);

void rule_works_free(RuleWorks *works);

/* Starts the actions of RULE for TARGET; BECAUSE is the reason as text. */
void rule_works_begin(RuleWorks *works, Rule *rule, ServiceTarget *target, const char *because);

/* To be called for each event of the service: an action may wait for the end of a recording. */
void rule_works_note(RuleWorks *works, const ServiceEvent *event);

#endif
