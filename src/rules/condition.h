/* SPDX-License-Identifier: Apache-2.0 */
/* The condition of a rule: QUANTITY above|below AMOUNT [clear AMOUNT], or grows(...), joined by "and" and "or". */
#ifndef JESCOPE_RULES_CONDITION_H
#define JESCOPE_RULES_CONDITION_H

#include "rules/rule.h"

enum {
    CONDITIONS_MAX = 16, /* per rule */
};

/* Appends the conditions in TEXT to CONDITIONS (of RuleCondition). FALSE with a sentence in *WHY, to be freed, if TEXT
 * is invalid. */
gboolean condition_parse(const char *text, GArray *conditions, char **why);

#endif
