/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The prefix that a logger writes before each line: learned from one line, recognised in the following ones. Its
 * timestamp may change from line to line; the rest (program, pid, level, source line) must not, which distinguishes
 * processes that write to the same log. In a prefix without a known timestamp, digits may change.
 */
#ifndef JESCOPE_STATS_PREFIX_H
#define JESCOPE_STATS_PREFIX_H

#include "stats/timestamp.h"

enum {
    PREFIX_MAX = 512, /* longer text is not considered a prefix */
};

typedef struct {
    char *text;
    gsize length;
    Timestamp time; /* form NULL: no timestamp */
} Prefix;

/* Learns the prefix TEXT of LENGTH bytes. */
void prefix_learn(Prefix *prefix, const char *text, gsize length);
void prefix_clear(Prefix *prefix);

/* The offset of the content of LINE, or -1 if it does not have this prefix. */
gssize prefix_match(const Prefix *prefix, const char *line, gsize length);

/* The constant part, interned, a new reference; NULL for the empty prefix. */
const char *prefix_identity(const Prefix *prefix);

#endif
