/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quantities of conditions that samples do not have, since measuring them costs more than a sample:
 *
 *   ledger(LINE)     bytes of a line of the ledger (docs/ledger.md)
 *   function(REGEX)  bytes held, by the profile, in stacks with a function whose name matches
 *   stack(REGEX)     the same for stacks that match as a whole, "main;serve;keep", the outermost function first
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
    PROBES_MAX = 32, /* per process; further ones have no value */
};

/* Whether TEXT begins with the word of a probe and a parenthesis. */
gboolean probe_is(const char *text);

/* Parses a probe such as "function(^zmalloc)". NULL with a sentence in *WHY, to be freed, if it is invalid. */
Probe *probe_parse(const char *text, char **why);
void probe_free(Probe *probe);

/* The words of the probes, NULL-terminated, for suggestions. */
extern const char *const probe_words[PROBE_KINDS + 1];

/*
 * Adds to SUMS, for each of the first PROBES_MAX of PROBES (of Probe), the bytes that it matches in TEXT, a report in
 * folded format; probes of the ledger are ignored. Names come from the program and may be made to match slowly: FALSE
 * if it took longer than LIMIT_US and a match, if TEXT is not such a report, or if it has a line of more than 1 MiB.
 * SUMS are invalid then.
 */
gboolean probes_sum(const GPtrArray *probes, const char *text, gsize length, gint64 limit_us, gdouble *sums);

#endif
