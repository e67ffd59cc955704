/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/explore.h"

#include "report/options.h"
#include "report/units.h"
#include "routes/unprofiled.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

enum {
    TABLE_ROWS = 5000,
    STACK_ROWS = 10000,
    FLAME_LEVELS = 200,
    FLAME_WIDTH_MIN = 50, /* equals REPORT_WIDTH_MIN */
};

/* In the order in which their key cycles through them. */
static const struct {
    ProfileValue value;
    const char *note;
} values[] = {
    {PROFILE_INUSE_SPACE, ""},
    {PROFILE_INUSE_OBJECTS, " objects"},
    {PROFILE_AGE, " mean age"},
    {PROFILE_ALLOC_SPACE, " allocated so far"},
    {PROFILE_FREED_SPACE, " freed so far"},
    {PROFILE_CHURN, " churn"},
    {PROFILE_LIFETIME, " mean lifetime"},
};

/* Values of the parameter "sort". */
static const char *const sort_words[SITES_SORTS] = {
    [SITES_BY_OWN] = "flat", [SITES_BY_TOTAL] = "cum", [SITES_BY_NAME] = "name"};

static void
free_explore(gpointer data)
{
    Explore *explore = data;
    sites_free(explore->sites);
    flame_free(explore->flame);
    g_array_unref(explore->zooms);
    g_free(explore->key);
    g_free(explore->focus);
    g_free(explore->ignore);
    g_free(explore->search);
    g_free(explore->trouble);
    g_free(explore);
}

static Explore *
explore_of(Model *model)
{
    if (model->explore == NULL) {
        model->explore = g_new0(Explore, 1);
        model->free_explore = free_explore;
        model->explore->key = g_strdup(model->opened);
        model->explore->value = PROFILE_INUSE_SPACE;
        model->explore->zooms = g_array_new(FALSE, FALSE, sizeof(guint64));
    }
    return model->explore;
}

static gboolean
is_replay(const Model *model)
{
    return model->feed != NULL && model->feed->ops->replays;
}

/* ---- questions to the API ---- */

static guint
ask(Model *model, const char *method, const char *path)
{
    g_clear_pointer(&explore_of(model)->trouble, g_free);
    return model->feed->ops->ask(model->feed, model->explore->key, method, path);
}

static void
append_text(GString *path, const char *name, const char *text)
{
    if (text == NULL || text[0] == '\0')
        return;
    g_autofree char *escaped = g_uri_escape_string(text, NULL, FALSE);
    g_string_append_printf(path, "&%s=%s", name, escaped);
}

static GString *
report_path(const Explore *explore, gboolean against_mark)
{
    GString *path = g_string_new(NULL);
    g_string_printf(path, "/dumps/%" G_GUINT64_FORMAT "?format=page&value=%s", explore->now.id,
                    report_value_name(explore->value));
    /* A mean of the difference cannot be computed from two means. */
    if (against_mark && !value_is_mean(explore->value) && explore->mark.id != explore->now.id)
        g_string_append_printf(path, "&base=%" G_GUINT64_FORMAT, explore->mark.id);
    if (explore->wrappers)
        g_string_append(path, "&wrappers=true");
    append_text(path, "focus", explore->focus);
    append_text(path, "ignore", explore->ignore);
    return path;
}

static void
ask_sites(Model *model)
{
    Explore *explore = explore_of(model);
    g_autoptr(GString) path = report_path(explore, TRUE);
    if (explore->mode == SITES_STACKS)
        g_string_append_printf(path, "&part=stacks&count=%u", STACK_ROWS);
    else
        g_string_append_printf(path, "&part=table&count=%u%s", TABLE_ROWS,
                               explore->mode == SITES_LINES ? "&by=line" : "");
    append_text(path, "sort", sort_words[explore->sort]);
    explore->asked_sites = ask(model, "GET", path->str);
}

static void
ask_flame(Model *model)
{
    Explore *explore = explore_of(model);
    g_autoptr(GString) path = report_path(explore, !explore->plain);
    g_string_append_printf(path, "&part=graph&width=%u&depth=%u", MAX(explore->flame_columns, FLAME_WIDTH_MIN),
                           FLAME_LEVELS);
    if (explore->inverted)
        g_string_append(path, "&callers=true");
    if (explore->zooms->len > 0)
        g_string_append_printf(path, "&zoom=%016" G_GINT64_MODIFIER "x",
                               g_array_index(explore->zooms, guint64, explore->zooms->len - 1));
    explore->asked_flame = ask(model, "GET", path->str);
}

void
explore_refresh(Model *model)
{
    Explore *explore = explore_of(model);
    if (explore->now.id == 0)
        return;
    explore->doing = "making the report";
    if (model_view(model) == VIEW_FLAME)
        ask_flame(model);
    else
        ask_sites(model);
}

const char *
explore_value_note(ProfileValue value)
{
    for (gsize i = 0; i < G_N_ELEMENTS(values); i++)
        if (values[i].value == value)
            return values[i].note;
    return "";
}

void
explore_next_value(Model *model)
{
    Explore *explore = explore_of(model);
    gsize now = 0;
    while (now + 1 < G_N_ELEMENTS(values) && values[now].value != explore->value)
        now++;
    for (gsize i = 1; explore->sites != NULL && i < G_N_ELEMENTS(values); i++) {
        ProfileValue next = values[(now + i) % G_N_ELEMENTS(values)].value;
        if (explore->sites->known[next]) {
            explore->value = next;
            explore_refresh(model);
            return;
        }
    }
    model_show_message(model, "the dump has no other value");
}

/* ---- what changes the target ---- */

static gboolean
may_change(Model *model)
{
    const FeedTarget *target = model_opened(model);
    if (model->readonly)
        model_show_message(model, "not with --readonly");
    else if (model->feed == NULL || model->feed->ops->replays)
        model_show_message(model, "this is a replay: the process cannot be changed");
    else if (target == NULL || target->gone)
        model_show_message(model, "the process has ended");
    else
        return TRUE;
    return FALSE;
}

static gboolean
may_profile(Model *model)
{
    const FeedTarget *target = model_opened(model);
    char why[FAILURE_WHY_MAX];
    if (!may_change(model))
        return FALSE;
    if (!target->status.has_hello) {
        model_show_message(model, "whether it can be profiled is not known yet");
        return FALSE;
    }
    if (!unprofiled_applies(&target->status.hello))
        return TRUE;
    unprofiled_describe(&target->status.hello, why, sizeof(why));
    model_show_message(model, "it cannot be profiled: %s", why);
    return FALSE;
}

static void
question(Model *model, void (*yes)(Model *model, gpointer data), const char *format)
{
    const FeedTarget *target = model_opened(model);
    g_autofree char *label = g_strdup_printf("%s (%" G_GINT64_FORMAT ")", target->status.name, target->status.pid);
    g_autoptr(GString) text = g_string_new(format);
    g_string_replace(text, "TARGET", label, 1);
    model_ask(model, &(Question){.text = g_strdup(text->str), .yes = yes});
}

static void
dump(Model *model, gpointer unused)
{
    explore_of(model)->doing = "taking a dump";
    explore_of(model)->asked_dump = ask(model, "POST", "/dumps");
}

static void
take_lease(Model *model, gpointer unused)
{
    Explore *explore = explore_of(model);
    g_autofree char *path = g_strdup_printf("/profiling?active=true&for=%us", EXPLORE_LEASE_S);
    explore->renewed_us = g_get_monotonic_time();
    explore->asked_lease = ask(model, "PUT", path);
}

static void
record(Model *model, gpointer unused)
{
    explore_of(model)->record_until_us = g_get_monotonic_time() + EXPLORE_RECORD_S * G_USEC_PER_SEC;
    if (explore_of(model)->lease == 0)
        take_lease(model, NULL);
}

static void
purge(Model *model, gpointer unused)
{
    explore_of(model)->asked_purge = ask(model, "POST", "/purge");
}

static void
end_lease(Model *model)
{
    Explore *explore = explore_of(model);
    g_autofree char *path = g_strdup_printf("/profiling/leases/%" G_GUINT64_FORMAT, explore->lease);
    explore->lease = 0;
    explore->record_until_us = 0;
    explore->asked_end = ask(model, "DELETE", path);
}

static void
ask_for_dump(Model *model)
{
    const FeedTarget *target = model_opened(model);
    if (!may_profile(model))
        return;
    if ((target->status.hello.flags & WIRE_FLAG_PROF_ACTIVE) == 0 && explore_of(model)->lease == 0)
        model_show_message(model, "profiling is not active, a dump would be empty: R records for %u s, E enables it",
                           EXPLORE_RECORD_S);
    else
        question(model, dump, "Take a heap dump of TARGET?");
}

static void
ask_for_lease(Model *model)
{
    if (explore_of(model)->lease != 0) {
        end_lease(model);
        model_show_message(model, "profiling is as it was before");
    } else if (may_profile(model)) {
        question(model, take_lease, "Enable profiling of TARGET while its screens are open?");
    }
}

static void
ask_for_record(Model *model)
{
    if (may_profile(model))
        question(model, record, "Profile TARGET for 30 s and take a heap dump?");
}

static void
ask_for_purge(Model *model)
{
    if (may_change(model))
        question(model, purge, "Give all unused pages of TARGET back to the kernel?");
}

static void
set_mark(Model *model)
{
    Explore *explore = explore_of(model);
    if (explore->now.id == 0) {
        model_show_message(model,
                           is_replay(model) ? "there is no dump to mark" : "there is no dump to mark yet: D takes one");
        return;
    }
    explore->mark = explore->now;
    model_show_message(model, is_replay(model) ? "gains are since this dump from now on"
                                               : "gains are since this dump from now on; D takes the next one");
    explore_refresh(model);
}

gboolean
explore_key(Model *model, const Key *key)
{
    static const struct {
        gunichar letter;
        void (*act)(Model *model);
    } actions[] = {
        {'D', ask_for_dump}, {'E', ask_for_lease}, {'R', ask_for_record}, {'P', ask_for_purge}, {'M', set_mark}};
    for (gsize i = 0; key->code == KEY_IS_LETTER && i < G_N_ELEMENTS(actions); i++)
        if (actions[i].letter == key->letter) {
            actions[i].act(model);
            return TRUE;
        }
    return FALSE;
}

static void
look_for_kept(Model *model)
{
    Explore *explore = explore_of(model);
    if (explore->asked_kept == 0)
        explore->asked_kept = ask(model, "GET", "/dumps");
    else
        explore->moved = TRUE;
}

void
explore_enter(Model *model, ViewKind view)
{
    Explore *explore = explore_of(model);
    explore->wanted = view;
    if (is_replay(model)) {
        model_enter(model, view);
        look_for_kept(model);
    } else if (explore->now.id == 0) {
        ask_for_dump(model);
        return;
    }
    model_enter(model, view);
    explore_refresh(model);
}

void
explore_move(Model *model)
{
    ViewKind view = model_view(model);
    if (is_replay(model) && model->explore != NULL && (view == VIEW_SITES || view == VIEW_FLAME))
        look_for_kept(model);
}

/* ---- answers ---- */

static guint64
id_of(const json_t *object)
{
    json_int_t id = json_integer_value(json_object_get(object, "id"));
    return id > 0 ? (guint64)id : 0;
}

static void
set_dump(Explore *explore, const json_t *document)
{
    explore->now.id = id_of(document);
    explore->now.time_us =
        llround(CLAMP(json_number_value(json_object_get(document, "taken")), 0, 1e11) * G_USEC_PER_SEC);
    if (explore->mark.id == 0)
        explore->mark = explore->now;
}

/* Ignores pending reports of the dump, too. */
static void
forget_dump(Explore *explore)
{
    explore->now = (ExploreDump){0};
    explore->asked_sites = explore->asked_flame = 0;
    explore->doing = NULL;
    g_clear_pointer(&explore->sites, sites_free);
    g_clear_pointer(&explore->flame, flame_free);
}

/* In a replay: shows the newest dump of the moment, unless it is shown already. */
static void
take_kept(Model *model, const json_t *document)
{
    Explore *explore = explore_of(model);
    const json_t *newest = json_array_get(json_object_get(document, "dumps"), 0);
    if (newest == NULL) {
        forget_dump(explore);
        g_free(explore->trouble);
        explore->trouble = g_strdup("the history has no heap dump from before this moment");
    } else if (id_of(newest) != explore->now.id) {
        set_dump(explore, newest);
        explore_refresh(model);
    }
    if (explore->moved) {
        explore->moved = FALSE;
        look_for_kept(model);
    }
}

static void
take_dump(Model *model, const json_t *document)
{
    Explore *explore = explore_of(model);
    set_dump(explore, document);
    if (model_view(model) == VIEW_TARGET)
        model_enter(model, explore->wanted == VIEW_FLAME ? VIEW_FLAME : VIEW_SITES);
    explore_refresh(model);
}

static gboolean
is_blank(const char *text)
{
    return text == NULL || text[0] == '\0';
}

static void
take_sites(Model *model, const json_t *document)
{
    Explore *explore = explore_of(model);
    g_autoptr(GError) error = NULL;
    Sites *sites = sites_read(document, &error);
    if (sites == NULL) {
        model_show_message(model, "%s", error->message);
        return;
    }
    sites_free(explore->sites);
    explore->sites = sites;
    gboolean filtered = !is_blank(explore->focus) || !is_blank(explore->ignore);
    if (sites->value == PROFILE_INUSE_SPACE && !filtered)
        model_take_coverage(model, sites->total);
    explore->row = MIN(explore->row, sites->rows->len > 0 ? sites->rows->len - 1 : 0);
}

static void
take_flame(Model *model, const json_t *document)
{
    Explore *explore = explore_of(model);
    g_autoptr(GError) error = NULL;
    Flame *flame = flame_read(document, &error);
    if (flame == NULL) {
        model_show_message(model, "%s", error->message);
        return;
    }
    flame_free(explore->flame);
    explore->flame = flame;
    explore->flame_row = MIN(flame->path, flame->rows->len > 0 ? flame->rows->len - 1 : 0);
}

static void
take_new_lease(Model *model, const json_t *document)
{
    Explore *explore = explore_of(model);
    explore->lease = id_of(json_object_get(document, "lease"));
    explore->granted_us = explore->renewed_us;
}

/* The lease could not be taken or renewed. If top did not run in time (Ctrl-Z, a suspended machine), the user's consent
 * still holds and the lease is taken again; otherwise another client has ended it. */
static void
lose_lease(Model *model)
{
    Explore *explore = model->explore;
    gboolean late = explore->lease != 0 && explore->renewed_us - explore->granted_us > EXPLORE_LEASE_S * G_USEC_PER_SEC;
    explore->lease = 0;
    if (!late) {
        explore->record_until_us = 0;
        return;
    }
    take_lease(model, NULL);
    model_show_message(model, "profiling had ended since top did not run for %u s; it is enabled again",
                       EXPLORE_LEASE_S);
}

static void
take_purged(Model *model, const json_t *document)
{
    model_show_message(model, "unused pages were given back to the kernel");
}

static void
take_ended(Model *model, const json_t *document)
{
}

static void
fail(Model *model, const GError *error)
{
    Explore *explore = explore_of(model);
    explore->doing = NULL;
    g_free(explore->trouble);
    explore->trouble = g_strdup(error->message);
    model_show_message(model, "%s", error->message);
}

void
explore_answer(guint id, const json_t *document, const GError *error, gpointer data)
{
    Model *model = data;
    Explore *explore = model->explore;
    if (explore == NULL)
        return;
    const struct {
        guint *asked;
        void (*take)(Model *model, const json_t *document);
    } answers[] = {{&explore->asked_kept, take_kept},       {&explore->asked_dump, take_dump},
                   {&explore->asked_sites, take_sites},     {&explore->asked_flame, take_flame},
                   {&explore->asked_lease, take_new_lease}, {&explore->asked_purge, take_purged},
                   {&explore->asked_end, take_ended}};
    for (gsize i = 0; i < G_N_ELEMENTS(answers); i++) {
        if (*answers[i].asked != id)
            continue;
        *answers[i].asked = 0;
        if (answers[i].take != take_kept)
            explore->doing = NULL;
        if (document != NULL)
            answers[i].take(model, document);
        else
            fail(model, error);
        if (error != NULL && answers[i].take == take_new_lease)
            lose_lease(model);
        return;
    }
}

gboolean
explore_tick(Model *model)
{
    Explore *explore = model->explore;
    gint64 now_us = g_get_monotonic_time();
    if (explore == NULL || explore->lease == 0)
        return FALSE;
    if (explore->record_until_us != 0 && now_us >= explore->record_until_us) {
        explore->record_until_us = 0;
        explore->ends_after_dump = TRUE;
        dump(model, NULL);
    } else if (explore->ends_after_dump && explore->asked_dump == 0) {
        explore->ends_after_dump = FALSE;
        end_lease(model);
    } else if (explore->asked_lease == 0 && now_us - explore->renewed_us >= EXPLORE_RENEW_S * G_USEC_PER_SEC) {
        g_autofree char *path =
            g_strdup_printf("/profiling/leases/%" G_GUINT64_FORMAT "?for=%us", explore->lease, EXPLORE_LEASE_S);
        explore->renewed_us = now_us;
        explore->asked_lease = ask(model, "PUT", path);
    }
    return TRUE;
}

void
explore_close(Model *model)
{
    explore_end(model);
    if (model->explore != NULL)
        free_explore(g_steal_pointer(&model->explore));
}

/* A lease that was requested but not yet granted expires by itself. */
gboolean
explore_end(Model *model)
{
    if (model->explore != NULL && model->explore->lease != 0)
        end_lease(model);
    return explore_is_ending(model);
}

gboolean
explore_is_ending(const Model *model)
{
    return model->explore != NULL && model->explore->asked_end != 0;
}

char *
explore_state(const Model *model)
{
    const Explore *explore = model->explore;
    if (explore == NULL)
        return NULL;
    if (explore->doing != NULL)
        return g_strdup(explore->doing);
    if (explore->lease == 0)
        return NULL;
    gint64 left_us = explore->record_until_us - g_get_monotonic_time();
    return explore->record_until_us != 0
               ? g_strdup_printf("profiling for %" G_GINT64_FORMAT " s more", MAX(left_us, 0) / G_USEC_PER_SEC)
               : g_strdup("profiling is enabled: E ends it");
}
