/* SPDX-License-Identifier: Apache-2.0 */
#include "blackbox/record.h"

#include "confine/rights.h"
#include "text/printable.h"

#include <stddef.h>
#include <string.h>

static const char snapshot_group[] = "snapshot", end_group[] = "end", process_group[] = "process";

static const char *const causes[BLACKBOX_CAUSES] = {"unknown", "oom-kill", "likely-oom-kill", "signal", "exit"};

static const struct {
    const char *key;
    gsize field;
} figures[] = {
    {"used", offsetof(BlackboxMemory, used)},     {"limit", offsetof(BlackboxMemory, limit)},
    {"rss", offsetof(BlackboxMemory, rss)},       {"resident", offsetof(BlackboxMemory, resident)},
    {"active", offsetof(BlackboxMemory, active)}, {"allocated", offsetof(BlackboxMemory, allocated)},
    {"held", offsetof(BlackboxMemory, held)},
};

G_DEFINE_QUARK(blackbox - error - quark, blackbox_error)

const char *
blackbox_cause_name(BlackboxCause cause)
{
    return causes[cause];
}

void
blackbox_snapshot_free(BlackboxSnapshot *snapshot)
{
    if (snapshot == NULL)
        return;
    g_free(snapshot->reason);
    g_free(snapshot->dump);
    g_free(snapshot->missing);
    g_free(snapshot);
}

void
record_process_clear(RecordProcess *process)
{
    g_clear_pointer(&process->name, g_free);
    g_clear_pointer(&process->boot, g_free);
}

/* ---- writing ---- */

static void
put_known(GKeyFile *file, const char *group, const char *key, guint64 bytes)
{
    if (bytes != BLACKBOX_UNKNOWN)
        g_key_file_set_uint64(file, group, key, bytes);
}

static void
put_process(GKeyFile *file, const RecordProcess *process)
{
    g_key_file_set_string(file, process_group, "name", process->name);
    g_key_file_set_string(file, process_group, "boot", process->boot);
    if (process->user != (uid_t)-1)
        g_key_file_set_uint64(file, process_group, "user", process->user);
}

char *
record_of_snapshot(const BlackboxSnapshot *snapshot, const RecordProcess *process)
{
    g_autoptr(GKeyFile) file = g_key_file_new();
    g_key_file_set_int64(file, snapshot_group, "time-us", snapshot->time_us);
    g_key_file_set_int64(file, snapshot_group, "took-us", snapshot->took_us);
    g_key_file_set_string(file, snapshot_group, "reason", snapshot->reason);
    for (gsize i = 0; i < G_N_ELEMENTS(figures); i++)
        put_known(file, snapshot_group, figures[i].key,
                  *(const guint64 *)(gconstpointer)((const char *)&snapshot->memory + figures[i].field));
    g_key_file_set_uint64(file, snapshot_group, "owner", snapshot->owner);
    if (snapshot->sole_user != (uid_t)-1)
        g_key_file_set_uint64(file, snapshot_group, "sole-user", snapshot->sole_user);
    if (snapshot->missing != NULL)
        g_key_file_set_string(file, snapshot_group, "missing", snapshot->missing);
    put_process(file, process);
    return g_key_file_to_data(file, NULL, NULL);
}

char *
record_of_end(const BlackboxEnd *end, const RecordProcess *process)
{
    g_autoptr(GKeyFile) file = g_key_file_new();
    g_key_file_set_int64(file, end_group, "time-us", end->time_us);
    g_key_file_set_string(file, end_group, "cause", causes[end->cause]);
    g_key_file_set_integer(file, end_group, "number", end->number);
    put_known(file, end_group, "used", end->used);
    put_known(file, end_group, "limit", end->limit);
    g_key_file_set_int64(file, end_group, "read-us", end->read_us);
    put_known(file, end_group, "oom-kills-before", end->kills_before);
    put_known(file, end_group, "oom-kills-after", end->kills_after);
    if (end->unit_result[0] != '\0') {
        g_key_file_set_string(file, end_group, "unit", end->unit);
        g_key_file_set_string(file, end_group, "unit-result", end->unit_result);
    }
    put_process(file, process);
    return g_key_file_to_data(file, NULL, NULL);
}

/* ---- reading ---- */

static guint64
get_known(GKeyFile *file, const char *group, const char *key)
{
    g_autoptr(GError) missing = NULL;
    guint64 value = g_key_file_get_uint64(file, group, key, &missing);
    return missing != NULL ? BLACKBOX_UNKNOWN : value;
}

static uid_t
get_user(GKeyFile *file, const char *group, const char *key, uid_t otherwise)
{
    const guint64 user = get_known(file, group, key);
    return user < (uid_t)-1 ? (uid_t)user : otherwise;
}

enum { LINE_BYTES = 1024 };

/* The printable text of KEY, of which the first LINE_BYTES bytes are read; NULL: GROUP has no such key. To be freed. */
static char *
get_line(GKeyFile *file, const char *group, const char *key)
{
    g_autofree char *value = g_key_file_get_string(file, group, key, NULL);
    g_autofree char *start = g_strndup(value, LINE_BYTES);
    return start != NULL ? text_printable(start) : NULL;
}

static gboolean
get_time(GKeyFile *file, const char *group, const char *key, gint64 *time_us)
{
    g_autoptr(GError) missing = NULL;
    *time_us = g_key_file_get_int64(file, group, key, &missing);
    return missing == NULL && *time_us >= 0;
}

/* Like get_line(), but into a buffer of SIZE bytes: empty if the line is missing or does not fit. */
static void
get_short_line(GKeyFile *file, const char *key, char *line, gsize size)
{
    g_autofree char *value = get_line(file, end_group, key);
    if (value == NULL || g_strlcpy(line, value, size) >= size)
        line[0] = '\0';
}

static gboolean
set_damaged(GError **error)
{
    g_set_error(error, BLACKBOX_ERROR, BLACKBOX_ERROR_FORMAT, "it is not a key file of the black box, or damaged");
    return FALSE;
}

static GKeyFile *
parse(const char *text, gsize length, RecordProcess *process)
{
    g_autoptr(GKeyFile) file = g_key_file_new();
    if (length > RECORD_MAX || !g_key_file_load_from_data(file, text, length, G_KEY_FILE_NONE, NULL))
        return NULL;
    process->name = get_line(file, process_group, "name");
    process->boot = get_line(file, process_group, "boot");
    process->user = get_user(file, process_group, "user", (uid_t)-1);
    return process->name != NULL && process->boot != NULL ? g_steal_pointer(&file) : NULL;
}

BlackboxSnapshot *
record_read_snapshot(const char *text, gsize length, RecordProcess *process, GError **error)
{
    g_autoptr(GKeyFile) file = parse(text, length, process);
    g_autoptr(BlackboxSnapshot) snapshot = g_new0(BlackboxSnapshot, 1);
    if (file == NULL || !get_time(file, snapshot_group, "time-us", &snapshot->time_us) ||
        !get_time(file, snapshot_group, "took-us", &snapshot->took_us) ||
        (snapshot->reason = get_line(file, snapshot_group, "reason")) == NULL) {
        set_damaged(error);
        return NULL;
    }
    for (gsize i = 0; i < G_N_ELEMENTS(figures); i++)
        *(guint64 *)(gpointer)((char *)&snapshot->memory + figures[i].field) =
            get_known(file, snapshot_group, figures[i].key);
    snapshot->missing = get_line(file, snapshot_group, "missing");
    snapshot->owner = get_user(file, snapshot_group, "owner", RIGHTS_NOBODY);
    snapshot->sole_user = get_user(file, snapshot_group, "sole-user", (uid_t)-1);
    return g_steal_pointer(&snapshot);
}

static gboolean
find_cause(const char *name, BlackboxCause *cause)
{
    for (guint i = 0; name != NULL && i < BLACKBOX_CAUSES; i++)
        if (strcmp(name, causes[i]) == 0) {
            *cause = (BlackboxCause)i;
            return TRUE;
        }
    return FALSE;
}

gboolean
record_read_end(const char *text, gsize length, BlackboxEnd *end, RecordProcess *process, GError **error)
{
    g_autoptr(GKeyFile) file = parse(text, length, process);
    g_autofree char *cause = file != NULL ? get_line(file, end_group, "cause") : NULL;
    *end = (BlackboxEnd){0};
    if (file == NULL || !find_cause(cause, &end->cause) || !get_time(file, end_group, "time-us", &end->time_us) ||
        !get_time(file, end_group, "read-us", &end->read_us))
        return set_damaged(error);
    end->number = g_key_file_get_integer(file, end_group, "number", NULL);
    end->used = get_known(file, end_group, "used");
    end->limit = get_known(file, end_group, "limit");
    end->kills_before = get_known(file, end_group, "oom-kills-before");
    end->kills_after = get_known(file, end_group, "oom-kills-after");
    get_short_line(file, "unit", end->unit, sizeof(end->unit));
    get_short_line(file, "unit-result", end->unit_result, sizeof(end->unit_result));
    return TRUE;
}
