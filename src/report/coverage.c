/* SPDX-License-Identifier: Apache-2.0 */
#include "report/coverage.h"

#include "report/table.h"
#include "report/units.h"

#include <math.h>

/* Fraction of the time between two dumps; shorter gaps are caused by switching sampling on and off around them. */
static const gdouble NOTABLE_GAP = 0.05;

static char *
format_time(guint64 time)
{
    g_autoptr(GDateTime) local = g_date_time_new_from_unix_local((gint64)(time / G_USEC_PER_SEC));

    return local ? g_date_time_format(local, "%Y-%m-%d %H:%M:%S") : g_strdup("an unknown time");
}

static char *
format_seconds(gdouble seconds)
{
    const char *unit = seconds < 120 ? "s" : seconds < 7200 ? "min" : "h";
    gdouble amount = seconds < 120 ? seconds : seconds < 7200 ? seconds / 60 : seconds / 3600;

    return g_strdup_printf("%.1f %s", amount, unit);
}

static char *
note_coverage(const Profile *profile)
{
    const ProfileWeight *total = profile_total(profile);
    char percent[UNITS_BUFFER], error[UNITS_BUFFER], amount[UNITS_BUFFER];
    guint64 held;

    if (!profile_held(profile, &held) || held == 0)
        return NULL;
    return g_strdup_printf("explains %s ± %s of the %s that the program holds",
                           units_percent(percent, total->estimate[PROFILE_INUSE_SPACE], (gdouble)held),
                           units_percent(error, sqrt(total->variance[PROFILE_INUSE_SPACE]), (gdouble)held),
                           units_format(amount, PROFILE_INUSE_SPACE, (gdouble)held, UNITS_PLAIN));
}

static char *
note_inactive(const ProfileCapture *capture)
{
    g_autofree char *time = format_time(capture->time);

    return g_strdup_printf("sampling is off now (%s): allocations made while it was off are not included", time);
}

static char *
note_window(const ProfileCapture *capture)
{
    g_autofree char *since = format_time(capture->since);
    g_autofree char *lasted = format_seconds((gdouble)(capture->until - capture->since) / G_USEC_PER_SEC);

    return g_strdup_printf("sampled for %s from %s on: allocations made before or after are not included", lasted,
                           since);
}

static char *
note_since(const ProfileCapture *capture)
{
    if (capture->since != 0 && capture->until > capture->since)
        return note_window(capture);
    if (!(capture->flags & CAPTURE_ACTIVE))
        return note_inactive(capture);
    if (capture->flags & CAPTURE_SINCE_START)
        return g_strdup("sampling on since the process started");
    if (capture->since != 0) {
        g_autofree char *since = format_time(capture->since);
        return g_strdup_printf("sampling on since %s: earlier allocations are not included", since);
    }
    if (capture->flags & CAPTURE_STARTED_ON)
        return g_strdup("sampling on, probably since the process started (prof_active:true)");
    return g_strdup("sampling on, start time unknown: earlier allocations are not included");
}

static char *
note_other_heap(const ProfileCapture *capture)
{
    char outside[UNITS_BUFFER], inside[UNITS_BUFFER];

    if (!(capture->flags & CAPTURE_OTHER_HEAP))
        return NULL;
    return g_strdup_printf("this jemalloc does not serve the main heap of the process: %s of anonymous memory are "
                           "outside jemalloc, %s inside",
                           units_format(outside, PROFILE_INUSE_SPACE, (gdouble)capture->outside, UNITS_PLAIN),
                           units_format(inside, PROFILE_INUSE_SPACE, (gdouble)capture->resident, UNITS_PLAIN));
}

static char *
note_sampler(const ProfileSampler *sampler)
{
    g_autofree char *window = format_seconds((gdouble)sampler->window / G_USEC_PER_SEC);

    return g_strdup_printf("sampled by jescope's sampler for %s", window);
}

static char *
note_dropped(const ProfileSampler *sampler)
{
    char size[UNITS_BUFFER];

    if (sampler->dropped == 0)
        return NULL;
    return g_strdup_printf("%" G_GUINT64_FORMAT " %s could not be taken (objects of %s together): not included",
                           sampler->dropped, sampler->dropped == 1 ? "sample" : "samples",
                           units_format(size, PROFILE_INUSE_SPACE, (gdouble)sampler->dropped_bytes, UNITS_PLAIN));
}

static char *
note_thinned(const ProfileSampler *sampler)
{
    if (sampler->thinned == 0)
        return NULL;
    return g_strdup_printf("the sampler's memory was full: it doubled its period %s",
                           sampler->thinned == 1 ? "once" : "several times");
}

static char *
note_pinned(const HolesSum *holes)
{
    gdouble rest = MAX(0, holes->unused - holes->attributed);
    char whole[UNITS_BUFFER], part[UNITS_BUFFER];
    const char *how = holes->addressed ? "the free bytes of each slab are charged to the old objects in it"
                                       : "the free bytes of a size class are charged to all of its objects alike, "
                                         "since only jescope's sampler knows their slabs";

    if (rest < 1)
        return g_strdup(how);
    return g_strdup_printf("%s; %s of %s are not attributed: no or too few objects of these sizes are in the profile, "
                           "or other objects are there beside them",
                           how, units_format(part, PROFILE_INUSE_SPACE, rest, UNITS_PLAIN),
                           units_format(whole, PROFILE_INUSE_SPACE, holes->unused, UNITS_PLAIN));
}

static char *
note_whatif(const HolesSum *holes, const ReportOptions *options)
{
    char part[UNITS_BUFFER];

    return g_strdup_printf("each %s by itself: what would go back if the objects that it allocates did not exist, "
                           "assuming that %s; callers are at least the sum of those below them; the profile knows %s "
                           "of the objects beside holes, the others stay",
                           report_granularity_name(options->by),
                           holes->addressed ? "slabs are mixed as those of the samples" : "slabs are mixed at random",
                           units_percent(part, holes->covered, 1));
}

char *
coverage_note_value(const View *view, const ReportOptions *options)
{
    ProfileValue value = options->value;
    const HolesSum *holes = view_holes(view, VIEW_NOW);
    const ProfileSampler *sampler = profile_sampler(view_input(view, VIEW_NOW)->profile);
    const ProfileWeight *total = view_total(view, VIEW_NOW);
    gdouble freed = total->estimate[PROFILE_FREED_SPACE], inuse = total->estimate[PROFILE_INUSE_SPACE];
    char first[UNITS_BUFFER], second[UNITS_BUFFER], third[UNITS_BUFFER];

    if (holes)
        return value == PROFILE_PINNED ? note_pinned(holes) : note_whatif(holes, options);
    if (!sampler || !view_has_value(view, value))
        return NULL;
    if (value == PROFILE_AGE)
        return g_strdup("rows are ordered by bytes times age; what was allocated before the recording is not included");
    if (value != PROFILE_LIFETIME)
        return NULL;
    return g_strdup_printf("rows are ordered by bytes times lifetime, of the %s that were freed; %s (%s of what was "
                           "allocated) are still in use, and not in the mean",
                           units_format(first, PROFILE_FREED_SPACE, freed, UNITS_PLAIN),
                           units_format(second, PROFILE_INUSE_SPACE, inuse, UNITS_PLAIN),
                           units_percent(third, inuse, freed + inuse));
}

GStrv
coverage_notes(const Profile *profile)
{
    const ProfileCapture *capture = profile_capture(profile);
    const ProfileSampler *sampler = profile_sampler(profile);
    g_autoptr(GPtrArray) notes = g_ptr_array_new();

    if (sampler) {
        char *all[] = {note_sampler(sampler), note_dropped(sampler), note_thinned(sampler)};
        for (guint i = 0; i < G_N_ELEMENTS(all); i++)
            if (all[i])
                g_ptr_array_add(notes, all[i]);
    }
    if (capture) {
        char *all[] = {note_other_heap(capture), note_coverage(profile), note_since(capture)};
        for (guint i = 0; i < G_N_ELEMENTS(all); i++)
            if (all[i])
                g_ptr_array_add(notes, all[i]);
    }
    g_ptr_array_add(notes, NULL);
    return (GStrv)g_ptr_array_free(g_steal_pointer(&notes), FALSE);
}

gboolean
coverage_same_process(const ProfileCapture *before, const ProfileCapture *after)
{
    return before && after && before->pid == after->pid && before->start == after->start && before->start != 0;
}

gboolean
coverage_sampled_seconds(const ProfileCapture *before, const ProfileCapture *after, gdouble *seconds)
{
    guint64 end, begin;

    if (!coverage_same_process(before, after) || after->time <= before->time)
        return FALSE;
    end = after->until != 0 ? MIN(after->until, after->time) : after->time;
    /* On at both dumps, and not known to be off in between. */
    gboolean stayed = (after->flags & CAPTURE_SINCE_START) || (after->flags & before->flags & CAPTURE_ACTIVE);
    if (after->since == 0 && !stayed)
        return FALSE;
    begin = MAX(before->time, after->since);
    *seconds = end > begin ? (gdouble)(end - begin) / G_USEC_PER_SEC : 0;
    return TRUE;
}

char *
coverage_gap(gdouble all, gdouble sampled)
{
    if (all - sampled <= NOTABLE_GAP * all)
        return NULL;
    g_autofree char *off = format_seconds(all - sampled);
    g_autofree char *whole = format_seconds(all);
    return g_strdup_printf("sampling was off for %s of the %s between the dumps: allocations of that time are in none "
                           "of them, and the change of the program may be larger than shown",
                           off, whole);
}

char *
coverage_between(const ProfileCapture *before, const ProfileCapture *after)
{
    gdouble sampled;

    if (!coverage_same_process(before, after) || after->time <= before->time)
        return NULL;
    if (!coverage_sampled_seconds(before, after, &sampled))
        return g_strdup("sampling was off for an unknown time between the dumps: allocations of that time are in none "
                        "of them, and the change of the program may be larger than shown");
    return coverage_gap((gdouble)(after->time - before->time) / G_USEC_PER_SEC, sampled);
}

/* ---- nothing to show ---- */

static gboolean
is_inuse(ProfileValue value)
{
    return value == PROFILE_INUSE_OBJECTS || value == PROFILE_INUSE_SPACE;
}

static gboolean
is_counted(ProfileValue value)
{
    return value <= PROFILE_FREED_SPACE && !is_inuse(value);
}

char *
coverage_why_unknown(const Profile *profile, ProfileValue value)
{
    const char *name = report_value_name(value);

    if (profile_n_stacks(profile) == 0 || profile_has_value(profile, value))
        return NULL;
    if (value_is_of_holes(value))
        return g_strdup_printf("%s is not in the profile: it takes the statistics of the size classes, which jescope "
                               "adds to a dump that it takes of one process with jemalloc 5 or later",
                               name);
    if (profile_sampler(profile))
        return g_strdup_printf("%s is not known for single threads; omit --thread and --by=thread", name);
    if (is_counted(value))
        return g_strdup_printf("%s is not in the profile: jemalloc counts all allocations only if the program is "
                               "started with prof_accum:true in MALLOC_CONF; inuse_space shows memory in use",
                               name);
    return g_strdup_printf("%s is not in the profile: jemalloc's profiler does not record when objects are allocated "
                           "and freed, jescope's sampler does; inuse_space shows memory in use",
                           name);
}

static char *
why_filtered(const Profile *profile, const ReportOptions *options)
{
    char amount[UNITS_BUFFER];
    const char *what = options->thread ? "the thread and the filters match" : "the filters match";

    return g_strdup_printf(
        "%s nothing of the %s %s in the profile; see --focus, --ignore, --retain, --exclude, --show-from and --thread",
        what, units_format(amount, options->value, table_shown(profile_total(profile), options->value), UNITS_PLAIN),
        report_value_name(options->value));
}

static char *
why_unsampled(const Profile *profile)
{
    const ProfileCapture *capture = profile_capture(profile);
    char period[UNITS_BUFFER];

    units_format(period, PROFILE_INUSE_SPACE, (gdouble)profile_period(profile), UNITS_PLAIN);
    if (!capture)
        return g_strdup_printf(
            "nothing was sampled: sampling was off, or little was allocated and not freed (one sample per %s)", period);
    if (!(capture->flags & CAPTURE_ACTIVE) && capture->since == 0)
        return g_strdup("nothing was sampled: sampling is off; switch it on with 'jescope record' or 'jescope enable'");
    return g_strdup_printf("no live samples: since sampling was switched on, the program allocated little (one sample "
                           "per %s) or freed it again; record for longer, or sample more often with --sample",
                           period);
}

gboolean
coverage_same(const View *view, const ReportOptions *options)
{
    g_autoptr(GArray) table = view_n_sides(view) == 2 ? table_new(view, options) : NULL;

    for (guint i = 0; table && i < table->len; i++) {
        const TableRow *row = &g_array_index(table, TableRow, i);
        if (table_change(row->flat, options->value) != 0 || table_change(row->cumulative, options->value) != 0)
            return FALSE;
    }
    return table != NULL;
}

static char *
why_no_value(const Profile *profile, const ReportOptions *options)
{
    if (is_inuse(options->value) && profile_total(profile)->estimate[PROFILE_ALLOC_OBJECTS] > 0)
        return g_strdup("everything that was sampled has been freed; --value=alloc_space shows what was allocated");
    if (!is_inuse(options->value) && profile_total(profile)->estimate[PROFILE_INUSE_OBJECTS] > 0)
        return g_strdup("nothing that was sampled has been freed; inuse_space shows memory in use");
    return why_unsampled(profile);
}

/* The sum of ages may be 0 although there are objects. */
static gboolean
holds(const ProfileWeight *weight, ProfileValue value)
{
    return weight->estimate[value] != 0 || weight->estimate[value_objects(value)] != 0;
}

char *
coverage_why_empty(const ReportInput *now, const ReportInput *base, const ReportOptions *options, const View *view)
{
    ProfileValue value = options->value;
    gboolean here = holds(view_total(view, VIEW_NOW), value);
    gboolean there = base && holds(view_total(view, VIEW_BASE), value);

    char *unknown = coverage_why_unknown(now->profile, value);

    if (unknown || here || there)
        return unknown;
    if (holds(profile_total(now->profile), value))
        return why_filtered(now->profile, options);
    if (base && holds(profile_total(base->profile), value))
        return why_filtered(base->profile, options);
    return why_no_value(now->profile, options);
}
