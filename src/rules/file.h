/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rule files: GLib key files, one group for each rule (docs/rules.md, docs/decisions/0020-rule-files.md). An invalid
 * rule is skipped, and the others are used.
 */
#ifndef JESCOPE_RULES_FILE_H
#define JESCOPE_RULES_FILE_H

#include "rules/rule.h"

enum {
    RULES_FILE_MAX = 256 * 1024, /* bytes; a larger file is not read */
    RULES_MAX = 1000,            /* in total */
};

/* The text of the rule file that is open as FD, to be freed; of one that is too large, RULES_FILE_MAX + 1 bytes. NULL
 * with errno: it could not be read to its end. */
char *rules_file_read(int fd, gsize *length);

/* Appends the rules in TEXT to RULES (of Rule), where names must be unique. For each rule that is skipped, a sentence
 * with FILE, its line and its key is appended to PROBLEMS (of char *). */
void rules_file_parse(const char *file, const char *text, gsize length, GPtrArray *rules, GPtrArray *problems);

/* A new array of Rule, which releases its elements. */
GPtrArray *rules_new(void);

#endif
