/* SPDX-License-Identifier: Apache-2.0 */
#include "export/otlp.h"

#include "confine/keyed-hash.h"
#include "report/profile-proto.h"
#include "report/proto.h"
#include "report/units.h"

#include <string.h>

enum { /* field numbers of the tables of ProfilesDictionary */
       TABLE_MAPPING = 1,
       TABLE_LOCATION = 2,
       TABLE_FUNCTION = 3,
       TABLE_LINK = 4,
       TABLE_STRING = 5,
       TABLE_ATTRIBUTE = 6,
       TABLE_STACK = 7,
};

enum {
    NS_PER_US = 1000,
    ID_BYTES = BATCH_ID / 2,
};

/* The values and their units, one Profile each. */
static const struct {
    const char *name, *unit;
} types[] = {
    {"inuse_space", "bytes"}, {"inuse_objects", "count"}, {"alloc_space", "bytes"}, {"alloc_objects", "count"}};

typedef struct {
    guint32 function, system_name, file;
} FunctionKey;

typedef struct {
    const Batch *batch;
    GByteArray *dictionary, *message, *part;
    ProtoStrings *strings;
    GHashTable *functions; /* FunctionKey -> index */
    GArray *indexes;       /* guint64, scratch */
} Writing;

static guint
function_hash(gconstpointer key)
{
    return keyed_hash_bytes(key, sizeof(FunctionKey));
}

static gboolean
function_equal(gconstpointer a, gconstpointer b)
{
    return memcmp(a, b, sizeof(FunctionKey)) == 0;
}

/* Moves writing->message to a table. */
static void
add_row(Writing *writing, guint table)
{
    proto_message(writing->dictionary, table, writing->message);
    g_byte_array_set_size(writing->message, 0);
}

static guint64
string_of(Writing *writing, guint32 index)
{
    return proto_strings_index(writing->strings, writing->batch->strings[index]);
}

/* ---- the dictionary: element 0 of each table means "none" ---- */

static void
write_empty_rows(Writing *writing)
{
    static const guint tables[] = {TABLE_MAPPING, TABLE_LOCATION,  TABLE_FUNCTION,
                                   TABLE_LINK,    TABLE_ATTRIBUTE, TABLE_STACK};
    for (gsize i = 0; i < G_N_ELEMENTS(tables); i++)
        add_row(writing, tables[i]);
}

/* Mappings, and attributes with build ids, are numbered like objects, starting at 1. */
static void
write_object(Writing *writing, const BatchObject *object, guint64 index)
{
    const guint64 attribute = index + 1;
    g_byte_array_set_size(writing->part, 0);
    proto_string(writing->part, 1, object->build_id);
    proto_uint(writing->message, 1, proto_strings_index(writing->strings, "process.executable.build_id.gnu"));
    proto_message(writing->message, 2, writing->part);
    add_row(writing, TABLE_ATTRIBUTE);
    proto_uint(writing->message, 4, proto_strings_index(writing->strings, object->path));
    if (object->build_id[0] != '\0')
        proto_packed(writing->message, 5, &attribute, 1);
    add_row(writing, TABLE_MAPPING);
}

static guint64
function_of(Writing *writing, const BatchLine *line)
{
    const FunctionKey key = {line->function, line->system_name, line->file};
    guint64 index = GPOINTER_TO_SIZE(g_hash_table_lookup(writing->functions, &key));
    if (index != 0)
        return index;
    index = g_hash_table_size(writing->functions) + 1;
    g_hash_table_insert(writing->functions, g_memdup2(&key, sizeof(key)), GSIZE_TO_POINTER(index));
    proto_uint(writing->message, 1, string_of(writing, line->function));
    proto_uint(writing->message, 2, string_of(writing, line->system_name));
    proto_uint(writing->message, 3, string_of(writing, line->file));
    add_row(writing, TABLE_FUNCTION);
    return index;
}

static void
write_location(Writing *writing, const BatchLocation *location)
{
    const BatchLine *lines = writing->batch->lines + location->first_line;
    for (guint32 i = 0; i < location->n_lines; i++)
        function_of(writing, &lines[i]);
    if (location->object != BATCH_NONE)
        proto_uint(writing->message, 1, (guint64)location->object + 1);
    proto_uint(writing->message, 2, location->offset);
    for (guint32 i = 0; i < location->n_lines; i++) {
        const FunctionKey key = {lines[i].function, lines[i].system_name, lines[i].file};
        g_byte_array_set_size(writing->part, 0);
        proto_uint(writing->part, 1, GPOINTER_TO_SIZE(g_hash_table_lookup(writing->functions, &key)));
        proto_uint(writing->part, 2, lines[i].line);
        proto_message(writing->message, 3, writing->part);
    }
    add_row(writing, TABLE_LOCATION);
}

static void
write_stack(Writing *writing, const BatchStack *stack)
{
    g_array_set_size(writing->indexes, 0);
    for (guint32 i = 0; i < stack->depth; i++) {
        const guint64 location = (guint64)writing->batch->frames[stack->first + i] + 1;
        g_array_append_val(writing->indexes, location);
    }
    proto_packed(writing->message, 1, (const guint64 *)(gconstpointer)writing->indexes->data, writing->indexes->len);
    add_row(writing, TABLE_STACK);
}

static void
write_tables(Writing *writing)
{
    const Batch *batch = writing->batch;
    write_empty_rows(writing);
    for (gsize i = 0; i < batch->n_objects; i++)
        write_object(writing, &batch->objects[i], i);
    for (gsize i = 0; i < batch->n_locations; i++)
        write_location(writing, &batch->locations[i]);
    for (gsize i = 0; i < batch->n_stacks; i++)
        write_stack(writing, &batch->stacks[i]);
}

/* ---- profiles ---- */

static void
write_samples(Writing *writing, int value, GByteArray *profile)
{
    for (gsize i = 0; i < writing->batch->n_stacks; i++) {
        const guint64 amount = (guint64)units_round(batch_sample(writing->batch, i).estimate[value]);
        if (amount == 0)
            continue;
        g_byte_array_set_size(writing->part, 0);
        proto_uint(writing->part, 1, i + 1);
        proto_packed(writing->part, 4, &amount, 1);
        proto_message(profile, 2, writing->part);
    }
}

/* The profile's id: deterministic, and different for each type. */
static void
write_id(const BatchDump *dump, gsize type, GByteArray *profile)
{
    guint8 id[ID_BYTES];
    for (guint i = 0; i < ID_BYTES; i++)
        id[i] = (guint8)(g_ascii_xdigit_value(dump->id[2 * i]) << 4 | g_ascii_xdigit_value(dump->id[2 * i + 1]));
    id[ID_BYTES - 1] ^= (guint8)type;
    proto_bytes(profile, 7, id, sizeof(id));
}

static void
write_type(Writing *writing, guint field, const char *type, const char *unit, GByteArray *profile)
{
    g_byte_array_set_size(writing->part, 0);
    proto_value_type(writing->part, writing->strings, type, unit);
    proto_message(profile, field, writing->part);
}

static void
write_profiles(Writing *writing, GByteArray *of_scope)
{
    const BatchDump *dump = &writing->batch->dump;
    for (gsize i = 0; i < G_N_ELEMENTS(types); i++) {
        g_autoptr(GByteArray) profile = g_byte_array_new();
        const int value = batch_value(writing->batch, types[i].name);
        if (value < 0)
            continue;
        write_type(writing, 1, types[i].name, types[i].unit, profile);
        write_samples(writing, value, profile);
        proto_fixed(profile, 3, (guint64)dump->time * NS_PER_US);
        write_type(writing, 5, "allocated_bytes", "bytes", profile);
        proto_uint(profile, 6, dump->period);
        write_id(dump, i, profile);
        proto_message(of_scope, 2, profile);
    }
}

static void
write_strings(Writing *writing)
{
    const GPtrArray *strings = proto_strings_all(writing->strings);
    for (guint i = 0; i < strings->len; i++)
        proto_string(writing->dictionary, TABLE_STRING, strings->pdata[i]);
}

GByteArray *
otlp_profiles(const Batch *batch)
{
    g_autoptr(GByteArray) resource = otlp_resource(batch), scope = otlp_scope(), dictionary = g_byte_array_new();
    g_autoptr(GByteArray) of_scope = g_byte_array_new(), of_resource = g_byte_array_new();
    g_autoptr(GByteArray) message = g_byte_array_new(), part = g_byte_array_new();
    g_autoptr(ProtoStrings) strings = proto_strings_new();
    g_autoptr(GHashTable) functions = g_hash_table_new_full(function_hash, function_equal, g_free, NULL);
    g_autoptr(GArray) indexes = g_array_new(FALSE, FALSE, sizeof(guint64));
    Writing writing = {batch, dictionary, message, part, strings, functions, indexes};
    GByteArray *request = g_byte_array_new();
    write_tables(&writing);
    proto_message(of_scope, 1, scope);
    write_profiles(&writing, of_scope);
    write_strings(&writing);
    proto_message(of_resource, 1, resource);
    proto_message(of_resource, 2, of_scope);
    proto_message(request, 1, of_resource);
    proto_message(request, 2, dictionary);
    return request;
}
