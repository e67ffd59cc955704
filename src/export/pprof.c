/* SPDX-License-Identifier: Apache-2.0 */
#include "export/pprof.h"

#include "report/profile-proto.h"
#include "report/proto.h"
#include "report/units.h"

#include <gio/gio.h>
#include <string.h>

enum {
    MOST_VALUES = 4,
    NS_PER_US = 1000,
};

static const struct {
    const char *name, *unit;
} types[MOST_VALUES] = {
    {"alloc_objects", "count"}, {"alloc_space", "bytes"}, {"inuse_objects", "count"}, {"inuse_space", "bytes"}};

typedef struct {
    const Batch *batch;
    GByteArray *out, *message, *part;
    ProtoStrings *strings;
    guint64 *functions; /* function id of each line of the batch; 0: not written yet */
    guint64 *locations; /* id of each location of the batch; 0: not written yet */
    guint64 n_functions, n_locations;
    int values[MOST_VALUES]; /* indexes of the batch's values */
    guint n_values;
    GArray *ids; /* guint64, scratch */
} Pprof;

/* Appends pprof->message to the profile as FIELD. */
static void
flush(Pprof *pprof, guint field)
{
    proto_message(pprof->out, field, pprof->message);
    g_byte_array_set_size(pprof->message, 0);
}

static void
write_type(Pprof *pprof, guint field, const char *type, const char *unit)
{
    proto_value_type(pprof->message, pprof->strings, type, unit);
    flush(pprof, field);
}

static void
write_types(Pprof *pprof)
{
    for (guint i = 0; i < MOST_VALUES; i++) {
        int value = batch_value(pprof->batch, types[i].name);
        if (value < 0)
            continue;
        pprof->values[pprof->n_values++] = value;
        write_type(pprof, PROFILE_SAMPLE_TYPE, types[i].name, types[i].unit);
    }
}

/* ---- locations ---- */

static void
write_mappings(Pprof *pprof)
{
    const Batch *batch = pprof->batch;
    g_autofree guint64 *limits = g_new0(guint64, batch->n_objects + 1);
    for (gsize i = 0; i < batch->n_locations; i++)
        if (batch->locations[i].object != BATCH_NONE)
            limits[batch->locations[i].object] = MAX(limits[batch->locations[i].object], batch->locations[i].offset);
    for (gsize i = 0; i < batch->n_objects; i++) {
        proto_uint(pprof->message, 1, i + 1);
        proto_uint(pprof->message, 3, limits[i] < G_MAXUINT64 ? limits[i] + 1 : limits[i]);
        proto_uint(pprof->message, 5, proto_strings_index(pprof->strings, batch->objects[i].path));
        proto_uint(pprof->message, 6, proto_strings_index(pprof->strings, batch->objects[i].build_id));
        proto_uint(pprof->message, 7, 1); /* has_functions: readers need not symbolize again */
        flush(pprof, PROFILE_MAPPING);
    }
}

static guint64
write_function(Pprof *pprof, const char *name, const char *system_name, const char *file)
{
    proto_uint(pprof->message, 1, ++pprof->n_functions);
    proto_uint(pprof->message, 2, proto_strings_index(pprof->strings, name));
    proto_uint(pprof->message, 3, proto_strings_index(pprof->strings, system_name));
    proto_uint(pprof->message, 4, proto_strings_index(pprof->strings, file));
    flush(pprof, PROFILE_FUNCTION);
    return pprof->n_functions;
}

static guint64
function_of(Pprof *pprof, guint32 index)
{
    const char *const *strings = pprof->batch->strings;
    const BatchLine *line = &pprof->batch->lines[index];
    if (pprof->functions[index] == 0)
        pprof->functions[index] =
            write_function(pprof, strings[line->function], strings[line->system_name], strings[line->file]);
    return pprof->functions[index];
}

static guint64
location_of(Pprof *pprof, guint32 index)
{
    const BatchLocation *location = &pprof->batch->locations[index];
    if (pprof->locations[index] != 0)
        return pprof->locations[index];
    for (guint32 i = 0; i < location->n_lines; i++)
        function_of(pprof, location->first_line + i);
    proto_uint(pprof->message, 1, ++pprof->n_locations);
    if (location->object != BATCH_NONE)
        proto_uint(pprof->message, 2, (guint64)location->object + 1);
    proto_uint(pprof->message, 3, location->offset);
    for (guint32 i = 0; i < location->n_lines; i++) {
        g_byte_array_set_size(pprof->part, 0);
        proto_uint(pprof->part, 1, function_of(pprof, location->first_line + i));
        proto_uint(pprof->part, 2, pprof->batch->lines[location->first_line + i].line);
        proto_message(pprof->message, 4, pprof->part);
    }
    flush(pprof, PROFILE_LOCATION);
    return pprof->locations[index] = pprof->n_locations;
}

/* A location without an address. */
static guint64
location_called(Pprof *pprof, const char *name)
{
    guint64 function = write_function(pprof, name, name, "");
    proto_uint(pprof->message, 1, ++pprof->n_locations);
    g_byte_array_set_size(pprof->part, 0);
    proto_uint(pprof->part, 1, function);
    proto_message(pprof->message, 4, pprof->part);
    flush(pprof, PROFILE_LOCATION);
    return pprof->n_locations;
}

/* ---- samples ---- */

static void
write_sample(Pprof *pprof, const gdouble *amounts)
{
    guint64 values[MOST_VALUES];
    for (guint i = 0; i < pprof->n_values; i++)
        values[i] = (guint64)units_round(amounts[i]);
    proto_packed(pprof->message, 1, (const guint64 *)(gconstpointer)pprof->ids->data, pprof->ids->len);
    proto_packed(pprof->message, 2, values, pprof->n_values);
    flush(pprof, PROFILE_SAMPLE);
}

static void
amounts_of(const Pprof *pprof, gsize stack, gdouble amounts[MOST_VALUES])
{
    BatchSample sample = batch_sample(pprof->batch, stack);
    for (guint i = 0; i < pprof->n_values; i++)
        amounts[i] += sample.estimate[pprof->values[i]];
}

/* The number of locations, innermost first, that fit into DEPTH frames; one frame is reserved for the rest. */
static guint32
locations_within(const Batch *batch, const BatchStack *stack, gsize depth)
{
    gsize frames = 0;
    for (guint32 i = 0; i < stack->depth; i++) {
        frames += batch->locations[batch->frames[stack->first + i]].n_lines;
        if (frames > depth - (i + 1 < stack->depth))
            return i;
    }
    return stack->depth;
}

static void
write_stack(Pprof *pprof, gsize index, gsize depth, guint64 *outer, PprofRest *rest)
{
    const BatchStack *stack = &pprof->batch->stacks[index];
    gdouble amounts[MOST_VALUES] = {0};
    guint32 n = locations_within(pprof->batch, stack, depth);
    g_array_set_size(pprof->ids, 0);
    for (guint32 i = 0; i < n; i++) {
        guint64 id = location_of(pprof, pprof->batch->frames[stack->first + i]);
        g_array_append_val(pprof->ids, id);
    }
    if (n < stack->depth) {
        *outer = *outer != 0 ? *outer : location_called(pprof, "[outer frames]");
        g_array_append_val(pprof->ids, *outer);
        rest->cut++;
    }
    amounts_of(pprof, index, amounts);
    write_sample(pprof, amounts);
}

static gdouble
weight_of(const Batch *batch, gsize stack)
{
    static const char *const names[] = {"inuse_space", "alloc_space"};
    gdouble weight = 0;
    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        int value = batch_value(batch, names[i]);
        weight += value >= 0 ? batch_sample(batch, stack).estimate[value] / (i == 0 ? 1 : 1 << 20) : 0;
    }
    return weight;
}

typedef struct {
    gdouble weight;
    gsize stack;
} Ranked;

static gint
heavier(gconstpointer a, gconstpointer b)
{
    const Ranked *one = a, *other = b;
    return one->weight > other->weight   ? -1
           : one->weight < other->weight ? 1
           : one->stack < other->stack   ? -1
                                         : one->stack > other->stack;
}

static void
write_samples(Pprof *pprof, const PprofLimits *limits, PprofRest *rest)
{
    gsize n = pprof->batch->n_stacks, kept = n <= limits->samples ? n : limits->samples - 1;
    g_autofree Ranked *order = g_new(Ranked, n + 1);
    gdouble others[MOST_VALUES] = {0};
    guint64 outer = 0;
    for (gsize i = 0; i < n; i++)
        order[i] = (Ranked){weight_of(pprof->batch, i), i};
    qsort(order, n, sizeof(*order), heavier);
    for (gsize i = 0; i < kept; i++)
        write_stack(pprof, order[i].stack, limits->depth, &outer, rest);
    rest->folded = n - kept;
    if (kept == n)
        return;
    for (gsize i = kept; i < n; i++)
        amounts_of(pprof, order[i].stack, others);
    guint64 id = location_called(pprof, "[other stacks]");
    g_array_set_size(pprof->ids, 0);
    g_array_append_val(pprof->ids, id);
    write_sample(pprof, others);
}

/* ---- the profile ---- */

static void
write_notes(Pprof *pprof, const char *const *notes, char *texts[3], const PprofRest *rest)
{
    guint64 folded = rest->folded + pprof->batch->dump.folded;
    texts[0] =
        folded > 0 ? g_strdup_printf("%" G_GUINT64_FORMAT " stacks are added up in [other stacks]", folded) : NULL;
    texts[1] = rest->cut > 0 ? g_strdup_printf("%" G_GSIZE_FORMAT " stacks end at [outer frames]", rest->cut) : NULL;
    for (guint i = 0; i < 2; i++)
        if (texts[i] != NULL)
            proto_uint(pprof->out, PROFILE_COMMENT, proto_strings_index(pprof->strings, texts[i]));
    for (; notes != NULL && *notes != NULL; notes++)
        proto_uint(pprof->out, PROFILE_COMMENT, proto_strings_index(pprof->strings, *notes));
}

static void
write_all(Pprof *pprof, const PprofLimits *limits, const char *const *notes, PprofRest *rest)
{
    const BatchDump *dump = &pprof->batch->dump;
    char *texts[3] = {NULL};
    write_types(pprof);
    write_type(pprof, PROFILE_PERIOD_TYPE, "space", "bytes");
    proto_uint(pprof->out, PROFILE_PERIOD, dump->period);
    proto_int(pprof->out, PROFILE_TIME_NANOS, dump->time * NS_PER_US);
    proto_uint(pprof->out, PROFILE_DEFAULT_SAMPLE_TYPE, proto_strings_index(pprof->strings, "inuse_space"));
    write_mappings(pprof);
    write_samples(pprof, limits, rest);
    write_notes(pprof, notes, texts, rest);
    const GPtrArray *strings = proto_strings_all(pprof->strings);
    for (guint i = 0; i < strings->len; i++)
        proto_string(pprof->out, PROFILE_STRING_TABLE, strings->pdata[i]);
    for (guint i = 0; i < G_N_ELEMENTS(texts); i++)
        g_free(texts[i]);
}

static GByteArray *
write_profile(const Batch *batch, const PprofLimits *limits, const char *const *notes, PprofRest *rest)
{
    Pprof pprof = {.batch = batch,
                   .out = g_byte_array_new(),
                   .message = g_byte_array_new(),
                   .part = g_byte_array_new(),
                   .strings = proto_strings_new(),
                   .functions = g_new0(guint64, batch->n_lines + 1),
                   .locations = g_new0(guint64, batch->n_locations + 1),
                   .ids = g_array_new(FALSE, FALSE, sizeof(guint64))};
    *rest = (PprofRest){0};
    write_all(&pprof, limits, notes, rest);
    g_byte_array_unref(pprof.message);
    g_byte_array_unref(pprof.part);
    proto_strings_free(pprof.strings);
    g_free(pprof.functions);
    g_free(pprof.locations);
    g_array_unref(pprof.ids);
    return pprof.out;
}

GByteArray *
pprof_of_batch(const Batch *batch, const PprofLimits *limits, const char *const *notes, PprofRest *rest)
{
    PprofLimits tried = *limits;
    tried.samples = MIN(tried.samples, MAX(batch->n_stacks, 2));
    for (;; tried.samples /= 2) {
        GByteArray *profile = write_profile(batch, &tried, notes, rest);
        if (profile->len <= limits->bytes)
            return profile;
        g_byte_array_unref(profile);
        if (tried.samples <= 3)
            return NULL;
    }
}

GBytes *
pprof_gzip(const GByteArray *bytes)
{
    g_autoptr(GOutputStream) memory = g_memory_output_stream_new_resizable();
    g_autoptr(GConverter) gzip = G_CONVERTER(g_zlib_compressor_new(G_ZLIB_COMPRESSOR_FORMAT_GZIP, -1));
    g_autoptr(GOutputStream) out = g_converter_output_stream_new(memory, gzip);
    g_output_stream_write_all(out, bytes->data, bytes->len, NULL, NULL, NULL);
    g_output_stream_close(out, NULL, NULL);
    return g_memory_output_stream_steal_as_bytes(G_MEMORY_OUTPUT_STREAM(memory));
}
