/* SPDX-License-Identifier: Apache-2.0 */
/* docs/metrics.md, docs/ledger.md and the causes in docs/doctor.md are what the tables say; with the argument --write
 * they are made so.
 */
#include "stats/advice.h"
#include "stats/ledger.h"
#include "stats/openmetrics.h"

#include <string.h>

static const char *const scope_titles[] = {
    [STATS_SCOPE_TOTALS] = "The process",
    [STATS_SCOPE_ARENA] = "An arena, or all of them merged",
    [STATS_SCOPE_BIN] = "A small size class of an arena",
    [STATS_SCOPE_LARGE] = "A large size class of an arena",
    [STATS_SCOPE_MUTEX] = "A mutex",
};

static void
append_metric(GString *out, StatsMetric metric)
{
    static const char *const types[] = {[STATS_GAUGE] = "gauge", [STATS_COUNTER] = "counter"};
    const StatsMetricInfo *info = &stats_metrics[metric];
    g_autofree char *family = openmetrics_family(metric);
    g_auto(GStrv) controls = g_strsplit(info->controls, " ", -1);
    g_autofree char *listed = g_strjoinv("`, `", controls);
    g_string_append_printf(out, "| `%s` | %s | %s | %s | %s%s%s | `%s` | %s |\n", info->name, types[info->type],
                           stats_unit_name(info->unit), info->versions, listed[0] != '\0' ? "`" : "", listed,
                           listed[0] != '\0' ? "`" : "", family, info->help);
}

static const char held_section[] =
    "\n## Memory held by the program\n\n"
    "`stats.allocated` also counts what jemalloc's arenas have given to thread caches and to jemalloc itself.\n\n"
    "    held = allocated - thread caches - internal allocations - sampling.overhead\n\n"
    "never below 0. jescope uses this number wherever it shows memory held by the program (`stats`, `status`, the "
    "share that a report explains, alerts, dashboards).\n\n"
    "- Thread caches: `stats.arenas.4096.tcache_bytes` and `tcache_stashed_bytes`, freed by the program. jemalloc "
    "before 5.0 does not report them: there `held` includes them.\n"
    "- Internal allocations: `stats.arenas.4096.internal` (4.x: `metadata.allocated`), the profiler's records and "
    "thread caches. `metadata` counts them too.\n"
    "- The overhead of sampling: a sampled small object gets its own pages and is counted as an extent of the smallest "
    "large size class: `LARGE_MINCLASS`, four pages, from 4.0 on (`imalloc_prof_sample()`, `imalloc_sample()` and "
    "`arena_large_malloc_stats_update()` in jemalloc's source), `SMALL_MAXCLASS + 1`, one page, in 3.x. jemalloc does "
    "not count them. If there is a dump (`report`, `record`), their number comes from its samples, and each counts as "
    "that class less its size. Otherwise it is the smaller of two estimates: the live extents of that class "
    "(`arena.large.smallest`, less the cached share), and the live small heap divided by the sampling period, which is "
    "their number if all of it had been sampled. It is zero if profiling is not possible. The estimate is too high "
    "only if the program has many objects of that class (12 to 16 KiB) and a part of its heap was not sampled, by at "
    "most 16 KiB per period: 3 % of the small heap at 512 KiB, 25 % at 64 KiB. Files with statistics do not record "
    "whether profiling was possible: the overhead is omitted there.\n\n"
    "`process.outside` is `process.anonymous` less what jemalloc keeps resident, less pages that the kernel may take "
    "(LazyFree), less huge pages that may be in `retained`: a lower bound of the memory of the process that is not "
    "this jemalloc's. If it is 8 MiB or more and more than `resident`, jescope warns that this jemalloc does not serve "
    "the main heap.\n";

static char *
metrics_document(void)
{
    g_autoptr(GString) out = g_string_new(
        "<!-- SPDX-License-Identifier: Apache-2.0 -->\n<!-- Made from src/stats/metrics.def by `ninja -C build "
        "update-metrics`. -->\n# Metrics\n\nThe metrics that jescope derives from jemalloc's statistics, with their "
        "names in jescope, jemalloc and OpenMetrics. A value\nthat a version or a source does not have is absent, "
        "never zero. Values without a control are computed, or come from the system.\n");
    for (guint scope = 0; scope < STATS_SCOPE_COUNT; scope++) {
        g_string_append_printf(out,
                               "\n## %s\n\n| name | type | unit | jemalloc | control | OpenMetrics | what |\n"
                               "|---|---|---|---|---|---|---|\n",
                               scope_titles[scope]);
        StatsMetric first = stats_scope_first((StatsScope)scope);
        for (guint i = 0; i < stats_scope_count((StatsScope)scope); i++)
            append_metric(out, first + i);
    }
    g_string_append(out, held_section);
    return g_string_free(g_steal_pointer(&out), FALSE);
}

static char *
doctor_document(void)
{
    g_autoptr(GString) out = g_string_new(
        "<!-- SPDX-License-Identifier: Apache-2.0 -->\n<!-- Made from src/stats/causes.def by `ninja -C build "
        "update-metrics`. -->\n# What holds the memory\n\n`jescope doctor` finds these causes; `jescope stats "
        "--advise` those marked with an asterisk, as far as statistics\nalone can tell. Each finding comes with the "
        "numbers that show it and, where a remedy would give bytes back, how many; a rule\nwhose values the source "
        "does not have is silent. \"The memory\" of a rule is the resident set and what the process holds\nbeside it "
        "in the kernel and in files in memory. Thresholds are where a change is likely to be worth it, not "
        "where\nsomething is broken.\n\nGrowth is reported first, by its rate; then what could be given back, by its "
        "bytes; if there is neither, what holds most of\n"
        "the memory; if nothing does, what was. Growth that slows down to less than half is not called a leak.\n");
    for (guint i = 0; i < CAUSES; i++) {
        const Cause *cause = &causes[i];
        g_string_append_printf(out, "\n## %s%s\n\n%s.\n\n- Found when: %s.\n- Against it: %s.\n- What to do: %s.\n",
                               cause->name, advice_covers(i) ? " *" : "", cause->finding, cause->rule, cause->against,
                               cause->advice);
    }
    return g_string_free(g_steal_pointer(&out), FALSE);
}

static const char ledger_begin[] =
    "<!-- SPDX-License-Identifier: Apache-2.0 -->\n<!-- Made from src/stats/ledger-lines.def by `ninja -C build "
    "update-metrics`. -->\n# The ledger of a process\n\n`jescope ledger TARGET` divides the memory of a process into "
    "lines, based on jemalloc's statistics and the kernel's data\nabout the mappings (`/proc/PID/smaps`), open files "
    "and memory control group of the process. The lines of a section add up\nto its total; the unexplained rest is a "
    "line of its own. `--json` uses the names below ([formats.md](formats.md#keys-of-ledger)).\n";

static const char ledger_end[] =
    "\n## How it adds up\n\nThe kernel reports the resident bytes of every mapping, and the kind of most mappings "
    "follows from their name or position.\njemalloc's own mappings have no name, but jemalloc maps them with "
    "`MAP_NORESERVE`, which the kernel shows as `nr` in `VmFlags`\nand which distinguishes them from others. This is "
    "the method `flag`, used if mappings with this flag cover at least\n`stats.mapped` bytes. Otherwise "
    "(`vm.overcommit_memory` is 2, or jemalloc is older than 4.2) the method is `subtraction`:\nanonymous memory "
    "that the statistics do not explain counts as other anonymous memory. Without statistics (`nothing`), all of\nit "
    "does.\n\nThe lines are computed from jemalloc's statistics:\n\n    live + sampler + thread-caches   "
    "stats.allocated less internal allocations\n    slab-holes                       regions of slabs in use less "
    "live regions, for each small size class\n    large-tails                      the rest of stats.active - "
    "stats.allocated\n    dirty, muzzy                     pdirty, and pmuzzy up to the kernel's LazyFree, times the "
    "page size\n    metadata                         internal allocations, and stats.resident - stats.active - dirty"
    "\n\n`stats.resident` is an upper bound, since jemalloc cannot know which pages of an allocation were ever "
    "written to, nor\nwhich are in swap. With R the resident bytes of jemalloc's mappings and J the sum of the lines "
    "above:\n\n- R < J: the difference is `untouched`, a negative line. Zero-filled small pages in huge pages also "
    "count as untouched:\n  `untouched` subtracts them, and `huge-page-inflation` adds them as resident memory.\n- R "
    "> J: the difference is `retained-resident`, up to the retained bytes and the huge pages in these mappings; then"
    "\n  `other-anonymous`, up to the address space with the flag beyond jemalloc's own (another user of the flag); "
    "then\n  `unexplained`.\n\n`rounding` is not in the statistics. The upper end of its range assumes that every "
    "object is one byte larger than the\nnext smaller class; `live` contains these bytes, and its range reflects "
    "this.\n\n## Limits\n\n- Statistics and mappings are read immediately after each other, and up to three times if "
    "more than 1 % of the resident\n  set and more than 4 MiB stay unexplained; the time between them is stated "
    "(`skew_seconds`). The size classes take\n  longer to read and are slightly older.\n- `huge-page-inflation` is "
    "estimated from up to 1000 randomly chosen small pages of huge pages. Pages that the program itself\n  filled "
    "with zeros count as never written; the range allows for this. Without permission to read the memory of the "
    "process,\n  the line is missing if there are huge pages.\n- Thread stacks are recognized by the flag that Linux "
    "6.7 and later set on them, by their size and the guard page below\n  them, or by the stack pointer of a waiting "
    "thread. The list of mappings is read for at most two seconds and 64 MiB; the\n  rest is unexplained, and the "
    "exit status is 3.\n- Socket buffers are those of Unix, TCP and UDP sockets of a process in jescope's network "
    "namespace. Pipe buffers are the\n  unread data, in whole pages.\n- Blocks that glibc's malloc maps individually "
    "are recognized by their headers, in the 64 largest anonymous mappings.\n- A page of a file is charged to the "
    "control group of the process that reads it first, so mapped files may be charged to\n  another group. Version 1 "
    "of control groups counts kernel stacks and page tables as kernel memory.\n- jemalloc memory in the heap (brk; "
    "`dss:primary`) counts as another allocator.\n";

static char *
ledger_document(void)
{
    static const char *const titles[LEDGER_LEVELS] = {
        [LEDGER_LEVEL_RSS] = "The resident set",
        [LEDGER_LEVEL_OWN] = "Outside of the resident set",
        [LEDGER_LEVEL_GROUP] = "What the control group is charged for",
        [LEDGER_LEVEL_SHARING] = "How much is shared",
    };
    g_autoptr(GString) out = g_string_new(ledger_begin);
    for (guint i = 0; i < LEDGER_LINES; i++) {
        const LedgerLineInfo *line = &ledger_lines[i];
        if (i == 0 || line->level != ledger_lines[i - 1].level)
            g_string_append_printf(out, "\n## %s\n\nLevel `%s`.\n\n| line | in text | what |\n|---|---|---|\n",
                                   titles[line->level], ledger_level_name(line->level));
        g_string_append_printf(out, "| `%s` | %s | %s |\n", line->name, line->title, line->meaning);
    }
    g_string_append(out, ledger_end);
    return g_string_free(g_steal_pointer(&out), FALSE);
}

static const struct {
    const char *file;
    char *(*make)(void);
} documents[] = {{"metrics.md", metrics_document}, {"ledger.md", ledger_document}, {"doctor.md", doctor_document}};

static void
test_documents(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(documents); i++) {
        g_autofree char *path = g_build_filename(DOCS, documents[i].file, NULL);
        g_autofree char *made = documents[i].make();
        g_autofree char *kept = NULL;
        g_assert_true(g_file_get_contents(path, &kept, NULL, NULL));
        if (strcmp(made, kept) != 0)
            g_test_message("%s is out of date: run 'ninja -C build update-metrics'", documents[i].file);
        g_assert_cmpstr(made, ==, kept);
    }
}

static int
write_documents(void)
{
    gboolean fine = TRUE;
    for (gsize i = 0; i < G_N_ELEMENTS(documents); i++) {
        g_autofree char *path = g_build_filename(DOCS, documents[i].file, NULL);
        g_autofree char *made = documents[i].make();
        fine &= g_file_set_contents(path, made, -1, NULL);
    }
    return fine ? 0 : 1;
}

int
main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--write") == 0)
        return write_documents();
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/stats/documents", test_documents);
    return g_test_run();
}
