/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the actions of a rule: "record 30s", "dump", "run /usr/bin/logger -t jescope", ... */
#ifndef JESCOPE_RULES_ACTION_H
#define JESCOPE_RULES_ACTION_H

#include "rules/rule.h"

enum {
    ACTIONS_MAX = 16, /* per rule */
    ACTION_RECORD_MAX_S = 3600,
};

/* FALSE with a sentence in *WHY, to be freed, if TEXT is invalid. */
gboolean action_parse(const char *text, RuleAction *action, char **why);

#endif
