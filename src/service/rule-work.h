/* SPDX-License-Identifier: Apache-2.0 */
/* Does the actions of rules that have fired, one after the other for each firing. In the main context. */
#ifndef JESCOPE_SERVICE_RULE_WORK_H
#define JESCOPE_SERVICE_RULE_WORK_H

#include "service/core.h"

#include "rules/rule.h"

typedef struct RuleWorks RuleWorks;

/* What came of one firing. */
typedef struct {
    const Rule *rule;
    ServiceTarget *target;
    guint64 bytes; /* of dumps that were kept */
    guint failed;  /* actions */
} RuleOutcome;

typedef void (*RuleWorkDone)(const RuleOutcome *outcome, gpointer data);

/* DONE is called at the end of each. */
RuleWorks *rule_works_new(Service *service, RuleWorkDone done, gpointer data);

/* Tells the programs that run to end, which a clean end of the service waits for; no others are started. */
void rule_works_stop(RuleWorks *works);

/* Kills the programs that run; what waits for a target or a web hook is given up. */
void rule_works_close(RuleWorks *works);

void rule_works_free(RuleWorks *works);

/* Begins the actions of RULE for TARGET; BECAUSE is the reason for people. */
void rule_works_begin(RuleWorks *works, Rule *rule, ServiceTarget *target, const char *because);

/* An event of the service: the end of a recording may be one that is waited for. */
void rule_works_note(RuleWorks *works, const ServiceEvent *event);

#endif
