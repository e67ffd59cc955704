/* SPDX-License-Identifier: Apache-2.0 */
#include "client/document.h"

#include "target/target.h"
#include "text/printable.h"

#include <unistd.h>

enum {
    VALUES_MAX = 256 << 20, /* approximate memory of the values without their texts */
    OBJECT_BYTES = 512,
    ARRAY_BYTES = 256,
    VALUE_BYTES = 64,
};

/* The memory for a value that begins with, or follows, BYTE. */
static gsize
weight_of(char byte)
{
    return byte == '{' ? OBJECT_BYTES : byte == '[' ? ARRAY_BYTES : byte == ',' || byte == ':' ? VALUE_BYTES : 0;
}

gsize
document_weight(const char *text, gsize length)
{
    gsize bytes = 0;
    gboolean quoted = FALSE;
    for (gsize i = 0; i < length; i++)
        if (text[i] == '"')
            quoted = !quoted;
        else if (text[i] == '\\' && quoted)
            i++;
        else if (!quoted)
            bytes += weight_of(text[i]);
    return bytes;
}

json_t *
document_parse(const char *text, gsize length, GError **error)
{
    if (document_weight(text, length) > VALUES_MAX) {
        g_set_error_literal(error, TARGET_ERROR, OUTCOME_TOO_LARGE, "the answer holds too many values");
        return NULL;
    }
    json_t *document = json_loadb(text, length, 0, NULL);
    if (document == NULL)
        g_set_error_literal(error, TARGET_ERROR, OUTCOME_PROTOCOL, "the answer is not valid JSON");
    return document;
}

char *
document_read(int descriptor, gsize *length, GError **error)
{
    off_t size = lseek(descriptor, 0, SEEK_END);
    g_autofree char *text = g_malloc((gsize)MAX(size, 0) + 1);
    gboolean whole = size >= 0 && pread(descriptor, text, (gsize)size, 0) == size;
    close(descriptor);
    if (!whole) {
        g_set_error_literal(error, TARGET_ERROR, OUTCOME_SYSTEM, "the answer cannot be read");
        return NULL;
    }
    text[size] = '\0';
    *length = (gsize)size;
    return g_steal_pointer(&text);
}

void
document_text(const json_t *object, const char *key, char *text, gsize size)
{
    const char *value = json_string_value(json_object_get(object, key));
    g_strlcpy(text, value != NULL ? value : "", size);
    text_clean_line(text, size);
}

static guint64
take_number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    gdouble number = json_number_value(value);
    return json_is_integer(value)        ? (guint64)json_integer_value(value)
           : number > 0 && number < 9e15 ? (guint64)number
                                         : 0;
}

/* Converts seconds to a unit with SCALE per second. */
static guint64
take_seconds(const json_t *object, const char *key, gdouble scale)
{
    gdouble scaled = json_number_value(json_object_get(object, key)) * scale;
    return scaled > 0 && scaled < (gdouble)G_MAXINT64 ? (guint64)scaled : 0;
}

gboolean
document_lease(const json_t *profiling, WireLease *lease)
{
    const json_t *given = json_object_get(profiling, "lease");
    guint64 bytes = take_number(given, "restores_sample_bytes");
    *lease = (WireLease){.id = take_number(given, "id"),
                         .remaining_ms = take_seconds(given, "remaining_seconds", 1e3),
                         .active = json_is_true(json_object_get(given, "active")),
                         .restores = json_is_true(json_object_get(given, "restores"))};
    if (bytes != 0)
        lease->period = (guint8)(g_bit_nth_msf((gulong)bytes, -1) + 1);
    return given != NULL;
}

static guint32
take_flags(const json_t *jemalloc, const json_t *profiling)
{
    static const struct {
        const char *key;
        WireFlag flag;
    } flags[] = {{"serves_malloc", WIRE_FLAG_SERVES_MALLOC},
                 {"config_prof", WIRE_FLAG_CONFIG_PROF},
                 {"config_stats", WIRE_FLAG_CONFIG_STATS},
                 {"opt_prof", WIRE_FLAG_OPT_PROF}};
    guint32 taken = json_is_true(json_object_get(profiling, "active")) ? WIRE_FLAG_PROF_ACTIVE : 0;
    if (g_strcmp0(json_string_value(json_object_get(profiling, "sampler")), "jescope") == 0)
        taken |= WIRE_FLAG_SAMPLER_READY | WIRE_FLAG_SAMPLER_SERVES;
    for (gsize i = 0; i < G_N_ELEMENTS(flags); i++)
        if (json_is_true(json_object_get(jemalloc, flags[i].key)))
            taken |= flags[i].flag;
    return taken;
}

static WireSince
take_since(const json_t *profiling)
{
    const char *since = json_string_value(json_object_get(profiling, "since"));
    if (g_strcmp0(since, "start") == 0)
        return WIRE_SINCE_START;
    return g_strcmp0(since, "agent") == 0 ? WIRE_SINCE_AGENT : WIRE_SINCE_UNKNOWN;
}

static WireSamplerFigures
take_sampler(const json_t *profiling)
{
    const json_t *figures = json_object_get(profiling, "sampler_figures");
    const guint64 period = take_number(figures, "period_bytes");
    return (WireSamplerFigures){.lost = take_number(figures, "lost"),
                                .lost_bytes = take_number(figures, "lost_bytes"),
                                .without_stack = take_number(figures, "without_stack"),
                                .doublings = (guint32)take_number(figures, "doublings"),
                                .lg = period != 0 ? (guint32)g_bit_nth_msf((gulong)period, -1) : 0};
}

gboolean
document_hello(const json_t *status, WireHelloReply *hello)
{
    const json_t *agent = json_object_get(status, "agent");
    const json_t *jemalloc = json_object_get(status, "jemalloc");
    const json_t *profiling = json_object_get(status, "profiling");
    *hello = (WireHelloReply){.pid = (gint32)take_number(status, "pid"),
                              .uid = (guint32)take_number(status, "uid"),
                              .agent_clients = (guint32)take_number(agent, "clients"),
                              .flags = take_flags(jemalloc, profiling),
                              .since = take_since(profiling),
                              .active_since_ns = take_seconds(profiling, "active_since", 1e9),
                              .reset_at_ns = take_seconds(profiling, "reset_at", 1e9),
                              .sampler = take_sampler(profiling)};
    document_text(status, "name", hello->name, sizeof(hello->name));
    document_text(agent, "version", hello->agent_version, sizeof(hello->agent_version));
    document_text(jemalloc, "version", hello->jemalloc_version, sizeof(hello->jemalloc_version));
    document_text(jemalloc, "prefix", hello->prefix, sizeof(hello->prefix));
    document_text(jemalloc, "found_in", hello->found_in, sizeof(hello->found_in));
    document_lease(profiling, &hello->lease);
    return hello->name[0] != '\0' && json_is_object(jemalloc) && json_is_object(profiling);
}

static void
take_figures(const json_t *sample, RouteStatus *status)
{
    status->sampled_ms = take_seconds(sample, "time", 1e3);
    for (guint i = 0; i < STATUS_FIGURES; i++)
        if (json_is_integer(json_object_get(sample, status_figure_name(i))))
            status->figures[i] = take_number(sample, status_figure_name(i));
}

gboolean
document_status(const json_t *document, RouteStatus *status, DocumentTexts *texts)
{
    WireHelloReply hello;
    status_init(status);
    document_text(document, "name", texts->name, sizeof(texts->name));
    document_text(document, "series", texts->series, sizeof(texts->series));
    document_text(document, "state", texts->state, sizeof(texts->state));
    document_text(document, "reach", texts->reach, sizeof(texts->reach));
    document_text(document, "user", texts->user, sizeof(texts->user));
    document_text(document, "arguments", texts->arguments, sizeof(texts->arguments));
    document_text(document, "control_group", texts->control_group, sizeof(texts->control_group));
    document_text(document, "unique", status->unique, sizeof(status->unique));
    document_text(document, "trouble", status->trouble, sizeof(status->trouble));
    document_text(document, "notice", status->notice, sizeof(status->notice));
    status->pid = (gint64)MIN(take_number(document, "pid"), G_MAXINT32);
    status->uid = (guint32)take_number(document, "uid");
    status->name = texts->name;
    status->series = texts->series;
    status->state = texts->state;
    status->reach = texts->reach;
    status->user = texts->user;
    status->arguments = texts->arguments;
    status->control_group = texts->control_group;
    if (document_hello(document, &hello))
        status_set_hello(status, &hello);
    status->sample_bytes = take_number(json_object_get(document, "profiling"), "sample_bytes");
    status->is_recording = json_is_object(json_object_get(document, "recording"));
    take_figures(json_object_get(document, "sample"), status);
    return texts->name[0] != '\0' && status->unique[0] != '\0';
}
