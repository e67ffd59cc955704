/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/replay-source.h"

#include "confine/account.h"
#include "confine/confined.h"
#include "history/handed.h"
#include "stats/sample-bytes.h"
#include "text/printable.h"
#include "tui/event-text.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The types of a child's output. GVariants are safe to read from untrusted bytes. */
#define LIVES_TYPE   "a(xxxsss)"
#define TARGET_TYPE  "(sxxtx" LIVES_TYPE ")"
#define TARGETS_TYPE "(ua" TARGET_TYPE ")" /* how many are left out; the others */
#define SAMPLES_ROWS "a(uuay)"
#define SAMPLES_TYPE "(u" SAMPLES_ROWS ")" /* how many damaged blocks are left out; the others */
#define DUMPS_TYPE   "a(xtttt)"
#define EVENTS_TYPE  "a(xs)"

enum {
    TARGETS_MAX = 4096,
    LONGEST_NAME = 1024, /* bytes of a target's name */
    LIVES_MAX = 4096,    /* incarnations with kept dumps */
    SPANS_MAX = 256,     /* lives per target, the latest */
    SPANS_ALL = 65536,   /* lives of all targets, which have equal shares */
    DUMPS_MAX = 4096,    /* dumps per life, and accepted in total from the child */
    EVENTS_MAX = 4096,   /* events per target, the latest; recordings per life */
    EVERY_LEAST_US = 1000,
    TEXT_MAX = 4096,      /* bytes per text about a process, and of an event */
    TEXTS_ALL = 64 << 20, /* bytes of texts about processes of all targets, which have equal shares */
};

static const gint64 every_most_us = G_GINT64_CONSTANT(86400) * G_USEC_PER_SEC;
static const gint64 time_most_us = G_GINT64_CONSTANT(1) << 60;

struct ReplaySource {
    char *path;
    GArray *targets; /* of ReplayTarget */
    guint left_out;
    guint damaged; /* the most blocks that one reading has left out */
};

/* In the child ------------------------------------------------------------------------------------------------------
 */

/* Takes ownership of VALUE. */
static gboolean
write_value(GVariant *value, GOutputStream *out, GError **error)
{
    g_autoptr(GVariant) whole = g_variant_ref_sink(value);
    return g_output_stream_write_all(out, g_variant_get_data(whole), g_variant_get_size(whole), NULL, NULL, error);
}

static History *
open_handed(const ReplaySource *source, GError **error)
{
    history_take_handed();
    return history_open(source->path, HISTORY_READ, error);
}

typedef struct {
    GVariantBuilder *rows;
    const HistorySpan *span;
} LifeRow;

static void
add_life(const HistoryProcess *process, gpointer data)
{
    const LifeRow *row = data;
    g_variant_builder_add(row->rows, "(xxxsss)", row->span->pid, row->span->first_us, row->span->last_us, process->user,
                          process->arguments, process->group);
}

/* How many lives each of COUNT targets may have. */
static guint
most_spans(guint count)
{
    return CLAMP(SPANS_ALL / MAX(count, 1), 1, SPANS_MAX);
}

static void
add_target(GVariantBuilder *rows, History *history, const HistoryTarget *target, guint n_spans)
{
    g_autoptr(GArray) spans = history_spans(history, target->name, n_spans, NULL);
    g_variant_builder_open(rows, G_VARIANT_TYPE(TARGET_TYPE));
    g_variant_builder_add(rows, "s", target->name);
    g_variant_builder_add(rows, "x", target->first_us);
    g_variant_builder_add(rows, "x", target->last_us);
    g_variant_builder_add(rows, "t", target->every_us);
    g_variant_builder_add(rows, "x", history_user(history, target->name));
    g_variant_builder_open(rows, G_VARIANT_TYPE(LIVES_TYPE));
    for (guint i = 0; spans != NULL && i < spans->len; i++) {
        const HistorySpan *span = &g_array_index(spans, HistorySpan, i);
        LifeRow row = {rows, span};
        if (!history_process(history, span->incarnation, add_life, &row))
            add_life(&(HistoryProcess){"", "", ""}, &row);
    }
    g_variant_builder_close(rows);
    g_variant_builder_close(rows);
}

/* ---- which targets are shown ---- */

/* A target that may be shown. */
typedef struct {
    const HistoryTarget *target;
    gint64 last_us;
    gpointer account; /* to whom it is charged, as a key of a table */
} Choice;

static gint
by_end(gconstpointer a, gconstpointer b)
{
    const Choice *one = a, *other = b;
    return (other->last_us > one->last_us) - (other->last_us < one->last_us);
}

/* The most targets of one user with which all users together have TARGETS_MAX at most; at least one. COUNTS: account ->
 * number of targets. */
static guint
find_share(GHashTable *counts)
{
    guint low = 1, high = TARGETS_MAX;
    while (low < high) {
        const guint share = low + (high - low + 1) / 2;
        guint64 all = 0;
        GHashTableIter iterator;
        gpointer count;
        g_hash_table_iter_init(&iterator, counts);
        while (g_hash_table_iter_next(&iterator, NULL, &count))
            all += MIN(GPOINTER_TO_UINT(count), share);
        if (all <= TARGETS_MAX)
            low = share;
        else
            high = share - 1;
    }
    return low;
}

static guint
count_one(GHashTable *counts, gpointer account)
{
    const guint count = GPOINTER_TO_UINT(g_hash_table_lookup(counts, account)) + 1;
    g_hash_table_insert(counts, account, GUINT_TO_POINTER(count));
    return count;
}

/* The set of those of TARGETS that are shown: users share the places, and of the targets of each those with the latest
 * samples are. A user may have made any number of them. LEFT_OUT is set to the number of the others, with those whose
 * names are too long. */
static GHashTable *
choose_targets(History *history, const GPtrArray *targets, guint *left_out)
{
    GHashTable *chosen = g_hash_table_new(NULL, NULL);
    g_autoptr(GHashTable) counts = g_hash_table_new(NULL, NULL), taken = g_hash_table_new(NULL, NULL);
    g_autoptr(GArray) choices = g_array_new(FALSE, FALSE, sizeof(Choice));
    guint long_names = 0;
    for (guint i = 0; i < targets->len; i++) {
        const HistoryTarget *target = targets->pdata[i];
        const gint64 user = target->samples > 0 ? history_user(history, target->name) : -1;
        const Choice choice = {target, target->last_us,
                               GUINT_TO_POINTER(user >= 0 ? account_of((uid_t)user) : (uid_t)-1)};
        if (target->samples == 0)
            continue;
        if (strlen(target->name) > LONGEST_NAME) {
            long_names++;
            continue;
        }
        count_one(counts, choice.account);
        g_array_append_val(choices, choice);
    }
    const guint share = find_share(counts);
    g_array_sort(choices, by_end);
    for (guint i = 0; i < choices->len && g_hash_table_size(chosen) < TARGETS_MAX; i++) {
        const Choice *choice = &g_array_index(choices, Choice, i);
        if (count_one(taken, choice->account) <= share)
            g_hash_table_add(chosen, (gpointer)(guintptr)choice->target);
    }
    *left_out = choices->len - g_hash_table_size(chosen) + long_names;
    return chosen;
}

static int
write_targets(gpointer data, GOutputStream *out, GError **error)
{
    g_autoptr(History) history = open_handed(data, error);
    g_autoptr(GPtrArray) targets = history != NULL ? history_targets(history, error) : NULL;
    GVariantBuilder rows;
    if (targets == NULL)
        return -1;
    guint left_out;
    g_autoptr(GHashTable) chosen = choose_targets(history, targets, &left_out);
    g_variant_builder_init(&rows, G_VARIANT_TYPE(TARGETS_TYPE));
    g_variant_builder_add(&rows, "u", left_out);
    g_variant_builder_open(&rows, G_VARIANT_TYPE("a" TARGET_TYPE));
    for (guint i = 0; i < targets->len; i++)
        if (g_hash_table_contains(chosen, targets->pdata[i]))
            add_target(&rows, history, targets->pdata[i], most_spans(g_hash_table_size(chosen)));
    g_variant_builder_close(&rows);
    return write_value(g_variant_builder_end(&rows), out, error) ? 0 : -1;
}

typedef struct {
    const ReplaySource *source;
    const ReplayWindow *window;
    StatsSample **moments; /* of the target being read */
} Reading;

static gint64
end_of(const ReplayWindow *window)
{
    return window->from_us + window->step_us * window->count;
}

static gboolean
keep_sample(StatsSample *sample, gpointer data, GError **error)
{
    const Reading *reading = data;
    const ReplayWindow *window = reading->window;
    if (sample->time_us <= window->from_us || sample->time_us > end_of(window))
        return TRUE;
    gint64 moment = (sample->time_us - window->from_us + window->step_us - 1) / window->step_us - 1;
    if (reading->moments[moment] != NULL)
        stats_sample_unref(reading->moments[moment]);
    reading->moments[moment] = window->only != NULL ? stats_sample_ref(sample) : stats_sample_summary(sample);
    return TRUE;
}

static void
add_sample(GVariantBuilder *rows, guint target, guint moment, const StatsSample *sample)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    sample_bytes_write(sample, bytes);
    g_variant_builder_add(rows, "(uu@ay)", target, moment,
                          g_variant_new_fixed_array(G_VARIANT_TYPE_BYTE, bytes->data, bytes->len, 1));
}

/* The first failure ends it: another process can have each target wait for its lock. */
static gboolean
read_target(Reading *reading, History *history, guint index, GVariantBuilder *rows, GError **error)
{
    const ReplayWindow *window = reading->window;
    const ReplayTarget *target = &g_array_index(reading->source->targets, ReplayTarget, index);
    const HistoryRange range = {window->from_us + 1, end_of(window) + 1};
    g_autoptr(GError) cause = NULL;
    StatsIterator *iterator = history_iterator_new(history, target->name, range, window->parts, &cause);
    if (g_error_matches(cause, HISTORY_ERROR,
                        HISTORY_ERROR_MISSING)) /* its name was not printable, or it was removed */
        return TRUE;
    if (iterator == NULL) {
        g_propagate_error(error, g_steal_pointer(&cause));
        return FALSE;
    }
    const gboolean fine = iterator->each(iterator, keep_sample, reading, error);
    iterator->free(iterator);
    for (guint i = 0; i < window->count; i++)
        if (reading->moments[i] != NULL) {
            add_sample(rows, index, i, reading->moments[i]);
            g_clear_pointer(&reading->moments[i], stats_sample_unref);
        }
    return fine;
}

static gboolean
is_in(const ReplayTarget *target, const ReplayWindow *window)
{
    return window->only != NULL ? strcmp(target->name, window->only) == 0
                                : target->last_us >= window->from_us && target->first_us <= end_of(window);
}

static int
write_samples(gpointer data, GOutputStream *out, GError **error)
{
    Reading *reading = data;
    g_autoptr(History) history = open_handed(reading->source, error);
    GVariantBuilder rows;
    if (history == NULL)
        return -1;
    reading->moments = g_new0(StatsSample *, reading->window->count);
    g_variant_builder_init(&rows, G_VARIANT_TYPE(SAMPLES_ROWS));
    gboolean fine = TRUE;
    for (guint i = 0; fine && i < reading->source->targets->len; i++)
        if (is_in(&g_array_index(reading->source->targets, ReplayTarget, i), reading->window))
            fine = read_target(reading, history, i, &rows, error);
    g_free(reading->moments);
    GVariant *whole =
        g_variant_new("(u@" SAMPLES_ROWS ")", history_damaged_blocks(history), g_variant_builder_end(&rows));
    return write_value(whole, out, fine ? error : NULL) && fine ? 0 : -1;
}

typedef struct {
    const ReplaySource *source;
    const char *target;
    gint64 until_us;
    ReplayDump dump; /* the wanted dump */
} DumpsWanted;

static gboolean
add_dumps(GVariantBuilder *rows, History *history, gint64 incarnation, const DumpsWanted *wanted, GError **error)
{
    g_autoptr(GArray) dumps = history_dumps(history, incarnation, DUMPS_MAX, error);
    for (guint i = 0; dumps != NULL && i < dumps->len; i++) {
        const RouteDump *dump = &g_array_index(dumps, RouteDump, i);
        if (dump->taken_ms <= (guint64)(wanted->until_us / 1000))
            g_variant_builder_add(rows, "(xtttt)", incarnation, dump->id, dump->recording, dump->taken_ms, dump->bytes);
    }
    return dumps != NULL;
}

static int
write_dumps(gpointer data, GOutputStream *out, GError **error)
{
    const DumpsWanted *wanted = data;
    g_autoptr(History) history = open_handed(wanted->source, error);
    g_autoptr(GArray) lives = history != NULL ? history_kept_lives(history, LIVES_MAX, error) : NULL;
    GVariantBuilder rows;
    if (lives == NULL)
        return -1;
    g_variant_builder_init(&rows, G_VARIANT_TYPE(DUMPS_TYPE));
    for (guint i = 0; i < lives->len; i++) {
        const HistoryKept *life = &g_array_index(lives, HistoryKept, i);
        if (g_strcmp0(life->target, wanted->target) == 0 &&
            !add_dumps(&rows, history, life->incarnation, wanted, error))
            return -1;
    }
    return write_value(g_variant_builder_end(&rows), out, error) ? 0 : -1;
}

static int
write_dump(gpointer data, GOutputStream *out, GError **error)
{
    const DumpsWanted *wanted = data;
    g_autoptr(History) history = open_handed(wanted->source, error);
    g_auto(HistoryPackedDump) packed = {0};
    if (history == NULL ||
        !history_dump_read_packed(history, wanted->dump.incarnation, wanted->dump.dump.id, &packed, error))
        return -1;
    return history_dump_write(&packed, STDOUT_FILENO, error) ? 0 : -1;
}

/* ---- events ---- */

typedef struct {
    const ReplaySource *source;
    const char *target;
    GArray *events; /* of ReplayEvent */
} EventsWanted;

static void
clear_event(gpointer event)
{
    g_free(((ReplayEvent *)event)->text);
}

static GArray *
new_events(void)
{
    GArray *events = g_array_new(FALSE, FALSE, sizeof(ReplayEvent));
    g_array_set_clear_func(events, clear_event);
    return events;
}

static gint
compare_events(gconstpointer a, gconstpointer b)
{
    gint64 one = ((const ReplayEvent *)a)->time_us;
    gint64 other = ((const ReplayEvent *)b)->time_us;
    return (one > other) - (one < other);
}

/* Takes ownership of TEXT. */
static void
note_event(const EventsWanted *wanted, gint64 time_us, char *text)
{
    const ReplayEvent event = {time_us, text};
    g_array_append_val(wanted->events, event);
}

static void
note_facts(const EventsWanted *wanted, gint64 time_ms, const EventFacts *facts)
{
    if (time_ms >= 0 && time_ms <= time_most_us / 1000)
        note_event(wanted, time_ms * 1000, event_text(facts));
}

static void
note_recording(const EventsWanted *wanted, const HistoryRecording *recording)
{
    const char *why = recording->why != NULL ? recording->why : "";
    const char *end = recording->state == ROUTE_RECORDING_FAILED    ? "; it failed"
                      : recording->state == ROUTE_RECORDING_DROPPED ? "; it was dropped"
                                                                    : "";
    g_autofree char *detail =
        g_strdup_printf("for %g s%s%s%s", (double)recording->duration_ms / 1000, end, why[0] != '\0' ? ": " : "", why);
    note_facts(wanted, recording->begin_ms, &(EventFacts){"recording-started", recording->id, detail, NULL});
}

/* Adds no events if the file has no dumps or recordings, or an older jescope has written it. */
static void
note_kept(const EventsWanted *wanted, History *history, gint64 incarnation)
{
    g_autoptr(GArray) dumps = history_dumps(history, incarnation, DUMPS_MAX, NULL);
    g_autoptr(GArray) recordings = history_recordings(history, incarnation, EVENTS_MAX, NULL);
    for (guint i = 0; dumps != NULL && i < dumps->len; i++) {
        const RouteDump *dump = &g_array_index(dumps, RouteDump, i);
        note_facts(wanted, (gint64)MIN(dump->taken_ms, (guint64)G_MAXINT64),
                   &(EventFacts){"dump", dump->id, NULL, NULL});
    }
    for (guint i = 0; recordings != NULL && i < recordings->len; i++)
        note_recording(wanted, &g_array_index(recordings, HistoryRecording, i));
}

static void
note_lives(const EventsWanted *wanted, History *history)
{
    g_autoptr(GArray) spans = history_spans(history, wanted->target, SPANS_MAX, NULL);
    for (guint i = 0; spans != NULL && i < spans->len; i++) {
        const HistorySpan *span = &g_array_index(spans, HistorySpan, i);
        g_autofree char *which =
            span->pid != 0 ? g_strdup_printf("process %" G_GINT64_FORMAT, span->pid) : g_strdup("the process");
        note_event(wanted, span->first_us, g_strconcat(which, ": its first sample", NULL));
        if (i + 1 < spans->len)
            note_event(wanted, span->last_us, g_strconcat(which, ": its last sample; another one follows", NULL));
        note_kept(wanted, history, span->incarnation);
    }
}

static void
note_remarks(const EventsWanted *wanted, const HistoryTarget *target)
{
    for (guint i = 0; i < target->notes->len; i++) {
        const HistoryNote *note = target->notes->pdata[i];
        note_event(wanted, note->time_us, g_strdup(note->text));
    }
    for (guint i = 0; i < target->gaps->len; i++) {
        const HistoryGap *gap = &g_array_index(target->gaps, HistoryGap, i);
        if (!gap->restart)
            note_event(wanted, gap->from_us,
                       g_strdup_printf("no samples for %.0f s", ((double)gap->to_us - (double)gap->from_us) / 1e6));
    }
}

static int
write_events(gpointer data, GOutputStream *out, GError **error)
{
    EventsWanted *wanted = data;
    g_autoptr(History) history = open_handed(wanted->source, error);
    g_autoptr(GPtrArray) targets = history != NULL ? history_targets(history, error) : NULL;
    g_autoptr(GArray) events = wanted->events = new_events();
    GVariantBuilder rows;
    if (targets == NULL)
        return -1;
    for (guint i = 0; i < targets->len; i++)
        if (strcmp(((const HistoryTarget *)targets->pdata[i])->name, wanted->target) == 0)
            note_remarks(wanted, targets->pdata[i]);
    note_lives(wanted, history);
    g_array_sort(events, compare_events);
    g_variant_builder_init(&rows, G_VARIANT_TYPE(EVENTS_TYPE));
    for (guint i = events->len - MIN(events->len, EVENTS_MAX); i < events->len; i++) {
        const ReplayEvent *event = &g_array_index(events, ReplayEvent, i);
        g_variant_builder_add(&rows, "(xs)", event->time_us, event->text);
    }
    return write_value(g_variant_builder_end(&rows), out, error) ? 0 : -1;
}

/* In the process itself ---------------------------------------------------------------------------------------------
 */

/* Runs WORK in a child and returns a file with its output, which is untrusted. -1 with ERROR. */
static int
run_to_file(ConfinedWork *work, gpointer data, GError **error)
{
    const Confined confined = {.work = work, .data = data, .seconds = history_handed_seconds()};
    ConfinedResult result;
    g_autoptr(GTimeZone) zone G_GNUC_UNUSED = g_time_zone_new_local(); /* stays cached for the child, which cannot read
                                                                        * the file */
    int status = confined_run(&confined, &result, error);
    if (status < 0 && error != NULL && *error != NULL)
        text_clean((*error)->message, strlen((*error)->message) + 1);
    g_free(result.words);
    if (status == 0)
        return result.output;
    if (result.output >= 0)
        close(result.output);
    return -1;
}

/* Like run_to_file(), but returns the output as a value of TYPE. NULL with ERROR. */
static GVariant *
run(ConfinedWork *work, gpointer data, const char *type, GError **error)
{
    int output = run_to_file(work, data, error);
    GVariant *value = NULL;
    g_autoptr(GMappedFile) file = output >= 0 ? g_mapped_file_new_from_fd(output, FALSE, error) : NULL;
    if (file != NULL) {
        g_autoptr(GBytes) bytes = g_mapped_file_get_bytes(file);
        value = g_variant_ref_sink(g_variant_new_from_bytes(G_VARIANT_TYPE(type), bytes, FALSE));
    }
    if (output >= 0)
        close(output);
    return value;
}

static void
clear_life(gpointer data)
{
    const ReplayLife *life = data;
    g_free(life->user);
    g_free(life->arguments);
    g_free(life->group);
}

static void
clear_target(gpointer target)
{
    g_free(((ReplayTarget *)target)->name);
    g_array_unref(((ReplayTarget *)target)->lives);
}

static gboolean
is_range(gint64 first_us, gint64 last_us)
{
    return first_us >= 0 && first_us <= last_us && last_us <= time_most_us;
}

static char *
take_text(const char *text)
{
    g_autofree char *bounded = g_strndup(text, TEXT_MAX);
    return text_printable(bounded);
}

/* Copies TEXT if it has at most *LEFT bytes, which are then fewer; otherwise "", as if it were unknown. */
static char *
take_text_within(const char *text, gsize *left)
{
    g_autofree char *taken = take_text(text);
    const gsize size = strlen(taken);
    if (size > *left)
        return g_strdup("");
    *left -= size;
    return g_steal_pointer(&taken);
}

/* The rows of LIVES, at most MAX, whose texts are those of the last processes if they have more than TEXTS bytes. */
static GArray *
take_lives(GVariant *rows, guint max, gsize texts)
{
    GArray *lives = g_array_new(FALSE, FALSE, sizeof(ReplayLife));
    GVariantIter iterator;
    ReplayLife life;
    g_array_set_clear_func(lives, clear_life);
    g_variant_iter_init(&iterator, rows);
    while (lives->len < max && g_variant_iter_next(&iterator, "(xxx&s&s&s)", &life.pid, &life.first_us, &life.last_us,
                                                   &life.user, &life.arguments, &life.group))
        if (is_range(life.first_us, life.last_us) && life.pid >= 0)
            g_array_append_val(lives, life);
    for (guint i = lives->len; i-- > 0;) { /* until now they are borrowed from ROWS */
        ReplayLife *one = &g_array_index(lives, ReplayLife, i);
        one->user = take_text_within(one->user, &texts);
        one->group = take_text_within(one->group, &texts);
        one->arguments = take_text_within(one->arguments, &texts);
    }
    return lives;
}

/* Appends TARGET, one of COUNT as written by the child, with bounded values; takes ownership of LIVES. */
static void
take_target(GArray *targets, const ReplayTarget *target, guint count, GVariant *lives)
{
    ReplayTarget taken = *target;
    g_autoptr(GVariant) rows = lives;
    if (!is_range(target->first_us, target->last_us) || targets->len == TARGETS_MAX ||
        strlen(target->name) > LONGEST_NAME)
        return;
    taken.name = text_printable(target->name);
    taken.every_us = target->every_us != 0 ? CLAMP(target->every_us, EVERY_LEAST_US, every_most_us) : 0;
    taken.user = target->user < G_MAXUINT32 ? MAX(target->user, -1) : -1;
    taken.lives = take_lives(rows, most_spans(count), TEXTS_ALL / count);
    g_array_append_val(targets, taken);
}

static gboolean
read_targets(ReplaySource *source, GError **error)
{
    g_autoptr(GVariant) whole = run(write_targets, source, TARGETS_TYPE, error);
    g_autoptr(GVariant) rows = NULL;
    GVariantIter iterator;
    ReplayTarget target = {0};
    const char *name;
    guint64 every_us;
    GVariant *lives;
    if (whole == NULL)
        return FALSE;
    g_variant_get(whole, "(u@a" TARGET_TYPE ")", &source->left_out, &rows);
    const guint count = (guint)MIN(g_variant_iter_init(&iterator, rows), TARGETS_MAX);
    while (g_variant_iter_next(&iterator, "(&sxxtx@" LIVES_TYPE ")", &name, &target.first_us, &target.last_us,
                               &every_us, &target.user, &lives)) {
        target.name = (char *)(guintptr)name;
        target.every_us = (gint64)MIN(every_us, (guint64)every_most_us);
        take_target(source->targets, &target, count, lives);
    }
    if (source->targets->len > 0)
        return TRUE;
    g_set_error(error, HISTORY_ERROR, HISTORY_ERROR_MISSING, "%s has no samples to replay", source->path);
    return FALSE;
}

ReplaySource *
replay_source_new(const char *path, GError **error)
{
    ReplaySource *source = g_new0(ReplaySource, 1);
    source->path = g_strdup(path);
    source->targets = g_array_new(FALSE, FALSE, sizeof(ReplayTarget));
    g_array_set_clear_func(source->targets, clear_target);
    history_hand_over(path);
    account_of(geteuid()); /* reads the subordinate ids before the fork: the child cannot open /etc/subuid */
    if (read_targets(source, error))
        return source;
    replay_source_free(source);
    return NULL;
}

void
replay_source_free(ReplaySource *source)
{
    if (source == NULL)
        return;
    g_array_unref(source->targets);
    g_free(source->path);
    g_free(source);
}

const GArray *
replay_source_targets(const ReplaySource *source)
{
    return source->targets;
}

guint
replay_source_left_out(const ReplaySource *source)
{
    return source->left_out;
}

guint
replay_source_damaged(const ReplaySource *source)
{
    return source->damaged;
}

GArray *
replay_source_events(const ReplaySource *source, const char *target)
{
    EventsWanted wanted = {.source = source, .target = target};
    g_autoptr(GVariant) rows = run(write_events, &wanted, EVENTS_TYPE, NULL);
    GVariantIter iterator;
    gint64 time_us;
    const char *text;
    if (rows == NULL)
        return NULL;
    GArray *events = new_events();
    g_variant_iter_init(&iterator, rows);
    while (events->len < EVENTS_MAX && g_variant_iter_next(&iterator, "(x&s)", &time_us, &text)) {
        const ReplayEvent event = {CLAMP(time_us, 0, time_most_us), take_text(text)};
        g_array_append_val(events, event);
    }
    g_array_sort(events, compare_events);
    return events;
}

static void
free_sample(gpointer sample)
{
    if (sample != NULL)
        stats_sample_unref(sample);
}

static StatsSample *
sample_of(GVariant *bytes)
{
    gsize length;
    gconstpointer data = g_variant_get_fixed_array(bytes, &length, 1);
    return sample_bytes_read(data, length);
}

GPtrArray *
replay_source_read(ReplaySource *source, const ReplayWindow *window, GError **error)
{
    Reading reading = {.source = source, .window = window};
    g_autoptr(GVariant) whole = run(write_samples, &reading, SAMPLES_TYPE, error);
    g_autoptr(GVariant) rows = NULL;
    GVariantIter iterator;
    guint target, moment, damaged;
    GVariant *bytes;
    if (whole == NULL)
        return NULL;
    g_variant_get(whole, "(u@" SAMPLES_ROWS ")", &damaged, &rows);
    source->damaged = MAX(source->damaged, damaged);
    GPtrArray *samples = g_ptr_array_new_with_free_func(free_sample);
    g_ptr_array_set_size(samples, (gint)(source->targets->len * window->count));
    g_variant_iter_init(&iterator, rows);
    while (g_variant_iter_next(&iterator, "(uu@ay)", &target, &moment, &bytes)) {
        gsize at = (gsize)target * window->count + moment;
        if (target < source->targets->len && moment < window->count && samples->pdata[at] == NULL)
            samples->pdata[at] = sample_of(bytes);
        g_variant_unref(bytes);
    }
    return samples;
}

static gint
compare_taken(gconstpointer a, gconstpointer b)
{
    const RouteDump *one = &((const ReplayDump *)a)->dump;
    const RouteDump *other = &((const ReplayDump *)b)->dump;
    return one->taken_ms != other->taken_ms ? (other->taken_ms > one->taken_ms) - (other->taken_ms < one->taken_ms)
                                            : (other->id > one->id) - (other->id < one->id);
}

GArray *
replay_source_dumps(const ReplaySource *source, const char *target, gint64 until_us, GError **error)
{
    DumpsWanted wanted = {.source = source, .target = target, .until_us = until_us};
    g_autoptr(GVariant) rows = run(write_dumps, &wanted, DUMPS_TYPE, error);
    GVariantIter iterator;
    ReplayDump row;
    if (rows == NULL)
        return NULL;
    GArray *dumps = g_array_new(FALSE, FALSE, sizeof(ReplayDump));
    g_variant_iter_init(&iterator, rows);
    while (dumps->len < DUMPS_MAX && g_variant_iter_next(&iterator, "(xtttt)", &row.incarnation, &row.dump.id,
                                                         &row.dump.recording, &row.dump.taken_ms, &row.dump.bytes))
        g_array_append_val(dumps, row);
    g_array_sort(dumps, compare_taken);
    return dumps;
}

/* Changes the owner of the dump: the files that it names are read with its owner's rights. */
static gboolean
give_to_author(int dump)
{
    const uid_t author = history_handed_author();
    return geteuid() != 0 || author == 0 || fchown(dump, author, (gid_t)-1) == 0;
}

int
replay_source_open_dump(const ReplaySource *source, const ReplayDump *dump, GError **error)
{
    DumpsWanted wanted = {.source = source, .dump = *dump};
    const guint64 taken_s = MIN(dump->dump.taken_ms, (guint64)time_most_us / 1000) / 1000;
    const struct timespec times[] = {{.tv_sec = (time_t)taken_s}, {.tv_sec = (time_t)taken_s}};
    int output = run_to_file(write_dump, &wanted, error);
    /* Files modified after the dump are not used for symbols. */
    if (output >= 0 && (lseek(output, 0, SEEK_SET) != 0 || futimens(output, times) != 0 || !give_to_author(output))) {
        close(output);
        g_set_error_literal(error, HISTORY_ERROR, HISTORY_ERROR_FAILED, "the dump cannot be read");
        return -1;
    }
    return output;
}
