/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/case.h"

enum {
    CACHED_BEYOND = 8 << 10, /* lg_tcache_max:13 does not cache larger objects */
    IDLE_STACK = 16 << 10,   /* bytes touched by an idle thread */
};

static const gdouble MOST = 0.5;      /* minimum share of the bytes for a remedy to be offered */
static const gdouble HALF = 0.5;      /* what halving a limit or the load saves */
static const gdouble DOUBLING = 0.25; /* mean unused share of blocks that double */

/* Takes ownership of ADVICE. */
static void
offer(DoctorFinding *finding, gdouble gives_back, char *advice)
{
    g_free(finding->advice);
    finding->advice = advice;
    finding->gives_back = MAX(0, gives_back);
}

static const char *
culprit_of(const DoctorFinding *finding, const char *otherwise)
{
    return finding->functions->len > 0 ? finding->functions->pdata[0] : otherwise;
}

static void
free_it(const Case *the, DoctorFinding *finding)
{
    g_autofree char *pace = finding->grows ? case_sentence(", growing by %S per hour", finding->rate * 3600) : NULL;

    offer(finding, finding->bytes,
          case_sentence("%s; so far, %s has left %S%s", causes[finding->cause].advice,
                        culprit_of(finding, "the program"), finding->bytes, pace != NULL ? pace : ""));
}

static void
bound_load(const Case *the, DoctorFinding *finding)
{
    offer(
        finding, finding->bytes * HALF,
        case_sentence("%s; half of the load would use %S less", causes[finding->cause].advice, finding->bytes * HALF));
}

static void
limit_cache(const Case *the, DoctorFinding *finding)
{
    offer(finding, finding->bytes * HALF,
          case_sentence("%s: half of the limit saves about %S", causes[finding->cause].advice, finding->bytes * HALF));
}

static void
load_less(const Case *the, DoctorFinding *finding)
{
    offer(finding, finding->bytes,
          case_sentence("%s; it is %S at most", causes[finding->cause].advice, finding->bytes));
}

/* Capacity that was never written is not resident. */
static void
shrink(const Case *the, DoctorFinding *finding)
{
    gdouble untouched = MIN(-case_line_now(the, LEDGER_UNTOUCHED), finding->bytes);

    if (untouched >= MOST * finding->bytes)
        offer(finding, 0,
              case_sentence("%s: %S of it was never written; this reduces address space and the program's own "
                            "counts, but not resident memory",
                            causes[finding->cause].advice, untouched));
    else
        offer(finding, finding->bytes * DOUBLING,
              case_sentence("%s: containers that double their capacity leave a quarter unused on average, here %S",
                            causes[finding->cause].advice, finding->bytes * DOUBLING));
}

static void
pack(const Case *the, DoctorFinding *finding)
{
    offer(finding, finding->bytes,
          case_sentence("%s; in full slabs, the same objects take %S less", causes[finding->cause].advice,
                        finding->bytes));
}

static void
purge(const Case *the, DoctorFinding *finding)
{
    gdouble never = (gdouble)the->waste.never;

    if (never >= MOST * finding->bytes)
        offer(finding, finding->bytes,
              case_sentence(
                  "jescope purge returns %S now; a dirty_decay_ms of 0 or more instead of -1 keeps %S of it returned",
                  finding->bytes, never));
    else
        offer(finding, finding->bytes,
              case_sentence(
                  "jescope purge returns %S now; background_thread:true continues to return it while threads sleep",
                  finding->bytes));
}

static void
join_arenas(const Case *the, DoctorFinding *finding)
{
    offer(finding, finding->bytes + (gdouble)the->waste.arena_data,
          case_sentence("narenas:1 instead of %u would save %S; since more threads then share an arena, choose the "
                        "smallest number with sufficient throughput",
                        the->waste.arenas, finding->bytes + (gdouble)the->waste.arena_data));
}

/* Cached objects of more than 8 KiB, which a cache of small objects would not take, are at least the bytes that the
 * small classes cannot account for. */
static void
shrink_caches(const Case *the, DoctorFinding *finding)
{
    gdouble small = 0, threads = (gdouble)MAX(the->waste.threads, 1);

    for (guint i = 0; i < the->classes->classes->len; i++) {
        const DoctorClass *class = &g_array_index(the->classes->classes, DoctorClass, i);
        small += class->size <= CACHED_BEYOND ? class->bytes : 0;
    }
    gdouble larger = finding->bytes - small;
    if (larger >= MOST * finding->bytes)
        offer(
            finding, larger,
            case_sentence("lg_tcache_max:13 (tcache_max:8192 since 5.3) saves at least %S, the cached objects of more "
                          "than 8 KiB; thread.tcache.flush in each of %u threads returns %S",
                          larger, (guint)threads, finding->bytes));
    else
        offer(finding, finding->bytes,
              case_sentence("thread.tcache.flush in each of %u threads when it becomes idle returns %S; each thread "
                            "less saves %S",
                            (guint)threads, finding->bytes, finding->bytes / threads));
}

static void
shrink_metadata(const Case *the, DoctorFinding *finding)
{
    const char *remedy = stats_waste_metadata_remedy(&the->waste);
    gdouble part = MAX((gdouble)the->waste.arena_data, (gdouble)the->waste.internal);

    if (remedy != NULL)
        offer(finding, part, case_sentence("%s; this part is %S", remedy, part));
    else
        offer(finding, 0,
              case_sentence("no single setting saves most of it: %S belong to arenas (narenas), %S are internal "
                            "allocations (thread caches, the profiler)",
                            (gdouble)the->waste.arena_data, (gdouble)the->waste.internal));
}

static void
leave_room(const Case *the, DoctorFinding *finding)
{
    offer(finding, 0,
          case_sentence(
              "none is needed now; a memory limit must leave room for %S more than is resident, or the burst must "
              "become smaller",
              finding->bytes));
}

static void
need_nothing(const Case *the, DoctorFinding *finding)
{
    offer(finding, 0, g_strdup(causes[finding->cause].advice));
}

static void
give_up(const Case *the, DoctorFinding *finding)
{
    offer(finding, finding->bytes,
          case_sentence("%s; it is %S at most", causes[finding->cause].advice, finding->bytes));
}

/* Offers the remedy for the largest kind of kernel memory. */
static void
drain(const Case *the, DoctorFinding *finding)
{
    static const struct {
        LedgerId line;
        const char *remedy;
    } parts[] = {
        {LEDGER_SOCKETS, "read pending data from sockets, close unused ones, reduce SO_RCVBUF and SO_SNDBUF"},
        {LEDGER_PIPES, "read pending data from pipes, and close unused ones"},
        {LEDGER_KERNEL_STACKS, "use fewer threads"},
        {LEDGER_PAGE_TABLES, "use fewer and denser mappings: unmap sparsely used ones"},
    };
    gsize most = 0;

    for (gsize i = 1; i < G_N_ELEMENTS(parts); i++)
        if (case_line_now(the, parts[i].line) > case_line_now(the, parts[most].line))
            most = i;
    gdouble bytes = case_line_now(the, parts[most].line);
    offer(finding, bytes, case_sentence("%s: this returns at most %S", parts[most].remedy, bytes));
}

static void
end_threads(const Case *the, DoctorFinding *finding)
{
    guint64 threads = the->last != NULL && the->last->threads != G_MAXUINT64 ? MAX(the->last->threads, 1) : 1;
    gdouble idle = (gdouble)threads * IDLE_STACK;

    offer(finding, finding->bytes - idle,
          case_sentence("use less stack, or fewer threads: each of %u has %S and needs at least 16 KiB, so at most %S "
                        "can be saved; join or detach threads that have ended, since their stacks remain mapped",
                        (guint)threads, finding->bytes / (gdouble)threads, MAX(0, finding->bytes - idle)));
}

static void
split_pages(const Case *the, DoctorFinding *finding)
{
    gdouble retained = MAX(0, case_line_now(the, LEDGER_RETAINED));

    if (retained >= MOST * finding->bytes)
        offer(finding, finding->bytes,
              case_sentence("thp:never and metadata_thp:disabled save %S, of which jemalloc has returned %S",
                            finding->bytes, retained));
    else
        offer(finding, finding->bytes,
              case_sentence(
                  "use no huge pages (thp:never, prctl(PR_SET_THP_DISABLE), no MADV_HUGEPAGE) for sparsely used "
                  "memory: this saves %S of zeros",
                  finding->bytes));
}

static void
share_more(const Case *the, DoctorFinding *finding)
{
    offer(finding, finding->bytes,
          case_sentence("%s: the children have %S of their own, copied since fork() or new",
                        causes[finding->cause].advice, finding->bytes));
}

/* How much another allocator could free is unknown: its free lists cannot be read from outside. */
static void
name_other(const Case *the, DoctorFinding *finding)
{
    gdouble free_in_jemalloc = (gdouble)the->waste.unused;

    offer(finding, 0,
          case_sentence(
              "%s; how much of the %S is in use cannot be determined from outside; jemalloc itself has %S unused",
              causes[finding->cause].advice, finding->bytes, free_in_jemalloc));
}

static void (*const remedies[CAUSES])(const Case *the, DoctorFinding *finding) = {
    [CAUSE_HEAP_LEAK] = free_it,
    [CAUSE_UNLOADED_CODE] = free_it,
    [CAUSE_LOAD] = bound_load,
    [CAUSE_CACHE] = limit_cache,
    [CAUSE_STARTUP] = load_less,
    [CAUSE_CAPACITY] = shrink,
    [CAUSE_CHURN] = need_nothing,
    [CAUSE_FRAGMENTATION] = pack,
    [CAUSE_DIRTY] = purge,
    [CAUSE_ARENAS] = join_arenas,
    [CAUSE_THREAD_CACHES] = shrink_caches,
    [CAUSE_RETAINED] = need_nothing,
    [CAUSE_BURST] = leave_room,
    [CAUSE_METADATA] = shrink_metadata,
    [CAUSE_ANON_MMAP] = give_up,
    [CAUSE_PROGRAM_DATA] = give_up,
    [CAUSE_OTHER_ALLOCATOR] = name_other,
    [CAUSE_FILES] = give_up,
    [CAUSE_SHARED] = give_up,
    [CAUSE_TMPFS] = give_up,
    [CAUSE_KERNEL] = drain,
    [CAUSE_STACKS] = end_threads,
    [CAUSE_THP] = split_pages,
    [CAUSE_FORK] = share_more,
};

void
case_remedy(const Case *the, DoctorFinding *finding)
{
    if (remedies[finding->cause] != NULL)
        remedies[finding->cause](the, finding);
}
