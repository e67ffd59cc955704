/* SPDX-License-Identifier: Apache-2.0 */
#include "export/otlp.h"

#include "export/series.h"
#include "report/proto.h"

#include <string.h>

enum {
    NS_PER_US = 1000,
    CUMULATIVE = 2, /* AggregationTemporality */
    WIRE_VARINT = 0,
    WIRE_LENGTH = 2,
};

/* ---- attributes ---- */

static void
add_attribute(GByteArray *to, guint field, const char *key, GByteArray *value)
{
    g_autoptr(GByteArray) pair = g_byte_array_new();
    proto_string(pair, 1, key);
    proto_message(pair, 2, value);
    proto_message(to, field, pair);
}

static void
add_text(GByteArray *to, guint field, const char *key, const char *text)
{
    g_autoptr(GByteArray) value = g_byte_array_new();
    if (text[0] == '\0')
        return;
    proto_string(value, 1, text);
    add_attribute(to, field, key, value);
}

static void
add_number(GByteArray *to, guint field, const char *key, guint64 number)
{
    g_autoptr(GByteArray) value = g_byte_array_new();
    if (number == 0)
        return;
    proto_uint(value, 3, number);
    add_attribute(to, field, key, value);
}

/* The name of a label in OpenTelemetry's semantic conventions. */
static const char *
attribute_name(const char *label)
{
    static const char *const names[][2] = {{"container", "container.id"}, {"pod", "k8s.pod.uid"}};
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
        if (strcmp(names[i][0], label) == 0)
            return names[i][1];
    return label;
}

GByteArray *
otlp_resource(const Batch *batch)
{
    const BatchDump *dump = &batch->dump;
    GByteArray *resource = g_byte_array_new();
    g_autofree char *instance = g_strdup_printf("%s:%" G_GUINT64_FORMAT, dump->host, dump->pid);
    add_text(resource, 1, "service.name", dump->service);
    add_text(resource, 1, "service.instance.id", instance);
    add_text(resource, 1, "host.name", dump->host);
    add_number(resource, 1, "process.pid", dump->pid);
    add_text(resource, 1, "process.executable.path", dump->program);
    /* Labels cannot contain '.', so they do not collide with these names. */
    for (gsize i = 0; i < batch->n_labels; i++)
        add_text(resource, 1, attribute_name(batch->labels[i].name), batch->labels[i].value);
    return resource;
}

GByteArray *
otlp_scope(void)
{
    GByteArray *scope = g_byte_array_new();
    proto_string(scope, 1, "jescope");
    return scope;
}

/* ---- metrics ---- */

typedef struct {
    const Batch *batch;
    GByteArray *metrics; /* a ScopeMetrics */
} Writing;

static void
write_metric(const SeriesPoint *series, gpointer data)
{
    const Writing *writing = data;
    g_autoptr(GByteArray) point = g_byte_array_new(), numbers = g_byte_array_new(), metric = g_byte_array_new();
    guint64 bits;
    memcpy(&bits, &series->amount, sizeof(bits));
    proto_fixed(point, 3, (guint64)writing->batch->dump.time * NS_PER_US);
    proto_fixed(point, 4, bits);
    if (series->name != NULL)
        add_text(point, 7, series->name, series->value);
    proto_message(numbers, 1, point);
    if (series->counter) {
        proto_uint(numbers, 2, CUMULATIVE);
        proto_uint(numbers, 3, TRUE);
    }
    proto_string(metric, 1, series->family);
    proto_message(metric, series->counter ? 7 : 5, numbers);
    proto_message(writing->metrics, 2, metric);
}

GByteArray *
otlp_metrics(const Batch *batch)
{
    g_autoptr(GByteArray) resource = otlp_resource(batch), scope = otlp_scope();
    g_autoptr(GByteArray) metrics = g_byte_array_new(), of_resource = g_byte_array_new();
    GByteArray *request = g_byte_array_new();
    const Writing writing = {batch, metrics};
    proto_message(metrics, 1, scope);
    series_foreach(batch, write_metric, (gpointer)(gsize)&writing);
    proto_message(of_resource, 1, resource);
    proto_message(of_resource, 2, metrics);
    proto_message(request, 1, of_resource);
    return request;
}

/* ---- answers ---- */

typedef struct {
    const guint8 *at, *end;
} Bytes;

static gboolean
read_varint(Bytes *bytes, guint64 *value)
{
    enum { BITS = 7, MOST = 64 };
    *value = 0;
    for (guint shift = 0; bytes->at < bytes->end && shift < MOST; shift += BITS) {
        const guint8 byte = *bytes->at++;
        *value |= (guint64)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return TRUE;
    }
    return FALSE;
}

/* Reads field 1 of BYTES: a number to *NUMBER, or a message to *PART. FALSE if BYTES does not begin with it. */
static gboolean
read_first(Bytes *bytes, guint wire, guint64 *number, Bytes *part)
{
    guint64 tag;
    if (!read_varint(bytes, &tag) || tag != (1U << 3 | wire) || !read_varint(bytes, number))
        return FALSE;
    if (wire == WIRE_VARINT)
        return TRUE;
    if (*number > (guint64)(bytes->end - bytes->at))
        return FALSE;
    *part = (Bytes){bytes->at, bytes->at + *number};
    return TRUE;
}

guint64
otlp_rejected(const char *body, gsize length)
{
    Bytes whole = {(const guint8 *)body, (const guint8 *)body + length}, partial, none;
    guint64 number;
    if (!read_first(&whole, WIRE_LENGTH, &number, &partial) || !read_first(&partial, WIRE_VARINT, &number, &none))
        return 0;
    return number;
}
