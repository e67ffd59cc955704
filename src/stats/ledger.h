/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger of a process: where its memory is, one line per cause (ledger-lines.def), from the statistics of its
 * jemalloc and what the kernel says of its mappings and its control group. docs/ledger.md has the formulas.
 *
 * The lines of level RSS add up to the resident set, those of level GROUP to what the control group is charged, each
 * with a line for the unexplained rest. Lines of level OWN are memory of the process outside of its resident set, which
 * needs no control group to be known; lines of level SHARING say how much of the resident set is shared, and are part
 * of other lines.
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

/* What is not known has no line: KNOWN is FALSE and the numbers are 0. The true value is between LOW and HIGH, which
 * are equal to BYTES where it is exact. */
typedef struct {
    gboolean known;
    gint64 bytes, low, high;
} LedgerLine;

/* How jemalloc's memory was told from other anonymous memory. */
typedef enum {
    LEDGER_BY_NOTHING,     /* no statistics: all anonymous memory is in the line other-anonymous */
    LEDGER_BY_FLAG,        /* by MAP_NORESERVE: other anonymous memory is exact */
    LEDGER_BY_SUBTRACTION, /* what the statistics explain is jemalloc's: the rest is an estimate */
} LedgerMethod;

const char *ledger_method_name(LedgerMethod method); /* "nothing", "flag", "subtraction" */

/* What a ledger is computed from, all of one moment as nearly as possible; NULL: not known. */
typedef struct {
    const StatsSample *sample;
    const StatsSample
        *classes;             /* its size classes, perhaps of a moment before; without them, holes and tails are one */
    const Mappings *mappings; /* never NULL */
    const Holdings *holdings;
    const CgroupCharges *group;
    const guint64 *zeros;  /* of huge_pages_read_zeros() */
    const guint64 *blocks; /* of libc_blocks_read() */
} LedgerReadings;

typedef struct {
    LedgerLine lines[LEDGER_LINES];
    guint64 rss;   /* the sum of the lines of LEDGER_LEVEL_RSS */
    guint64 group; /* the sum of those of LEDGER_LEVEL_GROUP; G_MAXUINT64: unknown */
    LedgerMethod method;
} Ledger;

void ledger_compute(const LedgerReadings *readings, Ledger *ledger);

/*
 * The same from what a sample alone has, as a history keeps it, without the mappings: program text, mapped files and
 * shared memory are one line, file-mappings; stacks, static data and other allocators are in other-anonymous. FALSE:
 * the sample does not have the resident set.
 */
gboolean ledger_estimate(const StatsSample *sample, Ledger *ledger);

/* The most that the line unexplained may have for the ledger to be called complete: 1 % of the resident set, or 4 MiB.
 */
guint64 ledger_tolerance(const Ledger *ledger);

#endif
