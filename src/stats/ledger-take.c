/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/ledger-take.h"

#include "stats/live.h"
#include "stats/process.h"
#include "stats/summary.h"
#include "target/huge-pages.h"
#include "target/libc-blocks.h"
#include "target/process-change.h"

enum {
    ATTEMPTS_MAX = 3,
    MAPPINGS_TIME_US = 2 * G_USEC_PER_SEC,
    ZEROS_TIME_US = G_USEC_PER_SEC,
};

static gboolean
fail_to_read(MemoryMapEnd end, const char *label, GError **error)
{
    if (end == MEMORY_MAP_DENIED)
        g_set_error(error, TARGET_ERROR, OUTCOME_PERMISSION,
                    "the mappings of %s may not be read; run as root, or as its user", label);
    else
        g_set_error(error, TARGET_ERROR, OUTCOME_GONE, "%s has ended", label);
    return FALSE;
}

/* Inserts ROW among those with the most holes, in descending order. */
static void
note_class(LedgerTaken *taken, const LedgerClass *row)
{
    guint at = taken->n_classes;
    while (at > 0 && taken->classes[at - 1].holes < row->holes)
        at--;
    if (at == LEDGER_CLASSES_MAX)
        return;
    taken->n_classes = MIN(taken->n_classes + 1, LEDGER_CLASSES_MAX);
    for (guint i = taken->n_classes - 1; i > at; i--)
        taken->classes[i] = taken->classes[i - 1];
    taken->classes[at] = *row;
}

static void
note_classes(const StatsSample *sample, LedgerTaken *taken)
{
    const StatsArena *merged = stats_sample_find(sample, STATS_ARENA_MERGED);
    taken->n_classes = 0;
    for (guint i = 0; merged != NULL && merged->bins != NULL && i < merged->bins->count; i++) {
        const StatsValues *bin = stats_table_row(merged->bins, i);
        LedgerClass row = {.size = stats_values_or(bin, STATS_BIN_SIZE, 0)};
        if (summary_bin_waste(bin, &row.live, &row.holes) && row.holes > 0)
            note_class(taken, &row);
    }
}

/* Sums the complete list, since the kernel would have to walk all pages again for smaps_rollup. */
static void
note_outside(StatsValues *totals, const Process *found, const Mappings *mappings, LedgerTaken *taken)
{
    MappingSum all = {0};
    g_free(taken->notice);
    if (taken->cut) {
        stats_read_process(totals, found);
        taken->notice = stats_outside_notice(totals);
        return;
    }
    for (guint kind = 0; kind < MAPPING_KINDS; kind++) {
        all.anonymous += mappings->kinds[kind].anonymous;
        all.lazy_free += mappings->kinds[kind].lazy_free;
        all.huge += mappings->kinds[kind].huge;
    }
    stats_values_set(totals, STATS_ANONYMOUS, all.anonymous);
    stats_derive_outside(totals, all.lazy_free, all.huge);
    taken->notice = stats_outside_notice(totals);
}

/* The inputs; those that change slowly or take long to read are read once. */
typedef struct {
    const Process *found;
    StatsLive *live; /* NULL: no statistics */
    StatsSample *classes;
    const Holdings *holdings;
    const CgroupCharges *group;
} Source;

/* Reads everything as close together in time as possible. */
static gboolean
take_once(const Source *source, LedgerTaken *taken, GError **error)
{
    gint64 began = g_get_monotonic_time();
    guint64 zeros[MAPPING_KINDS], blocks = 0;
    Mappings mappings;
    g_autoptr(StatsSample) sample = source->live != NULL ? stats_live_sample(source->live, error) : NULL;
    if (source->live != NULL && sample == NULL)
        return FALSE;
    MemoryMapEnd end = mappings_read(source->found, MAPPINGS_TIME_US, &mappings);
    if (end == MEMORY_MAP_DENIED || end == MEMORY_MAP_GONE)
        return fail_to_read(end, taken->label, error);
    taken->skew_us = g_get_monotonic_time() - began;
    taken->time_us = g_get_real_time();
    taken->cut = end != MEMORY_MAP_READ;
    gboolean looked = huge_pages_read_zeros(source->found->pid, &mappings, ZEROS_TIME_US, zeros);
    gboolean walked = libc_blocks_read(source->found->pid, &mappings, ZEROS_TIME_US, &blocks);
    const LedgerReadings readings = {.zeros = looked ? zeros : NULL,
                                     .blocks = walked ? &blocks : NULL,
                                     .sample = sample,
                                     .classes = source->classes,
                                     .mappings = &mappings,
                                     .holdings = source->holdings,
                                     .group = source->group};
    ledger_compute(&readings, &taken->ledger);
    if (sample != NULL) {
        if (source->classes != NULL)
            note_classes(source->classes, taken);
        note_outside(sample->totals, source->found, &mappings, taken);
    }
    return TRUE;
}

static guint64
unexplained(const LedgerTaken *taken)
{
    return (guint64)ABS(taken->ledger.lines[LEDGER_UNEXPLAINED].bytes);
}

static gboolean
take_best(const Source *source, LedgerTaken *best, GError **error)
{
    if (!take_once(source, best, error))
        return FALSE;
    while (unexplained(best) > ledger_tolerance(&best->ledger) && best->attempts < ATTEMPTS_MAX && !best->cut &&
           source->live != NULL) {
        LedgerTaken again = {.label = best->label};
        best->attempts++;
        if (!take_once(source, &again, NULL))
            break;
        if (unexplained(&again) < unexplained(best)) {
            again.attempts = best->attempts;
            g_free(best->notice);
            *best = again;
        } else {
            g_free(again.notice);
        }
    }
    return TRUE;
}

/* Everything but the statistics was read by the pid. BEFORE: its program when this began, if KNOWN. */
static gboolean
check_unchanged(const Process *found, const ProcessProgram *before, gboolean known, const LedgerTaken *taken,
                GError **error)
{
    ProcessProgram now;
    if (known && process_program(found->pid, &now) && !process_program_equal(&now, before)) {
        g_set_error(error, TARGET_ERROR, OUTCOME_GONE, "%s has executed another program", taken->label);
        return FALSE;
    }
    const int code = process_change_check(found);
    return code == 0 || target_set_changed(taken->label, code, error);
}

/* Takes a first sample, which detects the available controls. */
static gboolean
prepare(StatsLive *live, GError **error)
{
    g_autoptr(StatsSample) first = stats_live_sample(live, error);
    return first != NULL;
}

/* Size classes take many times as long to read as totals, so a busy process may not answer in time. */
static gboolean
begin_live(Target *target, StatsLive **live, StatsSample **classes, GError **error)
{
    g_autoptr(StatsLive) all = stats_live_new(target, STATS_LIVE_CLASSES, error);
    if (all == NULL)
        return FALSE;
    *classes = stats_live_sample(all, NULL);
    *live = stats_live_new(target, STATS_LIVE_TOTALS, error);
    return *live != NULL && prepare(*live, error);
}

gboolean
ledger_take(const Process *found, Target *target, LedgerTaken *taken, GError **error)
{
    Holdings holdings;
    CgroupCharges group;
    ProcessProgram program;
    g_autoptr(StatsLive) live = NULL;
    g_autoptr(StatsSample) classes = NULL;
    *taken = (LedgerTaken){.attempts = 1};
    const gboolean known = process_program(found->pid, &program);
    if (target != NULL && !begin_live(target, &live, &classes, error))
        return FALSE;
    taken->label =
        target != NULL ? g_strdup(target_label(target)) : g_strdup_printf("%s (%d)", found->name, (int)found->pid);
    holdings_read(found, &holdings);
    const Source source = {
        .found = found,
        .live = live,
        .classes = classes,
        .holdings = &holdings,
        .group = cgroup_charges_read("/proc", "/sys/fs/cgroup", (int)found->pid, &group) ? &group : NULL,
    };
    if (take_best(&source, taken, error) && check_unchanged(found, &program, known, taken, error))
        return TRUE;
    ledger_taken_clear(taken);
    return FALSE;
}

void
ledger_taken_clear(LedgerTaken *taken)
{
    g_clear_pointer(&taken->label, g_free);
    g_clear_pointer(&taken->notice, g_free);
}
