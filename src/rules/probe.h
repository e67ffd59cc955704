/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a condition can compare that no sample has, since to measure it costs more than a sample:
 *
 *   ledger(LINE)     bytes of a line of the ledger (docs/ledger.md)
 *   function(REGEX)  bytes that are held, by the profile, in stacks with a function whose name matches
 *   stack(REGEX)     the same of stacks that match as a whole, "main;serve;keep", the outermost function first
 *
 * A regular expression matches anywhere in a name unless it has '^' or '$'.
 */
#ifndef JESCOPE_RULES_PROBE_H
#define JESCOPE_RULES_PROBE_H

#include "stats/ledger.h"

typedef enum {
    PROBE_LEDGER,
    PROBE_FUNCTION,
    PROBE_STACK,
    PROBE_KINDS,
} ProbeKind;

typedef struct {
    ProbeKind kind;
    LedgerId line; /* of PROBE_LEDGER */
    GRegex *regex; /* of the others */
} Probe;

enum {
    PROBES_MAX = 32, /* of one process; others have no value */
};

/* The word before the parenthesis of TEXT is one of theirs. */
gboolean probe_is(const char *text);

/* Of "function(^zmalloc)"; NULL with a sentence in *WHY, to be freed. */
Probe *probe_parse(const char *text, char **why);
void probe_free(Probe *probe);

/* The names of their forms, NULL at the end, for suggestions. */
extern const char *const probe_words[PROBE_KINDS + 1];

/*
 * Adds to SUMS, for each of the first PROBES_MAX of PROBES (of Probe), what TEXT, a report in the format folded, has of
 * it; of those about the ledger nothing. Names come from the program and may be made to match slowly. FALSE: it took
 * more than LIMIT_US and a match, or TEXT is not such a report, or has a line of more than 1 MiB; SUMS are of no use
 * then.
 */
gboolean probes_sum(const GPtrArray *probes, const char *text, gsize length, gint64 limit_us, gdouble *sums);

#endif
