/* SPDX-License-Identifier: Apache-2.0 */
#include "source/dumps.h"

#include "confine/rights.h"
#include "report/coverage.h"
#include "report/units.h"

#include <math.h>

void
dumps_clear(Dumps *dumps)
{
    g_clear_pointer(&dumps->sources, g_ptr_array_unref);
    g_clear_pointer(&dumps->profiles, g_ptr_array_unref);
    g_clear_pointer(&dumps->names, g_ptr_array_unref);
    g_clear_pointer(&dumps->times, g_array_unref);
    g_clear_pointer(&dumps->clock, g_array_unref);
    g_clear_pointer(&dumps->notes, g_ptr_array_unref);
    g_clear_pointer(&dumps->files, target_files_unref);
}

/* Includes the fraction of a second if the dump has it. */
static gdouble
time_of(const Source *source)
{
    const ProfileCapture *capture = profile_capture(source->profile);

    return capture && capture->time != 0 ? (gdouble)capture->time / G_USEC_PER_SEC : (gdouble)source->input.time;
}

/* The files for names: the live target's if there is one, with the rights of the owners of other dumps too, or those of
 * the dumps' owners. */
static void
prepare_files(Dumps *dumps, SymbolizeOptions *options)
{
    const Source *live = NULL;
    const uid_t author = source_author(dumps->sources);

    for (guint i = 0; i < dumps->sources->len; i++) {
        const Source *source = dumps->sources->pdata[i];
        options->owner = rights_lesser(options->owner, source->owner);
        options->taken = source_older(options->taken, source->taken);
        if (source->live)
            live = source;
    }
    if (live) {
        options->pid = live->pid;
        options->author = author;
    }
    dumps->files =
        live && author == target_user(live->target) ? target_files_ref(live->files) : symbolize_files(options);
    options->files = dumps->files;
}

gboolean
dumps_begin(Dumps *dumps, char *const *names, SourceOptions *options, GError **error)
{
    *dumps = (Dumps){
        .sources = g_ptr_array_new_with_free_func((GDestroyNotify)source_free),
        .profiles = g_ptr_array_new(),
        .names = g_ptr_array_new(),
        .times = g_array_new(FALSE, FALSE, sizeof(gdouble)),
        .notes = g_ptr_array_new_null_terminated(0, g_free, TRUE),
        .has_times = TRUE,
    };
    for (; *names; names++) {
        Source *source = source_begin(*names, options, error);
        if (!source)
            return FALSE;
        g_ptr_array_add(dumps->sources, source);
        g_ptr_array_add(dumps->names, source->name);
    }
    prepare_files(dumps, &options->symbolize);
    return TRUE;
}

static const Profile *
profile_at(const Dumps *dumps, guint i)
{
    return g_ptr_array_index(dumps->profiles, i);
}

static const ProfileCapture *
capture_at(const Dumps *dumps, guint i)
{
    return profile_capture(profile_at(dumps, i));
}

/* Whether sampling was off between dumps; also for how long in total if that is known between all of them. */
static gboolean
note_gaps(Dumps *dumps)
{
    gdouble all = 0, sampled = 0, seconds;
    g_autofree char *gap = NULL;

    for (guint i = 1; i < dumps->profiles->len; i++) {
        const ProfileCapture *before = capture_at(dumps, i - 1);
        const ProfileCapture *after = capture_at(dumps, i);
        if (!coverage_sampled_seconds(before, after, &seconds)) {
            g_free(gap);
            gap = coverage_between(before, after);
            if (gap)
                break;
            continue;
        }
        all += (gdouble)(after->time - before->time) / G_USEC_PER_SEC;
        sampled += seconds;
    }
    if (!gap)
        gap = coverage_gap(all, sampled);
    if (gap)
        g_ptr_array_add(dumps->notes, g_steal_pointer(&gap));
    return dumps->notes->len > 0;
}

/* A leak fills a profile only while sampling is on: with the sampling time as the clock, its rate is correct. FALSE:
 * the sampling time between the dumps is not known for all of them. */
static gboolean
count_sampled_time(Dumps *dumps)
{
    g_autoptr(GArray) times = g_array_new(FALSE, FALSE, sizeof(gdouble));
    gdouble now = 0, sampled;

    g_array_append_val(times, now);
    for (guint i = 1; i < dumps->profiles->len; i++) {
        if (!coverage_sampled_seconds(capture_at(dumps, i - 1), capture_at(dumps, i), &sampled) || sampled <= 0)
            return FALSE;
        now += sampled;
        g_array_append_val(times, now);
    }
    dumps->clock = g_steal_pointer(&times);
    return TRUE;
}

/* The memory of the program at the first and at the last dump by the allocator's own counters, without sampling.
 * Returns the seconds between them; 0: unknown. */
static gdouble
held_by_counters(const Dumps *dumps, guint64 *first_held, guint64 *last_held)
{
    guint last = dumps->profiles->len - 1;
    gdouble seconds = time_of(g_ptr_array_index(dumps->sources, last)) - time_of(dumps->sources->pdata[0]);

    if (!profile_held(profile_at(dumps, 0), first_held) || !profile_held(profile_at(dumps, last), last_held))
        return 0;
    return MAX(seconds, 0);
}

static void
note_held(Dumps *dumps)
{
    guint64 first_held, last_held;
    gdouble hours = held_by_counters(dumps, &first_held, &last_held) / 3600;
    char from[UNITS_BUFFER], to[UNITS_BUFFER], rate[UNITS_BUFFER];

    if (hours <= 0)
        return;
    g_ptr_array_add(
        dumps->notes,
        g_strdup_printf(
            "the program held %s, then %s, by the allocator's counters, which miss nothing: %s/h",
            units_format(from, PROFILE_INUSE_SPACE, (gdouble)first_held, UNITS_PLAIN),
            units_format(to, PROFILE_INUSE_SPACE, (gdouble)last_held, UNITS_PLAIN),
            units_format(rate, PROFILE_INUSE_SPACE, ((gdouble)last_held - (gdouble)first_held) / hours, UNITS_SIGNED)));
}

/* A new profile also grows by memory that is freed again later. */
static gboolean
is_young(const Dumps *dumps)
{
    const ProfileCapture *first = capture_at(dumps, 0);
    const ProfileCapture *last = capture_at(dumps, dumps->profiles->len - 1);

    return first && last && first->since != 0 && last->time > first->time &&
           first->time - MIN(first->time, first->since) < last->time - first->time;
}

static void
note_youth(Dumps *dumps)
{
    if (is_young(dumps))
        g_ptr_array_add(
            dumps->notes,
            g_strdup("sampling began shortly before the first dump, so that memory which is freed later looks as if it "
                     "grew: what rises faster than the program by the allocator's counters is called 'filling'"));
}

/* The memory of a process is freed when it ends, which is not a trend of its functions. */
static guint
count_restarts(const Dumps *dumps)
{
    guint restarts = 0;

    for (guint i = 1; i < dumps->profiles->len; i++)
        restarts += !coverage_same_process(capture_at(dumps, i - 1), capture_at(dumps, i));
    return restarts;
}

static void
note_restarts(Dumps *dumps)
{
    guint restarts = count_restarts(dumps);

    if (restarts > 0)
        g_ptr_array_add(
            dumps->notes,
            g_strdup_printf("the dumps are of %u successive processes: the memory of a process was freed when it ended",
                            restarts + 1));
}

/* Copied files have lost their times, or all have the same one: then the numbers of the dumps are the clock. */
static void
settle_times(Dumps *dumps)
{
    gboolean captured = TRUE;

    for (guint i = 0; i < dumps->profiles->len; i++)
        captured = captured && capture_at(dumps, i);
    if (!captured)
        g_ptr_array_add(dumps->notes, g_strdup("the dumps do not show whether sampling stayed on between them; if it "
                                               "did not, growth is larger than shown"));
    else if (note_gaps(dumps) && dumps->has_times && count_sampled_time(dumps))
        g_ptr_array_add(dumps->notes,
                        g_strdup("rates are per hour of sampling: right for memory that is never freed; take dumps "
                                 "with 'jescope record --every' or 'record --keep-on' to see all"));
    if (captured)
        note_restarts(dumps);
    note_held(dumps);
    note_youth(dumps);
    for (guint i = 0; i < dumps->times->len && !dumps->has_times; i++)
        g_array_index(dumps->times, gdouble, i) = i;
}

gboolean
dumps_finish(Dumps *dumps, const SourceOptions *options, GError **error)
{
    for (guint i = 0; i < dumps->sources->len; i++) {
        Source *source = dumps->sources->pdata[i];
        if (!source_parse(source, options, error))
            return FALSE;
        gdouble time = time_of(source);
        g_ptr_array_add(dumps->profiles, source->profile);
        dumps->partial = dumps->partial || source->partial;
        if (dumps->times->len && time <= g_array_index(dumps->times, gdouble, dumps->times->len - 1))
            dumps->has_times = FALSE;
        g_array_append_val(dumps->times, time);
    }
    settle_times(dumps);
    return TRUE;
}

char *
dumps_why_unknown(const Dumps *dumps, ProfileValue value)
{
    for (guint i = 0; i < dumps->profiles->len; i++) {
        g_autofree char *why = coverage_why_unknown(profile_at(dumps, i), value);
        if (why)
            return g_strdup_printf("%s: %s", (const char *)dumps->names->pdata[i], why);
    }
    return NULL;
}

gboolean
dumps_are_empty(const Dumps *dumps, ProfileValue value)
{
    for (guint i = 0; i < dumps->profiles->len; i++)
        if (profile_total(profile_at(dumps, i))->estimate[value] != 0)
            return FALSE;
    return TRUE;
}

Growth *
dumps_growth(const Dumps *dumps, ProfileValue value, GError **error)
{
    const GArray *clock = dumps->clock ? dumps->clock : dumps->times;
    Growth *growth = growth_new((const Profile *const *)(void *)dumps->profiles->pdata,
                                (const gdouble *)(const void *)clock->data, dumps->profiles->len, value, error);
    guint64 first_held, last_held;

    /* Without these lines restarts are unknown; the counts then must still increase. */
    if (growth && capture_at(dumps, 0) && count_restarts(dumps) > 0)
        growth_ignore_counts(growth);
    if (growth && dumps->has_times && is_young(dumps)) {
        gdouble seconds = value == PROFILE_INUSE_SPACE ? held_by_counters(dumps, &first_held, &last_held) : 0;
        growth_set_filling(growth, seconds > 0 ? ((gdouble)last_held - (gdouble)first_held) / seconds : NAN);
    }
    return growth;
}
