/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A directory of rule files: those whose names end with ".rules", in the order of their names. Rules decide what is
 * run, so the directory and each file must belong to root or to our user, and no other user may write to them.
 */
#ifndef JESCOPE_RULES_DIRECTORY_H
#define JESCOPE_RULES_DIRECTORY_H

#include "rules/rule.h"

typedef struct RulesDirectory RulesDirectory;

RulesDirectory *rules_directory_new(const char *path);
void rules_directory_free(RulesDirectory *directory);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RulesDirectory, rules_directory_free)

/* Reads all files if one was added, removed or changed since the last call. FALSE if none was. */
gboolean rules_directory_refresh(RulesDirectory *directory);

/* Arrays of Rule, and of char *: sentences that say why a file or a rule is not used. Valid until the next
 * rules_directory_refresh(). */
const GPtrArray *rules_directory_rules(const RulesDirectory *directory);
const GPtrArray *rules_directory_problems(const RulesDirectory *directory);

#endif
