/* SPDX-License-Identifier: Apache-2.0 */
#include "blackbox/describe.h"

#include "text/duration.h"
#include "text/printable.h"
#include "text/size.h"

#include <jansson.h>
#include <string.h>

/* SIZE without its unit if OTHER has the same. */
static char *
without_unit(const char *size, const char *other)
{
    const char *unit = strchr(size, ' '), *same = strchr(other, ' ');
    return g_strcmp0(unit, same) == 0 ? g_strndup(size, (gsize)(unit - size)) : g_strdup(size);
}

char *
blackbox_format_used(guint64 used, guint64 limit)
{
    if (used == BLACKBOX_UNKNOWN)
        return g_strdup("unknown memory");
    g_autofree char *memory = size_format(used);
    if (limit == BLACKBOX_UNKNOWN)
        return g_steal_pointer(&memory);
    g_autofree char *whole = size_format(limit);
    g_autofree char *part = without_unit(memory, whole);
    return g_strdup_printf("%s of %s", part, whole);
}

static char *
describe_cause(const BlackboxEnd *end)
{
    switch (end->cause) {
    case BLACKBOX_CAUSE_OOM:
        return g_strdup("killed by OOM");
    case BLACKBOX_CAUSE_OOM_LIKELY:
        return g_strdup("killed (SIGKILL), probably by OOM,");
    case BLACKBOX_CAUSE_SIGNAL:
        return g_strdup_printf("ended by signal %d (%s)", end->number, g_strsignal(end->number));
    case BLACKBOX_CAUSE_EXIT:
        return g_strdup_printf("exited with status %d", end->number);
    default:
        return end->unit_result[0] != '\0' ? g_strdup_printf("ended (its unit: %s)", end->unit_result)
                                           : g_strdup("ended for an unknown reason");
    }
}

char *
blackbox_describe_end(const BlackboxEnd *end, gint64 profile_us)
{
    g_autofree char *cause = describe_cause(end);
    g_autofree char *memory = blackbox_format_used(end->used, end->limit);
    g_autofree char *age =
        profile_us != 0 ? duration_format((guint64)MAX(end->time_us - profile_us, 0) / 1000) : g_strdup("");
    return g_strdup_printf("%s at %s, %s%s%s", cause, memory, profile_us != 0 ? "last profile " : "no profile", age,
                           profile_us != 0 ? " old" : "");
}

const BlackboxSnapshot *
blackbox_last_dump(const BlackboxLife *life)
{
    for (guint i = life->snapshots->len; i > 0; i--) {
        const BlackboxSnapshot *snapshot = life->snapshots->pdata[i - 1];
        if (snapshot->dump != NULL)
            return snapshot;
    }
    return NULL;
}

const char *
blackbox_state_word(const BlackboxLife *life)
{
    if (life->has_end)
        return blackbox_cause_name(life->end.cause);
    if (!life->alive)
        return "lost";
    return life->watched ? "watched" : "runs";
}

char *
blackbox_describe_life(const BlackboxLife *life)
{
    const BlackboxSnapshot *last = blackbox_last_dump(life);
    if (life->has_end)
        return blackbox_describe_end(&life->end, last != NULL ? last->time_us : 0);
    if (!life->alive)
        return g_strdup("ended while it was not watched, so the cause is unknown");
    return g_strdup(life->watched ? "runs and is watched" : "runs, but is not watched any more");
}

/* ---- JSON ---- */

static json_t *
json_bytes(guint64 bytes)
{
    return bytes != BLACKBOX_UNKNOWN ? json_integer((json_int_t)bytes) : json_null();
}

static json_t *
json_time(gint64 time_us)
{
    g_autoptr(GDateTime) whole = g_date_time_new_from_unix_utc(time_us / G_USEC_PER_SEC);
    g_autoptr(GDateTime) time = whole != NULL ? g_date_time_add(whole, time_us % G_USEC_PER_SEC) : NULL;
    g_autofree char *text = time != NULL ? g_date_time_format(time, "%FT%H:%M:%S.%fZ") : NULL;
    return text != NULL ? json_string(text) : json_null();
}

static json_t *
json_text(const char *text)
{
    return text != NULL ? json_string(text) : json_null();
}

/* Its directory's name may contain any bytes. */
static json_t *
json_path(const char *path)
{
    g_autofree char *text = path != NULL ? text_printable(path) : NULL;
    return json_text(text);
}

static json_t *
snapshot_json(const BlackboxSnapshot *snapshot)
{
    const BlackboxMemory *memory = &snapshot->memory;
    return json_pack(
        "{s:i, s:o, s:f, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "number", (int)snapshot->number,
        "time", json_time(snapshot->time_us), "took", (double)snapshot->took_us / G_USEC_PER_SEC, "reason",
        snapshot->reason, "used", json_bytes(memory->used), "limit", json_bytes(memory->limit), "rss",
        json_bytes(memory->rss), "resident", json_bytes(memory->resident), "active", json_bytes(memory->active),
        "allocated", json_bytes(memory->allocated), "held", json_bytes(memory->held), "dump", json_path(snapshot->dump),
        "dump_bytes", json_integer((json_int_t)snapshot->dump_bytes), "missing", json_text(snapshot->missing));
}

static json_t *
json_known(const char *text)
{
    return json_text(text[0] != '\0' ? text : NULL);
}

static json_t *
end_json(const BlackboxEnd *end)
{
    return json_pack("{s:o, s:s, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "time", json_time(end->time_us), "cause",
                     blackbox_cause_name(end->cause), "number", end->number, "used", json_bytes(end->used), "limit",
                     json_bytes(end->limit), "read", json_time(end->read_us), "oom_kills_before",
                     json_bytes(end->kills_before), "oom_kills_after", json_bytes(end->kills_after), "unit",
                     json_known(end->unit), "unit_result", json_known(end->unit_result));
}

char *
blackbox_json(const BlackboxLife *life)
{
    json_t *snapshots = json_array();
    for (guint i = 0; i < life->snapshots->len; i++)
        json_array_append_new(snapshots, snapshot_json(life->snapshots->pdata[i]));
    g_autofree char *id = blackbox_life_id(life);
    g_autofree char *summary = blackbox_describe_life(life);
    json_t *document =
        json_pack("{s:s, s:s, s:i, s:o, s:s, s:s, s:o, s:o, s:o}", "id", id, "name", life->name, "pid", (int)life->pid,
                  "uid", life->user != (uid_t)-1 ? json_integer(life->user) : json_null(), "state",
                  blackbox_state_word(life), "summary", summary, "directory", json_path(life->directory), "end",
                  life->has_end ? end_json(&life->end) : json_null(), "snapshots", snapshots);
    char *text = json_dumps(document, JSON_COMPACT | JSON_ENSURE_ASCII);
    json_decref(document);
    return text;
}
