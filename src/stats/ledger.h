/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger of a process: where its memory is, one line per use (ledger-lines.def), computed from jemalloc's
 * statistics and the kernel's data on its mappings and its control group. docs/ledger.md has the formulas.
 *
 * The lines of level RSS add up to the resident set, those of level GROUP to the charge of the control group; each has
 * a line for the unexplained rest. Lines of level OWN are memory of the process outside its resident set that is known
 * without a control group. Lines of level SHARING, which are part of other lines, are the shared amounts of the
 * resident set.
 *
 * Pure arithmetic, thread-safe.
 */
#ifndef JESCOPE_STATS_LEDGER_H
#define JESCOPE_STATS_LEDGER_H

#include "stats/stats.h"
#include "target/cgroup.h"
#include "target/holdings.h"
#include "target/mappings.h"

typedef enum {
    LEDGER_LEVEL_RSS,
    LEDGER_LEVEL_OWN,
    LEDGER_LEVEL_GROUP,
    LEDGER_LEVEL_SHARING,
    LEDGER_LEVELS,
} LedgerLevel;

typedef enum {
#define LEDGER_LINE(ID, level, name, title, meaning) LEDGER_##ID,
#include "stats/ledger-lines.def"
#undef LEDGER_LINE
    LEDGER_LINES,
} LedgerId;

typedef struct {
    LedgerLevel level;
    const char *name, *title, *meaning;
} LedgerLineInfo;

extern const LedgerLineInfo ledger_lines[LEDGER_LINES];

const char *ledger_level_name(LedgerLevel level); /* "rss", "own", "group", "sharing" */

/* If a line is unknown, KNOWN is FALSE and the numbers are 0. The true value is between LOW and HIGH, which equal BYTES
 * if it is exact. */
typedef struct {
    gboolean known;
    gint64 bytes, low, high;
} LedgerLine;

/* How jemalloc's memory was distinguished from other anonymous memory. */
typedef enum {
    LEDGER_BY_NOTHING,     /* no statistics: all anonymous memory is in the line other-anonymous */
    LEDGER_BY_FLAG,        /* by MAP_NORESERVE: other anonymous memory is exact */
    LEDGER_BY_SUBTRACTION, /* by subtracting what the statistics explain: the rest is an estimate */
} LedgerMethod;

const char *ledger_method_name(LedgerMethod method); /* "nothing", "flag", "subtraction" */

/* The inputs of a ledger, all read as close together in time as possible; NULL: unknown. */
typedef struct {
    const StatsSample *sample;
    const StatsSample *classes; /* its size classes, possibly slightly older; without them, holes and tails are one
                                 * line */
    const Mappings *mappings;   /* never NULL */
    const Holdings *holdings;
    const CgroupCharges *group;
    const guint64 *zeros;  /* from huge_pages_read_zeros() */
    const guint64 *blocks; /* from libc_blocks_read() */
} LedgerReadings;

typedef struct {
    LedgerLine lines[LEDGER_LINES];
    guint64 rss;   /* the sum of the lines of LEDGER_LEVEL_RSS */
    guint64 group; /* the sum of the lines of LEDGER_LEVEL_GROUP; G_MAXUINT64: unknown */
    LedgerMethod method;
} Ledger;

void ledger_compute(const LedgerReadings *readings, Ledger *ledger);

/*
 * Computes a ledger from a sample alone, as in a history, without the mappings: program text, mapped files and shared
 * memory are one line, file-mappings; stacks, static data and other allocators are in other-anonymous. FALSE if the
 * sample lacks the resident set.
 */
gboolean ledger_estimate(const StatsSample *sample, Ledger *ledger);

/* The maximum of the line unexplained for a complete ledger: the larger of 1 % of the resident set and 4 MiB. */
guint64 ledger_tolerance(const Ledger *ledger);

#endif
