/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rule files: GLib key files, one group for each rule (docs/rules.md, docs/decisions/0020-rule-files.md). A wrong rule
 * is left out, and the others are used.
 */
#ifndef JESCOPE_RULES_FILE_H
#define JESCOPE_RULES_FILE_H

#include "rules/rule.h"

enum {
    RULES_FILE_MAX = 256 * 1024, /* bytes; a larger file is not read */
    RULES_MAX = 1000,            /* in all */
};

/* Appends the rules of TEXT to RULES (of Rule), in which names are unique. For each rule that is left out, PROBLEMS (of
 * char *) gets a sentence with FILE, its line and its key. */
void rules_file_parse(const char *file, const char *text, gsize length, GPtrArray *rules, GPtrArray *problems);

/* For RULES. */
GPtrArray *rules_new(void);

#endif
