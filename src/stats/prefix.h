/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The prefix that a logger writes before each line: learned from one line, recognised on the next ones. A timestamp in
 * it may change from line to line; the rest (program, pid, level, source line) must not, which distinguishes the lines
 * of two processes that write to one log. A prefix without a known timestamp may change in its digits.
 */
#ifndef JESCOPE_STATS_PREFIX_H
#define JESCOPE_STATS_PREFIX_H

#include "stats/timestamp.h"

enum {
    PREFIX_MAX = 512, /* longer text is not a prefix */
};

typedef struct {
    char *text;
    gsize length;
    Timestamp time; /* form NULL: none */
} Prefix;

/* Learns the LENGTH bytes of TEXT. */
void prefix_learn(Prefix *prefix, const char *text, gsize length);
void prefix_clear(Prefix *prefix);

/* Where the content of a line begins, or -1 if the line does not have this prefix. */
gssize prefix_match(const Prefix *prefix, const char *line, gsize length);

/* The part that does not change, interned; NULL for the empty prefix. */
const char *prefix_identity(const Prefix *prefix);

#endif
