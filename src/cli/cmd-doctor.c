/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/confined-work.h"
#include "cli/document.h"
#include "cli/duration.h"
#include "cli/material.h"
#include "cli/progress.h"
#include "cli/report-arguments.h"
#include "cli/via.h"
#include "cli/watching.h"
#include "confine/input-file.h"

#include "doctor/answer.h"
#include "doctor/culprit.h"
#include "profile/capture.h"
#include "source/dumps.h"
#include "stats/reader.h"
#include "stats/waste.h"
#include "target/process.h"
#include "text/printable.h"

#include <stdio.h>

enum { WATCH_MS = 30000 };

static char *duration_text;
static char *target_word;
static char *history_file;
static gboolean record;
static gboolean as_json;
static SamplerArguments sampler;

static const GOptionEntry options[] = {
    {.long_name = "for",
     .arg = G_OPTION_ARG_STRING,
     .arg_data = &duration_text,
     .description = "how long to watch a live target (default: 30s)",
     .arg_description = "DURATION"},
    {.long_name = "record",
     .arg_data = &record,
     .description = "enable sampling for the watch if it is off, count allocations, and restore the state"},
    SAMPLER_OPTIONS(sampler),
    {.long_name = "history",
     .arg = G_OPTION_ARG_FILENAME,
     .arg_data = &history_file,
     .description = "also use the samples of a live target that serve or collect kept",
     .arg_description = "FILE"},
    {.long_name = "json", .arg_data = &as_json, .description = "print JSON"},
    {.long_name = "target",
     .arg = G_OPTION_ARG_STRING,
     .arg_data = &target_word,
     .description = "select a target of a history file",
     .arg_description = "NAME"},
    VIA_OPTION,
    MAX_OUTPUT_OPTION,
    FORCE_OPTION,
    {0},
};

/* The input of the answer, opened before the child that reads it. */
typedef struct {
    char *name;
    Watching watching; /* its evidence is also used for files */
    Material material; /* files */
    Dumps dumps;
    Dumps births; /* dumps of jescope's sampler, for short-lived allocations */
    gboolean has_dumps, has_births;
    SourceOptions source;
    DoctorEvidence past; /* of a watched live target: moments of its history */
    gint64 started_us;   /* when the watch began */
} Run;

static void
run_clear(Run *run)
{
    g_free(run->name);
    watching_clear(&run->watching);
    doctor_evidence_clear(&run->past);
    material_clear(&run->material);
    if (run->has_dumps)
        dumps_clear(&run->dumps);
    if (run->has_births)
        dumps_clear(&run->births);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Run, run_clear)

/* ---- in the confined child ---- */

/* Fewer than three dumps do not suffice to compute growth. */
static Growth *
growth_of(const Dumps *dumps, ProfileValue value, GError **error)
{
    enum { FEWEST = 3 };
    g_autoptr(GPtrArray) profiles = g_ptr_array_new();
    g_autoptr(GArray) times = g_array_new(FALSE, FALSE, sizeof(gdouble));
    const GArray *clock = dumps->clock ? dumps->clock : dumps->times;
    guint missing = dumps->profiles->len < FEWEST ? FEWEST - dumps->profiles->len : 0;

    for (guint i = 0; i < dumps->profiles->len + missing; i++) {
        guint at = i > missing ? i - missing : 0;
        gdouble time = g_array_index(clock, gdouble, at) - (i < missing ? (gdouble)(missing - i) : 0);
        g_ptr_array_add(profiles, dumps->profiles->pdata[at]);
        g_array_append_val(times, time);
    }
    return growth_new((const Profile *const *)(void *)profiles->pdata, (const gdouble *)(const void *)times->data,
                      profiles->len, value, error);
}

/* Whether sampling began during the dumps or shortly before. */
static gboolean
is_young(const Dumps *dumps)
{
    const ProfileCapture *first = profile_capture(dumps->profiles->pdata[0]);
    const ProfileCapture *last = profile_capture(dumps->profiles->pdata[dumps->profiles->len - 1]);

    return first && last && first->since != 0 &&
           first->time - MIN(first->time, first->since) < MAX(last->time - first->time, (guint64)G_USEC_PER_SEC);
}

static gboolean
has_births(const Dumps *dumps)
{
    const Profile *first = dumps->profiles->pdata[0];
    const Profile *last = dumps->profiles->pdata[dumps->profiles->len - 1];

    return profile_total(first)->estimate[PROFILE_ALLOC_SPACE] > 0 &&
           profile_total(last)->estimate[PROFILE_ALLOC_SPACE] > 0;
}

/* The increase of VALUE from the first to the last dump, at least 0. */
static gdouble
born(const Dumps *dumps, ProfileValue value)
{
    const Profile *first = dumps->profiles->pdata[0];
    const Profile *last = dumps->profiles->pdata[dumps->profiles->len - 1];

    return MAX(0, profile_total(last)->estimate[value] - profile_total(first)->estimate[value]);
}

static gboolean
find_culprits(Run *run, const DoctorClasses *classes, GError **error)
{
    DoctorEvidence *evidence = &run->watching.evidence;
    const Dumps *dumps = &run->dumps;
    g_autoptr(Growth) growth = growth_of(dumps, PROFILE_INUSE_SPACE, error);
    g_autoptr(Growth) objects = growth ? growth_of(dumps, PROFILE_INUSE_OBJECTS, NULL) : NULL;
    g_autoptr(Growth) births = growth && has_births(dumps) ? growth_of(dumps, PROFILE_ALLOC_SPACE, error) : NULL;
    const Profile *last = dumps->profiles->pdata[dumps->profiles->len - 1];
    g_autoptr(Growth) pinned =
        growth && profile_has_value(last, PROFILE_PINNED) ? growth_of(dumps, PROFILE_PINNED, error) : NULL;
    g_autoptr(Symbols) names = growth ? symbolize(growth_profile(growth), &run->source.symbolize, error) : NULL;
    ReportOptions report;
    StatsWaste waste = {0};

    if (!names)
        return FALSE;
    report_options_init(&report);
    ReportInput input = {.profile = growth_profile(growth), .symbols = names, .name = run->name};
    g_autoptr(View) view = view_new(&input, NULL, &report, error);
    if (!view)
        return FALSE;
    if (evidence->moments->len > 0) {
        const DoctorMoment *moment = &g_array_index(evidence->moments, DoctorMoment, evidence->moments->len - 1);
        if (moment->sample)
            stats_waste(moment->sample, &waste);
    }
    evidence->profile = is_young(dumps) ? DOCTOR_PROFILE_YOUNG : DOCTOR_PROFILE_WHOLE;
    if (dumps->has_times && dumps->times->len > 1)
        evidence->profiled_seconds =
            g_array_index(dumps->times, gdouble, dumps->times->len - 1) - g_array_index(dumps->times, gdouble, 0);
    const CulpritInput culprits = {.growth = growth,
                                   .objects = objects,
                                   .births = births,
                                   .pinned = pinned,
                                   .slabs_known = profile_sampler(last) != NULL,
                                   .view = view,
                                   .names = names,
                                   .classes = classes->seconds > 0 ? classes : NULL,
                                   .class_size = waste.class_size,
                                   .vanished = run->watching.vanished,
                                   .young = evidence->profile == DOCTOR_PROFILE_YOUNG};
    culprit_find(&culprits, evidence);
    if (births && evidence->profiled_seconds > 0) {
        evidence->born_objects = born(dumps, PROFILE_ALLOC_OBJECTS) / evidence->profiled_seconds;
        evidence->born_bytes = born(dumps, PROFILE_ALLOC_SPACE) / evidence->profiled_seconds;
    }
    return TRUE;
}

/* Determines, by the births between two dumps of jescope's sampler, the function that allocates most, and those that
 * grow. */
static gboolean
find_born(Run *run, const DoctorClasses *classes, GError **error)
{
    DoctorEvidence *evidence = &run->watching.evidence;
    const Dumps *dumps = &run->births;
    g_autoptr(Growth) growth = growth_of(dumps, PROFILE_INUSE_SPACE, error);
    g_autoptr(Growth) births = growth ? growth_of(dumps, PROFILE_ALLOC_SPACE, error) : NULL;
    g_autoptr(Symbols) names = births ? symbolize(growth_profile(growth), &run->source.symbolize, error) : NULL;
    g_auto(DoctorEvidence) own = {0};
    ReportOptions report;

    if (!names)
        return FALSE;
    report_options_init(&report);
    ReportInput input = {.profile = growth_profile(growth), .symbols = names, .name = run->name};
    g_autoptr(View) view = view_new(&input, NULL, &report, error);
    if (!view)
        return FALSE;
    doctor_evidence_init(&own);
    const CulpritInput culprits = {.growth = growth,
                                   .births = births,
                                   .view = view,
                                   .names = names,
                                   .classes = classes->seconds > 0 ? classes : NULL,
                                   .young = TRUE};
    culprit_find(&culprits, &own);
    evidence->mover = g_steal_pointer(&own.mover);
    if (doctor_growth_is_sampled(own.growing)) {
        for (guint i = 0; i < own.growing->len; i++)
            ((DoctorStack *)own.growing->pdata[i])->recent = TRUE;
        g_ptr_array_unref(evidence->growing);
        evidence->growing = g_steal_pointer(&own.growing);
    }
    gdouble seconds =
        g_array_index(dumps->times, gdouble, dumps->times->len - 1) - g_array_index(dumps->times, gdouble, 0);
    if (dumps->has_times && seconds > 0) {
        evidence->born_objects = born(dumps, PROFILE_ALLOC_OBJECTS) / seconds;
        evidence->born_bytes = born(dumps, PROFILE_ALLOC_SPACE) / seconds;
    }
    return TRUE;
}

static void
print_answer(const Run *run, const DoctorReport *report)
{
    const DoctorEvidence *evidence = &run->watching.evidence;
    const DoctorMoment *last =
        evidence->moments->len > 0 ? &g_array_index(evidence->moments, DoctorMoment, evidence->moments->len - 1) : NULL;
    const DoctorSubject subject = {
        .name = run->name, .seconds = last ? last->seconds : evidence->profiled_seconds, .ledger = evidence->last};
    g_autoptr(GString) text = g_string_new(NULL);

    if (as_json) {
        document_print("jescope-doctor", doctor_answer_json(&subject, report));
        return;
    }
    doctor_answer_text(text, &subject, report);
    fputs(text->str, stdout);
}

/* The statistics of every arena belong to the last moment, from which they get the figures of the process and of its
 * large size classes: the JSON lacks their allocation rates. */
static gboolean
take_sample(StatsSample *sample, gpointer data, GError **error)
{
    DoctorMoment *moment = data;
    StatsArena *merged = stats_sample_find(sample, STATS_ARENA_MERGED);
    StatsArena *live = stats_sample_find(moment->sample, STATS_ARENA_MERGED);

    if (merged == NULL)
        return TRUE;
    if (live != NULL && live->large != NULL) {
        StatsTable *large = merged->large;
        merged->large = live->large;
        live->large = large;
    }
    stats_sample_unref(moment->sample);
    moment->sample = stats_sample_ref(sample);
    return TRUE;
}

static void
read_statistics(Run *run)
{
    GArray *moments = run->watching.evidence.moments;
    const StatsFile file = {.path = run->name, .fd = run->watching.statistics};
    StatsReport report;

    if (file.fd > 0 && moments->len > 0)
        stats_read_file(&file, take_sample, &g_array_index(moments, DoctorMoment, moments->len - 1), &report, NULL);
}

/* Whether a sample of the history belongs to this process, and precedes the watch. */
static gboolean
is_earlier(const Run *run, const StatsSample *kept, const StatsSample *first)
{
    return kept->time_us > run->started_us && kept->time_us < first->time_us &&
           stats_values_or(kept->totals, STATS_ALLOCATED, 0) > 0;
}

/* Growth that is too slow for a watch is found in earlier samples of the history, together with the last one of the
 * watch. */
static void
judge_past(Run *run, DoctorClasses *classes)
{
    const GArray *watched = run->watching.evidence.moments;
    GArray *kept = run->past.moments;
    g_auto(DoctorClasses) before = {0};

    if (kept == NULL || watched->len == 0 || classes->grows)
        return;
    const DoctorMoment *watch = &g_array_index(watched, DoctorMoment, 0);
    const StatsSample *first = watch->sample;
    DoctorMoment last = g_array_index(watched, DoctorMoment, watched->len - 1);
    while (kept->len > 0 && !is_earlier(run, g_array_index(kept, DoctorMoment, 0).sample, first))
        g_array_remove_index(kept, 0);
    while (kept->len > 0 && !is_earlier(run, g_array_index(kept, DoctorMoment, kept->len - 1).sample, first))
        g_array_remove_index(kept, kept->len - 1);
    if (kept->len == 0)
        return;
    const DoctorMoment *begin = &g_array_index(kept, DoctorMoment, 0);
    /* The last sample may be jemalloc's own text, which has no time. */
    last.seconds +=
        begin->seconds - watch->seconds + (gdouble)(first->time_us - begin->sample->time_us) / G_USEC_PER_SEC;
    last.sample = stats_sample_ref(last.sample);
    g_array_append_val(kept, last);
    doctor_classes(kept, &before);
    if (!before.grows && before.seconds < classes->seconds)
        return;
    DoctorClasses swap = *classes;
    *classes = before;
    before = swap;
}

/* For a program that retains nothing, only births are sampled. */
static gboolean
has_samples(const Dumps *dumps)
{
    return !dumps_are_empty(dumps, PROFILE_INUSE_SPACE) || !dumps_are_empty(dumps, PROFILE_ALLOC_SPACE);
}

static int
make_answer(gpointer data, GOutputStream *out, GError **error)
{
    Run *run = data;
    g_auto(DoctorClasses) classes = {0};
    g_auto(DoctorReport) report = {0};
    DoctorEvidence *samples = run->past.moments != NULL ? &run->past : &run->watching.evidence;

    progress_phase(PROGRESS_READS, 0, 0);
    if (!material_read(&run->material, samples, error) ||
        (run->has_dumps && !dumps_finish(&run->dumps, &run->source, error)) ||
        (run->has_births && !dumps_finish(&run->births, &run->source, error)))
        return STATUS_FAILED;
    if (run->watching.evidence.moments->len == 0 && !run->has_dumps) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_FAILED, "%s has no sample that can be read", run->name);
        return STATUS_FAILED;
    }
    read_statistics(run);
    doctor_classes(run->watching.evidence.moments, &classes);
    judge_past(run, &classes);
    progress_phase(PROGRESS_NAMES, 0, 0);
    if ((run->has_births && !dumps_are_empty(&run->births, PROFILE_ALLOC_SPACE) && !find_born(run, &classes, error)) ||
        (run->has_dumps && has_samples(&run->dumps) && !find_culprits(run, &classes, error)))
        return STATUS_FAILED;
    doctor_judge(&run->watching.evidence, &classes, &report);
    print_answer(run, &report);
    if (report.findings->len > 0)
        return STATUS_FOUND;
    return run->material.partial || (run->has_dumps && run->dumps.partial) ? STATUS_PARTIAL : STATUS_DONE;
}

/* ---- the answer ---- */

/* The author of the dumps of files is the owner of these, the one of a watch is in the options. */
static guint
seconds_of(const Run *run, const GArray *files)
{
    const uid_t author = run->source.symbolize.author;

    if (run->has_dumps || run->has_births)
        return report_seconds(files, author, &run->source);
    return MAX(input_seconds_of(author, INPUT_FILE_FOREIGN_SECONDS),
               input_files_seconds(files, INPUT_FILE_FOREIGN_SECONDS));
}

static int
answer(Run *run, GError **error)
{
    g_autoptr(GArray) keep =
        run->has_dumps ? source_descriptors(run->dumps.sources) : g_array_new(FALSE, FALSE, sizeof(int));

    g_autoptr(GArray) births = run->has_births ? source_descriptors(run->births.sources) : NULL;
    if (births != NULL)
        g_array_append_vals(keep, births->data, births->len);
    material_descriptors(&run->material, keep);
    if (run->watching.statistics > 0)
        g_array_append_val(keep, run->watching.statistics);
    const Confined confined = {.work = make_answer,
                               .data = run,
                               .keep = (const int *)(gconstpointer)keep->data,
                               .n_keep = keep->len,
                               .memory = CONFINED_WORK_STATISTICS,
                               .seconds = seconds_of(run, keep)};
    return confined_work_print(&confined, "finding the cause", error);
}

static gboolean
begin_dumps(Run *run, GPtrArray *paths, GError **error)
{
    g_ptr_array_add(paths, NULL);
    run->has_dumps = TRUE;
    return dumps_begin(&run->dumps, (char **)paths->pdata, &run->source, error);
}

/* The dumps of a watch are memory files. */
static GPtrArray *
paths_of(const GArray *dumps)
{
    GPtrArray *paths = g_ptr_array_new_with_free_func(g_free);

    for (guint i = 0; i < dumps->len; i++)
        g_ptr_array_add(paths, g_strdup_printf("/proc/self/fd/%d", g_array_index(dumps, int, i)));
    return paths;
}

static gboolean
begin_watched_dumps(Run *run, GError **error)
{
    enum { ENDS = 2 };
    g_autoptr(GPtrArray) dumps = paths_of(run->watching.dumps);
    g_autoptr(GPtrArray) births = paths_of(run->watching.births);

    if (births->len == ENDS) {
        g_ptr_array_add(births, NULL);
        run->has_births = TRUE;
        if (!dumps_begin(&run->births, (char **)births->pdata, &run->source, error))
            return FALSE;
    }
    return dumps->len == 0 || begin_dumps(run, dumps, error);
}

/* Opens the history of a live target before the watch, so that a wrong name, or the history of another process, is
 * reported at once. */
static gboolean
open_past(Run *run, GError **error)
{
    char *const names[] = {history_file, NULL};
    g_autoptr(GPtrArray) dumps = g_ptr_array_new_with_free_func(g_free);

    if (history_file == NULL)
        return TRUE;
    if (!material_is_history(history_file)) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "doctor: --history: %s is not a history file of jescope",
                    history_file);
        return FALSE;
    }
    doctor_evidence_init(&run->past);
    return material_open(&run->material, names, target_word, dumps, error);
}

static int
examine_target(Run *run, const char *name, const WatchingChoice *choice, GError **error)
{
    g_autoptr(Target) target = via_open(name, error);

    if (target == NULL)
        return STATUS_FAILED;
    guint64 started = target_start_time(target);
    run->material.pid = target_pid(target);
    run->material.start_time = started;
    if (!open_past(run, error))
        return STATUS_FAILED;
    run->started_us = started != 0 ? process_started_us(started) : G_MAXINT64;
    run->name = g_strdup(target_label(target));
    run->source.symbolize.pid = target_pid(target);
    run->source.symbolize.author = target_user(target);
    if (!watching_run(&run->watching, g_steal_pointer(&target), choice, error) || !begin_watched_dumps(run, error))
        return STATUS_FAILED;
    return answer(run, error);
}

static int
examine_files(Run *run, char **operands, GError **error)
{
    g_autoptr(GPtrArray) dumps = g_ptr_array_new_with_free_func(g_free);

    doctor_evidence_init(&run->watching.evidence);
    g_autofree char *name = operands[1] == NULL
                                ? g_path_get_basename(operands[0])
                                : g_strdup_printf("%s and %u more", operands[0], g_strv_length(operands) - 1);
    run->name = text_printable(name);
    if (!material_open(&run->material, operands, target_word, dumps, error))
        return STATUS_FAILED;
    if (dumps->len > 0 && !begin_dumps(run, dumps, error))
        return STATUS_FAILED;
    return answer(run, error);
}

static int
run(char **operands, GError **error)
{
    static const ReportArguments plain = REPORT_ARGUMENTS_NONE;
    g_auto(Run) doctor = {0};
    WatchingChoice choice = {.ms = WATCH_MS, .record = record};

    if ((duration_text != NULL && !duration_parse(duration_text, "--for", &choice.ms, error)) ||
        !sampler_parse(&sampler, &choice.sampler, error))
        return STATUS_USAGE;
    if ((sampler.sampler != NULL || sampler.memory != NULL) && !record) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "doctor: %s is for --record",
                    sampler.sampler != NULL ? "--sampler" : "--sampler-memory");
        return STATUS_USAGE;
    }
    report_fill_source_options(&doctor.source, &plain);
    const SourceKind kind = source_kind(operands[0], material_may_be, error);
    if (kind != SOURCE_IS_TARGET)
        return kind == SOURCE_IS_FILE ? examine_files(&doctor, operands, error) : STATUS_USAGE;
    if (operands[1] != NULL) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "doctor: one target at a time, or several files of one program");
        return STATUS_USAGE;
    }
    return examine_target(&doctor, operands[0], &choice, error);
}

static const Example examples[] = {
    {"jescope doctor redis-server", "say what holds the memory of the process, and what to do about it"},
    {"jescope doctor 4711 --for 5m --record",
     "watch for longer, with sampling on, to name the function of a slow leak"},
    {"jescope doctor 4711 --record", "also the function that allocates and frees most"},
    {"jescope doctor redis-server --history=/var/lib/jescope/history.db", "find a leak that takes hours, too"},
    {"jescope doctor 10h.heap 11h.heap 12h.heap", "look for a leak in dumps of one program"},
    {0},
};

const Command cmd_doctor = {
    .name = "doctor",
    .synopsis = "TARGET | FILE...",
    .summary = "say what holds the memory of a program, and what to do about it",
    .description =
        "Watches TARGET for some time (--for) and names the causes of its memory use, the most probable first: each "
        "with "
        "its size, the function if it is known, the evidence, the alternatives that were rejected, and the remedy. "
        "Rates "
        "of growth have a 95 % interval. Without a finding, the target is healthy, and the rate is given above which a "
        "leak would have been found. " JESCOPE_DOC_DIR "/doctor.md lists the causes and their rules.\n"
        "\n"
        "The doctor always reads jemalloc's statistics and the kernel's figures, and, if sampling is on, heap dumps, "
        "which name functions. --record enables sampling for the watch and restores the earlier state; without it, "
        "nothing is changed. If jemalloc cannot profile, jescope's own sampler does, if the agent is in the target "
        "(see "
        "jescope attach). Since it counts births and deaths, as jemalloc does only with prof_accum:true, --record "
        "prefers it unless --sampler=jemalloc is given. If jemalloc's profiler is already on, it samples during the "
        "last third of the watch, and names the function of allocation-churn, and of leaks that jemalloc's profiler "
        "misses.\n"
        "\n"
        "With --history, the samples of this process that serve or collect kept are used as well: they show growth "
        "that "
        "is too slow for the watch, and its function is searched among the largest of the size class.\n"
        "\n"
        "FILEs replace the target: heap dumps of one program in the order in which they were taken, statistics (a log, "
        "jemalloc's JSON), a history file of jescope, or a directory with such files, which are sorted by name.\n"
        "\n"
        "The exit status is 0 for a healthy target, and 4 with a finding.",
    .examples = examples,
    .options = options,
    .operand = OPERAND_SOURCE,
    .operands_min = 1,
    .operands_max = OPERANDS_ANY,
    .run = run,
};
