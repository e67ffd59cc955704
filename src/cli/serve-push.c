/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/serve-push.h"

#include "cli/command.h"
#include "cli/duration.h"
#include "cli/push-every.h"
#include "cli/size.h"

#include "export/destination.h"

#include <string.h>
#include <unistd.h>

#define SECTION "push"
/* For root's server, like the black box's directory. */
#define SERVER_QUEUE "/var/lib/jescope-serve/push"

typedef enum { KEY_TEXT, KEY_LIST, KEY_SIZE, KEY_DURATION, KEY_COUNT } KeyKind;

/* The keys have the names of the options of `jescope push`. */
static const struct {
    const char *name;
    KeyKind kind;
    gsize offset;
} keys[] = {
#define MEMBER(member) G_STRUCT_OFFSET(ServicePush, member)
    {"to", KEY_TEXT, MEMBER(to)},
    {"targets", KEY_LIST, MEMBER(targets)},
    {"every", KEY_DURATION, MEMBER(schedule.every_us)},
    {"per-service", KEY_COUNT, MEMBER(schedule.per_service)},
    {"dump-share", KEY_COUNT, MEMBER(schedule.dump_share)},
    {"service", KEY_TEXT, MEMBER(service)},
    {"host", KEY_TEXT, MEMBER(host)},
    {"label", KEY_LIST, MEMBER(labels)},
    {"label-from-env", KEY_LIST, MEMBER(variables)},
    {"queue", KEY_TEXT, MEMBER(queue)},
    {"queue-size", KEY_SIZE, MEMBER(queue_size)},
    {"token-file", KEY_TEXT, MEMBER(token_file)},
    {"ca-file", KEY_TEXT, MEMBER(ca_file)},
    {"cert-file", KEY_TEXT, MEMBER(cert_file)},
    {"key-file", KEY_TEXT, MEMBER(key_file)},
#undef MEMBER
};

enum { COUNT_MAX = 1000000 };

gboolean
serve_push_is_section(const char *group)
{
    return g_str_has_prefix(group, SECTION) && (group[strlen(SECTION)] == '\0' || group[strlen(SECTION)] == ' ');
}

static gboolean
take_duration(const char *text, gint64 *value, GError **error)
{
    guint64 ms = 0;
    if (!duration_parse(text, "every", &ms, error))
        return FALSE;
    *value = (gint64)ms * 1000;
    return TRUE;
}

static gboolean
take_count(const char *text, const char *name, guint *value, GError **error)
{
    guint64 number;
    if (!g_ascii_string_to_unsigned(text, 10, 0, COUNT_MAX, &number, NULL)) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "%s: invalid number '%s'; it must be from 0 to %d", name, text,
                    COUNT_MAX);
        return FALSE;
    }
    *value = (guint)number;
    return TRUE;
}

static gboolean
take_key(GKeyFile *file, gsize key, ServicePush *push, GError **error)
{
    gpointer member = G_STRUCT_MEMBER_P(push, keys[key].offset);
    const char *name = keys[key].name;
    if (keys[key].kind == KEY_LIST) {
        *(char ***)member = g_key_file_get_string_list(file, push->section, name, NULL, error);
        return *(char ***)member != NULL;
    }
    g_autofree char *text = g_key_file_get_string(file, push->section, name, error);
    if (text == NULL)
        return FALSE;
    switch (keys[key].kind) {
    case KEY_SIZE:
        return size_parse(text, name, member, error);
    case KEY_DURATION:
        return take_duration(text, member, error);
    case KEY_COUNT:
        return take_count(text, name, member, error);
    default:
        g_free(*(char **)member);
        *(char **)member = g_steal_pointer(&text);
        return TRUE;
    }
}

static gboolean
find_key(const char *name, gsize *key)
{
    for (*key = 0; *key < G_N_ELEMENTS(keys); ++*key)
        if (strcmp(keys[*key].name, name) == 0)
            return TRUE;
    return FALSE;
}

static gboolean
take_keys(GKeyFile *file, ServicePush *push, GError **error)
{
    g_auto(GStrv) given = g_key_file_get_keys(file, push->section, NULL, NULL);
    for (char **name = given; *name != NULL; name++) {
        gsize key;
        if (!find_key(*name, &key)) {
            g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                        "unknown key '%s'; keys are options of 'jescope push' without '--', and targets", *name);
            return FALSE;
        }
        if (!take_key(file, key, push, error))
            return FALSE;
    }
    return TRUE;
}

static ServicePush *
new_push(const char *section)
{
    ServicePush *push = g_new0(ServicePush, 1);
    push->section = g_strdup(section);
    push->host = g_strdup(g_get_host_name());
    push->queue = geteuid() == 0 ? g_strdup(SERVER_QUEUE) : push_queue_default();
    push->queue_size = PUSH_QUEUE_BYTES;
    push->schedule = (Schedule){.every_us = PUSH_EVERY_US, .dump_share = 1};
    return push;
}

static gboolean
check(const ServicePush *push, GError **error)
{
    const ExportAccess none = {0};
    if (push->to == NULL) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "a URL is needed: to=clickhouse://localhost:8123/jescope");
        return FALSE;
    }
    g_autoptr(Destination) destination = destination_new(push->to, &none, error);
    return destination != NULL && push_schedule_check(&push->schedule, error);
}

static gboolean
is_taken(const GPtrArray *pushes, const ServicePush *push, GError **error)
{
    for (guint i = 0; i < pushes->len; i++) {
        const ServicePush *other = pushes->pdata[i];
        if (!g_str_equal(other->to, push->to))
            continue;
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "[%s] pushes to '%s' already", other->section, push->to);
        return TRUE;
    }
    return FALSE;
}

static void
free_push(gpointer push)
{
    service_push_free(push);
}

GPtrArray *
serve_push_read(GKeyFile *file, const char *name, GError **error)
{
    g_autoptr(GPtrArray) pushes = g_ptr_array_new_with_free_func(free_push);
    g_auto(GStrv) groups = g_key_file_get_groups(file, NULL);
    for (char **group = groups; *group != NULL; group++) {
        if (!serve_push_is_section(*group))
            continue;
        g_autoptr(ServicePush) push = new_push(*group);
        g_autoptr(GError) cause = NULL;
        if (!take_keys(file, push, &cause) || !check(push, &cause) || is_taken(pushes, push, &cause)) {
            g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "%s: [%s]: %s", name, *group, cause->message);
            return NULL;
        }
        push->schedule.host = push->host;
        g_ptr_array_add(pushes, g_steal_pointer(&push));
    }
    return g_steal_pointer(&pushes);
}
