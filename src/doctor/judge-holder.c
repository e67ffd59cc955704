/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/case.h"

#include <math.h>

/* The thresholds of causes.def. */
static const gdouble NAMELESS_LEAST = 64 * MIB, NAMELESS_SHARE = 0.6; /* a holder without a function */
static const gdouble TURNOVER = 0.005; /* minimum allocated in a class during the watch, relative to what it holds */
static const gdouble NAMELESS_TURNOVER = 0.0005; /* the same without a function; thread caches hide most of it */
static const gdouble TELLING = 1;                /* minimum expected number of samples that change, for a conclusion */
static const gdouble OTHERS_SHARE = 0.1;         /* of these: if fewer change, other functions allocate in the class */
static const gdouble UNTOUCHED_SHARE = 0.25;
static const guint64 PAGES = 16384; /* bytes: larger blocks have their own pages, which may never be written */
static const gdouble HINT = 0.6;    /* confidence in CAUSE_CAPACITY if only block sizes indicate it */
static const gdouble BURST_LEAST = 32 * MIB, BURST_SHARE = 1.0 / 3;
static const gdouble RETAINED_LEAST = 256 * MIB;
static const gdouble RETAINED_BEYOND_BURST = 2;
static const gdouble CHURN_REQUESTS = 100000, CHURN_BYTES = 64 * MIB; /* per second */
static const gdouble CHURN_BUSY = 0.3; /* processors: then fewer requests suffice, as counters miss some */
static const gdouble CHURN_BUSY_SHARE = 0.2;

/* ---- what holds the memory of a healthy process ---- */

/* A part of the heap: the bytes that it holds, and those allocated in its size classes during the watch. */
typedef struct {
    gdouble bytes, allocated;
} Part;

typedef struct {
    Part renewed, still; /* the size classes that are allocated from, and those that are not */
    Part largest;        /* the size class that holds most */
    Part roomy;          /* those of large blocks that are not allocated from */
} Parts;

static void
add_class(Part *part, const DoctorClass *class)
{
    part->bytes += class->bytes;
    part->allocated += class->allocated;
}

static Parts
parts_of(const DoctorClasses *classes)
{
    Parts parts = {0};

    for (guint i = 0; i < classes->classes->len; i++) {
        const DoctorClass *class = &g_array_index(classes->classes, DoctorClass, i);
        gboolean renewed = class->allocated >= NAMELESS_TURNOVER * class->bytes;
        add_class(renewed ? &parts.renewed : &parts.still, class);
        if (!renewed && class->size >= PAGES)
            add_class(&parts.roomy, class);
        if (class->bytes > parts.largest.bytes)
            parts.largest = (Part){class->bytes, class->allocated};
    }
    return parts;
}

/* The bytes allocated during the watch in the class of objects of BLOCK bytes, relative to what it holds; of all
 * classes if it is unknown. */
static gdouble
turnover(const Case *the, guint64 block)
{
    const DoctorClass *class = block > 0 ? doctor_class_of(the->classes, block) : NULL;
    Parts parts = class != NULL ? (Parts){.still = {class->bytes, class->allocated}} : parts_of(the->classes);
    gdouble bytes = parts.renewed.bytes + parts.still.bytes;

    return bytes > 0 ? (parts.renewed.allocated + parts.still.allocated) / bytes : 0;
}

/* Whether BLOCK is a power of two, as in containers that double their capacity. */
static gboolean
is_doubled(guint64 block)
{
    enum { LEAST = 4096 };
    gdouble exponent = block >= LEAST ? log2((gdouble)block) : 0.5;

    return fabs(exponent - round(exponent)) < 0.01;
}

/* Uses the holder's own samples if there are enough, since other functions may use its size classes as well. */
static gboolean
turns_over(const Case *the, const DoctorStack *holder, gdouble renewed)
{
    if (holder == NULL)
        return renewed >= NAMELESS_TURNOVER;
    gdouble samples = holder->error > 0 ? holder->bytes * holder->bytes / (holder->error * holder->error) : 0;
    gdouble expected = MIN(renewed, 1);
    if (the->evidence->profile == DOCTOR_PROFILE_WHOLE && the->evidence->profiled_seconds > 0 &&
        expected * samples >= TELLING)
        return holder->moved >= OTHERS_SHARE * expected * holder->bytes;
    return renewed >= TURNOVER || holder->moved > 0;
}

/* Whether a notable part of BYTES was never written. */
static gboolean
is_unwritten(const Case *the, gdouble bytes)
{
    return -case_line_now(the, LEDGER_UNTOUCHED) >= UNTOUCHED_SHARE * bytes;
}

static void
add_holder(Case *the, const DoctorStack *holder, gdouble bytes, gdouble renewed, gdouble confidence)
{
    gdouble untouched = -case_line_now(the, LEDGER_UNTOUCHED);
    gboolean unwritten = is_unwritten(the, bytes);
    gboolean roomy = holder == NULL ? unwritten
                                    : holder->buckets || (unwritten && (holder->container || holder->block >= PAGES)) ||
                                          (holder->container && is_doubled(holder->block));
    CauseId cause = holder != NULL && holder->unloaded ? CAUSE_UNLOADED_CODE
                    : the->fills                       ? CAUSE_CACHE
                    : turns_over(the, holder, renewed) ? CAUSE_CACHE
                    : roomy                            ? CAUSE_CAPACITY
                                                       : CAUSE_STARTUP;
    DoctorFinding *finding = case_add(the, RANK_HOLDER, cause, bytes);
    g_autofree char *percent = g_strdup_printf("%.1f %%", 100 * renewed);
    g_autofree char *share = g_strdup_printf("%.0f %%", 100 * bytes / the->memory);

    case_set_functions(finding, holder);
    finding->confidence = confidence;
    case_say(finding,
             case_sentence(the->fills
                               ? "it holds %S, %s of the memory; the heap grew during the watch, at the end less than "
                                 "half as fast"
                               : "it holds %S, %s of the memory, and did not grow",
                           bytes, share));
    case_say(finding, case_sentence("allocations in its size classes during the watch: %s of what they hold", percent));
    case_say_unloaded(finding, holder);
    if (cause == CAUSE_CAPACITY && unwritten)
        case_say(finding,
                 case_sentence(holder != NULL ? "a container requested it, and %S of the heap were never written"
                                              : "%S of the heap were never written",
                               untouched));
    else if (cause == CAUSE_CAPACITY && holder->buckets)
        case_say(finding, g_strdup("most of it is the array of a hash table, which is larger than all of its entries"));
    else if (cause == CAUSE_CAPACITY)
        case_say(finding,
                 case_sentence("a container requested it, in blocks of %S: its capacity doubles each time it is full",
                               (gdouble)holder->block));
    if (cause == CAUSE_CAPACITY && !unwritten)
        finding->confidence = HINT;
    case_say_against(finding, CAUSE_HEAP_LEAK, the->fills ? "the growth slows down" : "it did not grow");
}

gboolean
case_saw_time_pass(const Case *the)
{
    enum { LONG_ENOUGH = 10 };

    return (the->sample != NULL && the->classes->seconds > 0) || the->evidence->profiled_seconds >= LONG_ENOUGH;
}

/* In a heap that does not grow, live memory that was allocated during the watch has replaced older memory: all of its
 * size class, or of the classes that are renewed. */
static gdouble
replaced_bytes(const Case *the, gdouble renewed)
{
    const DoctorStack *holder = the->evidence->profile == DOCTOR_PROFILE_YOUNG ? the->evidence->holder : NULL;
    const DoctorClass *class = holder != NULL ? doctor_class_of(the->classes, holder->block) : NULL;

    if (holder == NULL || holder->bytes < WASTE_LEAST)
        return 0;
    return MAX(holder->bytes, class != NULL && class->size == holder->block ? class->bytes : renewed);
}

/* A part that is probably one function's: a single large size class, or the larger of the classes that are renewed and
 * those that are not. */
static Part
notable_part(const Case *the, const Parts *parts)
{
    const Part none = {0}, *more = parts->renewed.bytes >= parts->still.bytes ? &parts->renewed : &parts->still;

    if (the->fills)
        return none;
    /* Room is of many sizes, and only large blocks have pages that were never written. */
    if (case_is_holder(the, parts->roomy.bytes) && is_unwritten(the, parts->roomy.bytes))
        return parts->roomy;
    if (case_is_holder(the, parts->largest.bytes))
        return parts->largest;
    return case_is_holder(the, more->bytes) ? *more : none;
}

/* With a profile of the whole run, many functions hold the rest, and nothing is reported. Otherwise it reports the
 * memory that was replaced, a notable part, or all that is held. */
static void
judge_nameless(Case *the, gdouble held)
{
    Parts parts = parts_of(the->classes);
    Part part = notable_part(the, &parts);
    gdouble replaced = MIN(replaced_bytes(the, parts.renewed.bytes), held);

    if (the->evidence->profile == DOCTOR_PROFILE_WHOLE)
        return;
    if (case_is_holder(the, replaced) && !the->fills)
        add_holder(the, the->evidence->holder, replaced, turnover(the, the->evidence->holder->block), 0.6);
    else if (part.bytes > 0)
        add_holder(the, NULL, MIN(part.bytes, held), part.allocated / part.bytes, 0.4);
    else if (held >= NAMELESS_LEAST && held >= NAMELESS_SHARE * the->memory)
        add_holder(the, NULL, held, turnover(the, 0), 0.4);
}

void
judge_holder(Case *the)
{
    const DoctorEvidence *evidence = the->evidence;
    const DoctorStack *holder = evidence->holder;
    uint64_t held = 0;

    if ((the->classes->grows && !the->fills) || !case_saw_time_pass(the))
        return;
    if (holder != NULL && case_is_holder(the, holder->bytes)) {
        add_holder(the, holder, holder->bytes, turnover(the, holder->block), 0.8);
        return;
    }
    if (the->sample == NULL || !stats_values_get(the->sample->totals, STATS_HELD, &held))
        return;
    judge_nameless(the, (gdouble)held);
}

/* ---- past events ---- */

/* The bytes that were resident at the peak and are not now; 0: not notable. */
static gdouble
past_burst(const Case *the)
{
    if (the->last == NULL || the->last->peak == G_MAXUINT64 || the->last->rss == G_MAXUINT64)
        return 0;
    gdouble peak = (gdouble)the->last->peak, gone = peak - (gdouble)the->last->rss;
    return gone >= BURST_LEAST && gone >= BURST_SHARE * peak && !the->classes->grows ? gone : 0;
}

static void
judge_burst(Case *the)
{
    gdouble gone = past_burst(the);

    if (gone <= 0)
        return;
    gdouble peak = (gdouble)the->last->peak, rss = (gdouble)the->last->rss;
    DoctorFinding *finding = case_add(the, RANK_PAST, CAUSE_BURST, gone);
    finding->confidence = 0.85;
    case_say(finding, case_sentence("%S are resident; the maximum was %S (VmHWM)", rss, peak));
}

static void
judge_retained(Case *the)
{
    uint64_t retained = the->sample != NULL ? stats_values_or(the->sample->totals, STATS_RETAINED, 0) : 0;

    /* A burst leaves retained address space: it is the cause unless there is much more of it. */
    if ((gdouble)retained < RETAINED_LEAST || (gdouble)retained < 2 * the->memory ||
        (gdouble)retained < RETAINED_BEYOND_BURST * past_burst(the))
        return;
    DoctorFinding *finding = case_add(the, RANK_PAST, CAUSE_RETAINED, (gdouble)retained);
    finding->confidence = 0.8;
    case_say(finding,
             case_sentence("%S of address space are retained; %S are resident", (gdouble)retained, the->memory));
}

static void
judge_churn(Case *the)
{
    static const StatsMetric metrics[] = {STATS_ARENA_SMALL_NREQUESTS, STATS_ARENA_LARGE_NREQUESTS};
    gdouble requests = 0, bytes = 0;

    if (the->first_sample == NULL || the->classes->seconds <= 0)
        return;
    for (gsize i = 0; i < G_N_ELEMENTS(metrics); i++)
        requests += (gdouble)case_merged(the->sample, metrics[i]) - (gdouble)case_merged(the->first_sample, metrics[i]);
    for (guint i = 0; i < the->classes->classes->len; i++)
        bytes += g_array_index(the->classes->classes, DoctorClass, i).allocated;
    /* Counters miss what thread caches serve. */
    requests = MAX(requests / the->classes->seconds, the->evidence->born_objects);
    bytes = MAX(bytes / the->classes->seconds, the->evidence->born_bytes);
    gdouble used = case_processors(the, 0, the->evidence->moments->len - 1);
    gdouble enough = used >= CHURN_BUSY ? CHURN_BUSY_SHARE * CHURN_REQUESTS : CHURN_REQUESTS;
    if (requests < enough && bytes < CHURN_BYTES)
        return;
    uint64_t held = stats_values_or(the->sample->totals, STATS_HELD, 0);
    DoctorFinding *finding = case_add(the, RANK_PAST, CAUSE_CHURN, (gdouble)held);
    g_autofree char *count = g_strdup_printf("%.0f", requests);
    finding->confidence = 0.8;
    case_set_functions(finding, the->evidence->mover);
    case_say(finding, case_sentence("%s allocations and at least %S per second, while the live bytes stay the same",
                                    count, bytes));
}

void
judge_past(Case *the)
{
    judge_burst(the);
    judge_retained(the);
    judge_churn(the);
}
