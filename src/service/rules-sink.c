/* SPDX-License-Identifier: Apache-2.0 */
#include "service/rules-sink.h"

#include "service/live.h"
#include "service/rule-probes.h"
#include "service/rule-work.h"

#include "export/labels.h"
#include "rules/directory.h"
#include "target/cgroup.h"
#include "target/headroom.h"
#include "target/identity.h"
#include "target/user-name.h"

#include <glib-unix.h>
#include <string.h>

enum {
    MISSING_HALVES = 5, /* half intervals without a sample that make a gap */
    ARGUMENTS_MAX = 64 * 1024,
    PORTION = 256, /* pairs of a rule and a series that are copied at a time: some 0.1 ms */
};

static const gdouble PROBES_SPARE = 0.05; /* share of the machine's memory that must be available for a dump */

typedef struct {
    Service *service;
    RulesDirectory *directory; /* NULL: no rules. Read on the thread of a tick */
    gboolean fresh;            /* changes were not reported yet; used on the thread of a tick */
    RuleWorks *works;          /* used in the main context */

    GMutex lock; /* guards the following */
    Engine *engine;
    GPtrArray *problems;
    gdouble spare;

    GMutex counts_lock; /* guards counts, which the main context needs at any time */
    RulesSinkCounts counts;
} RulesSink;

/* ---- facts of a target ---- */

typedef struct {
    GMutex lock;
    gboolean known;
    char *facts[RULE_FILTERS];
    char **labels;
} Facts;

static void
clear_facts(gpointer part)
{
    Facts *facts = part;
    for (guint i = 0; i < RULE_FILTERS; i++)
        g_free(facts->facts[i]);
    g_strfreev(facts->labels);
    g_mutex_clear(&facts->lock);
}

static const LivePart facts_part = {sizeof(Facts), clear_facts};

static char *
read_arguments(pid_t pid)
{
    gsize length = 0;
    g_autofree char *text = process_text(pid, "cmdline", ARGUMENTS_MAX, &length);
    if (text == NULL)
        return g_strdup("");
    for (gsize i = 0; i + 1 < length; i++)
        text[i] = text[i] == '\0' ? ' ' : text[i];
    return g_steal_pointer(&text);
}

/* The labels that a push of the process has by default. */
static char **
find_labels(const char *user, const char *cgroup)
{
    g_autoptr(GArray) labels = labels_new();
    g_autoptr(GStrvBuilder) texts = g_strv_builder_new();
    labels_add(labels, "user", user);
    labels_add_group(labels, cgroup);
    for (guint i = 0; i < labels->len; i++) {
        const BatchLabel *label = &g_array_index(labels, BatchLabel, i);
        g_autofree char *text = g_strconcat(label->name, "=", label->value, NULL);
        g_strv_builder_add(texts, text);
    }
    return g_strv_builder_end(texts);
}

/* Reads the facts once per target, since they rarely change. */
static RuleSubject
find_facts(ServiceTarget *target)
{
    Facts *facts = live_part(target, &facts_part);
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&facts->lock);
    RuleSubject subject;
    if (!facts->known) {
        g_autoptr(Identity) identity = identity_new(live_process(target));
        char *cgroup = cgroup_path(live_process(target)->pid);
        facts->facts[RULE_FILTER_PROCESS] = g_strdup(service_target_name(target));
        facts->facts[RULE_FILTER_SERIES] = g_strdup(service_target_series(target));
        facts->facts[RULE_FILTER_USER] = user_name(live_user(target));
        facts->facts[RULE_FILTER_UNIT] = g_strdup(identity != NULL ? identity->unit : "");
        facts->facts[RULE_FILTER_CGROUP] = cgroup != NULL ? cgroup : g_strdup("");
        facts->facts[RULE_FILTER_ARGUMENTS] = read_arguments(live_process(target)->pid);
        facts->labels = find_labels(facts->facts[RULE_FILTER_USER], facts->facts[RULE_FILTER_CGROUP]);
        facts->known = TRUE;
    }
    for (guint i = 0; i < RULE_FILTERS; i++)
        subject.facts[i] = facts->facts[i];
    subject.labels = (const char *const *)facts->labels;
    return subject;
}

/* ---- counts ---- */

static void
count_fired(RulesSink *sink, guint fired)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&sink->counts_lock);
    sink->counts.fired += fired;
    sink->counts.judged = engine_judged(sink->engine);
}

static void
count_failed(RulesSink *sink, guint failed)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&sink->counts_lock);
    sink->counts.failed += failed;
}

/* ---- firing ---- */

typedef struct {
    RulesSink *sink;
    ServiceTarget *target;
    Rule *rule;
    char *because;
} Start;

static void
free_start(gpointer data)
{
    Start *start = data;
    service_target_unref(start->target);
    rule_unref(start->rule);
    g_free(start->because);
    g_free(start);
}

static gboolean
on_start(gpointer data)
{
    const Start *start = data;
    rule_works_begin(start->sink->works, start->rule, start->target, start->because);
    return G_SOURCE_REMOVE;
}

static void
on_work_done(const RuleOutcome *outcome, gpointer data)
{
    RulesSink *sink = data;
    count_failed(sink, outcome->failed);
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&sink->lock);
    engine_end_work(sink->engine, outcome->rule->name, service_target_series(outcome->target), outcome->bytes);
}

static void
start_work(RulesSink *sink, ServiceTarget *target, const RuleFiring *firing)
{
    Start *start = g_new(Start, 1);
    *start = (Start){sink, service_target_ref(target), rule_ref(firing->rule), g_strdup(firing->because)};
    service_post(sink->service, on_start, start, free_start);
}

/* Uses monotonic time for the rules, since the wall clock may be set. */
static RuleReading
make_reading(const RulesSink *sink, const CollectedSample *collected, const RuleSubject *subject)
{
    const Process *process = live_process(collected->target);
    gint64 now_us = g_get_monotonic_time();
    return (RuleReading){.series = collected->life.target,
                         .subject = subject,
                         .owner = process_viewer(live_process(collected->target)),
                         .account = live_account(collected->target),
                         .life = (guint64)process->pid << 40 ^ process->start_time,
                         .began_us = now_us - (g_get_real_time() - service_target_started_us(collected->target)),
                         .now_us = now_us,
                         .gap_us = (gint64)service_every_us(sink->service) * MISSING_HALVES / 2,
                         .sample = collected->sample,
                         .spare = sink->spare};
}

static void
add_probe(Rule *rule, const Quantity *quantity, gpointer data)
{
    rule_probes_add(data, rule, quantity);
}

/* Measures only if the machine has memory available. */
static void
measure_probes(RulesSink *sink, const CollectedSample *collected)
{
    g_autoptr(RuleProbes) probes = rule_probes_new(collected->target);
    engine_each_probe(sink->engine, collected->life.target, add_probe, probes);
    if (sink->spare >= PROBES_SPARE)
        rule_probes_measure(g_steal_pointer(&probes));
}

static void
on_sample(gpointer state, const CollectedSample *collected)
{
    RulesSink *sink = state;
    if (sink->directory == NULL || collected->target == NULL)
        return;
    const RuleSubject subject = find_facts(collected->target);
    g_autoptr(GArray) firings = rule_firings_new();
    gboolean probed_now;
    g_autoptr(GHashTable) probed = rule_probes_values(collected->target, &probed_now);
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&sink->lock);
    /* Its series, which is over, would be remembered for ever. */
    if (service_target_state(collected->target) == SERVICE_TARGET_GONE)
        return;
    RuleReading reading = make_reading(sink, collected, &subject);
    reading.probed = probed;
    reading.probed_now = probed_now;
    engine_judge(sink->engine, &reading, firings);
    measure_probes(sink, collected);
    for (guint i = 0; i < firings->len; i++) {
        const RuleFiring *firing = &g_array_index(firings, RuleFiring, i);
        engine_begin_work(sink->engine, firing->rule->name, firing->series);
        start_work(sink, collected->target, firing);
    }
    count_fired(sink, firings->len);
}

static void
on_event(gpointer state, const ServiceEvent *event)
{
    RulesSink *sink = state;
    if (sink->directory != NULL)
        rule_works_note(sink->works, event);
}

/* Forgets a series that has ended. */
static void
on_remark(gpointer state, const CollectedRemark *remark)
{
    RulesSink *sink = state;
    if (sink->directory == NULL || remark->kind != REMARK_OVER)
        return;
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&sink->lock);
    engine_forget(sink->engine, remark->series);
}

/* ---- files ---- */

static void
take_rules(RulesSink *sink)
{
    const GPtrArray *problems = rules_directory_problems(sink->directory);
    const GPtrArray *rules = rules_directory_rules(sink->directory);
    g_mutex_lock(&sink->lock);
    engine_set_rules(sink->engine, rules);
    g_ptr_array_set_size(sink->problems, 0);
    for (guint i = 0; i < problems->len; i++)
        g_ptr_array_add(sink->problems, g_strdup(problems->pdata[i]));
    g_mutex_unlock(&sink->lock);
    for (guint i = 0; i < problems->len; i++)
        service_say(sink->service, "%s", (const char *)problems->pdata[i]);
    service_say(sink->service, "rules: %u in use, %u left out", rules->len, problems->len);
}

static void
on_tick(gpointer state)
{
    RulesSink *sink = state;
    if (sink->directory == NULL)
        return;
    gdouble spare = headroom_spare();
    g_mutex_lock(&sink->lock);
    sink->spare = spare;
    g_mutex_unlock(&sink->lock);
    if (!rules_directory_refresh(sink->directory) && !sink->fresh)
        return;
    sink->fresh = FALSE;
    take_rules(sink);
}

/* ---- the sink ---- */

static gpointer
new_state(Service *service)
{
    RulesSink *sink = g_new0(RulesSink, 1);
    sink->service = service;
    g_mutex_init(&sink->lock);
    g_mutex_init(&sink->counts_lock);
    if (service->options.rules == NULL)
        return sink;
    sink->directory = rules_directory_new(service->options.rules);
    sink->works = rule_works_new(service, on_work_done, sink);
    sink->engine = engine_new();
    sink->problems = g_ptr_array_new_with_free_func(g_free);
    sink->spare = headroom_spare();
    sink->fresh = rules_directory_refresh(sink->directory);
    engine_set_rules(sink->engine, rules_directory_rules(sink->directory));
    return sink;
}

static void
stop(gpointer state)
{
    const RulesSink *sink = state;
    if (sink->works != NULL)
        rule_works_stop(sink->works);
}

static void
close_works(gpointer state)
{
    const RulesSink *sink = state;
    if (sink->works != NULL)
        rule_works_close(sink->works);
}

static void
free_state(gpointer state)
{
    RulesSink *sink = state;
    g_clear_pointer(&sink->works, rule_works_free);
    g_clear_pointer(&sink->directory, rules_directory_free);
    g_clear_pointer(&sink->engine, engine_free);
    g_clear_pointer(&sink->problems, g_ptr_array_unref);
    g_mutex_clear(&sink->lock);
    g_mutex_clear(&sink->counts_lock);
    g_free(sink);
}

const Sink rules_sink = {
    .new = new_state,
    .free = free_state,
    .sample = on_sample,
    .remark = on_remark,
    .event = on_event,
    .stop = stop,
    .close = close_works,
    .tick = on_tick,
};

/* ---- queries ---- */

/* A copy, whose strings and rule are owned. */
static void
clear_standing(gpointer data)
{
    const RuleStanding *standing = data;
    rule_unref((Rule *)(guintptr)standing->rule);
    g_free((char *)(guintptr)standing->series);
    g_free((char *)(guintptr)standing->why);
}

static void
copy_standing(const RuleStanding *standing, gpointer data)
{
    RuleStanding copy = *standing;
    copy.rule = rule_ref((Rule *)(guintptr)standing->rule);
    copy.series = g_strdup(standing->series);
    copy.why = g_strdup(standing->why);
    g_array_append_val((GArray *)data, copy);
}

static EngineProgress
copy_portion(RulesSink *sink, Viewer viewer, EngineCursor *cursor, GArray *portion)
{
    const guint32 owner = (guint32)viewer;
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&sink->lock);
    return engine_each_portion(sink->engine, viewer != VIEWER_ALL ? &owner : NULL, cursor, PORTION, copy_standing,
                               portion);
}

/* Samples, and the main context, wait for the lock, which is held for a portion of the list at a time; EACH is called
 * without it. */
gboolean
rules_sink_each(gpointer state, Viewer viewer, void (*each)(const RuleStanding *standing, gpointer data), gpointer data)
{
    RulesSink *sink = state;
    if (sink->directory == NULL || (viewer < 0 && viewer != VIEWER_ALL))
        return TRUE;
    EngineCursor cursor = {0};
    EngineProgress progress = ENGINE_MORE;
    g_autoptr(GArray) portion = g_array_new(FALSE, FALSE, sizeof(RuleStanding));
    g_array_set_clear_func(portion, clear_standing);
    while (progress == ENGINE_MORE) {
        progress = copy_portion(sink, viewer, &cursor, portion);
        for (guint i = 0; i < portion->len; i++)
            each(&g_array_index(portion, RuleStanding, i), data);
        g_array_set_size(portion, 0);
    }
    return progress == ENGINE_COMPLETE;
}

GPtrArray *
rules_sink_problems(gpointer state)
{
    RulesSink *sink = state;
    GPtrArray *problems = g_ptr_array_new_with_free_func(g_free);
    if (sink->directory == NULL)
        return problems;
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&sink->lock);
    for (guint i = 0; i < sink->problems->len; i++)
        g_ptr_array_add(problems, g_strdup(sink->problems->pdata[i]));
    return problems;
}

RulesSinkCounts
rules_sink_counts(gpointer state)
{
    RulesSink *sink = state;
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&sink->counts_lock);
    return sink->counts;
}

GArray *
rules_sink_states(gpointer state)
{
    RulesSink *sink = state;
    if (sink->directory == NULL)
        return rule_counts_new();
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&sink->lock);
    return engine_count(sink->engine);
}
