/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.proto, gzipped, for go tool pprof, Pyroscope, Parca and speedscope
 * (https://github.com/google/pprof/blob/main/proto/profile.proto). Ids count 1..n in order of appearance, as Parca
 * requires; a mapping claims symbols only if it has them, or viewers would not search for better ones; a location
 * without a name has none in the file, for the same reason.
 */
#include "confine/keyed-hash.h"
#include "report/format.h"
#include "report/names.h"
#include "report/profile-proto.h"
#include "report/proto.h"
#include "report/units.h"
#include "text/printable.h"

#include <string.h>

typedef struct {
    guint64 name, system_name, file, start_line; /* string indexes and a line */
} FunctionKey;

typedef struct {
    const Report *report;
    Writer *writer;
    ProtoStrings *strings;
    GHashTable *functions;                 /* FunctionKey -> id */
    GHashTable *spellings;                 /* FunctionKey of a frame's strings by address -> id */
    ProfileValue values[PROFILE_N_VALUES]; /* the sample types */
    guint n_values;
    guint64 n_locations;
    guint64 n_mappings;
    guint64 *location_ids[VIEW_N_SIDES]; /* 0: not written yet */
    guint64 *mapping_ids[VIEW_N_SIDES];
    GArray *sample_ids;  /* guint64, scratch */
    GByteArray *out;     /* scratch: one field of Profile */
    GByteArray *message; /* scratch */
    GByteArray *part;    /* scratch */
} Pprof;

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

/* Writes pprof->message as one field of Profile and empties it. */
static void
flush_message(Pprof *pprof, guint field)
{
    g_byte_array_set_size(pprof->out, 0);
    proto_message(pprof->out, field, pprof->message);
    writer_data(pprof->writer, pprof->out->data, pprof->out->len);
    g_byte_array_set_size(pprof->message, 0);
}

/* Moves pprof->part into pprof->message as a field of it. */
static void
flush_part(Pprof *pprof, guint field)
{
    proto_message(pprof->message, field, pprof->part);
    g_byte_array_set_size(pprof->part, 0);
}

static void
write_value_type(Pprof *pprof, guint field, const char *type, const char *unit)
{
    proto_value_type(pprof->message, pprof->strings, type, unit);
    flush_message(pprof, field);
}

static void
write_number(Pprof *pprof, guint field, gint64 value)
{
    g_byte_array_set_size(pprof->out, 0);
    proto_int(pprof->out, field, value);
    writer_data(pprof->writer, pprof->out->data, pprof->out->len);
}

/* The unit's name in pprof. */
static const char *
unit_of(ProfileValue value)
{
    return value_objects(value) == value ? "count" : value_unit(value);
}

static void
choose_values(Pprof *pprof)
{
    for (ProfileValue value = 0; value < PROFILE_N_VALUES; value++)
        if (view_exports(pprof->report->view, value))
            pprof->values[pprof->n_values++] = value;
}

/* 0, which means unknown, for a time that a dump or a file cannot have. */
static gint64
nanoseconds(gint64 seconds)
{
    gint64 time;

    return __builtin_mul_overflow(seconds, G_GINT64_CONSTANT(1000000000), &time) ? 0 : time;
}

static void
write_header(Pprof *pprof)
{
    const Report *report = pprof->report;
    const ReportInput *input = view_input(report->view, VIEW_NOW);

    for (guint i = 0; i < pprof->n_values; i++)
        write_value_type(pprof, PROFILE_SAMPLE_TYPE, report_value_name(pprof->values[i]), unit_of(pprof->values[i]));
    write_value_type(pprof, PROFILE_PERIOD_TYPE, "space", "bytes");
    write_number(pprof, PROFILE_PERIOD, (gint64)MIN(profile_period(input->profile), (guint64)G_MAXINT64));
    write_number(pprof, PROFILE_TIME_NANOS, nanoseconds(input->time));
    write_number(pprof, PROFILE_DEFAULT_SAMPLE_TYPE,
                 (gint64)proto_strings_index(pprof->strings,
                                             report_value_name(view_has_value(report->view, report->options->value)
                                                                   ? report->options->value
                                                                   : PROFILE_INUSE_SPACE)));
    for (const char *const *note = report->options->notes; note && *note; note++)
        write_number(pprof, PROFILE_COMMENT, (gint64)proto_strings_index(pprof->strings, *note));
}

/* The symbol flags of an object for viewers. */
static void
append_symbol_flags(Pprof *pprof, const SymbolObject *object)
{
    gboolean functions =
        object->source == SYMBOLS_SYMTAB || object->source == SYMBOLS_DWARF || object->source == SYMBOLS_EMBEDDED;
    gboolean lines = object->source == SYMBOLS_DWARF;

    proto_uint(pprof->message, 7, functions);
    proto_uint(pprof->message, 8, lines);
    proto_uint(pprof->message, 9, lines);
    proto_uint(pprof->message, 10, lines);
}

static void
write_mapping(Pprof *pprof, ViewSide side, guint32 index)
{
    const ReportInput *input = view_input(pprof->report->view, side);
    const ProfileMapping *mapping = &profile_mappings(input->profile)[index];
    const ProfileObject *object =
        mapping->object != PROFILE_NONE ? &profile_objects(input->profile)[mapping->object] : NULL;
    const SymbolObject *symbols = object ? symbols_object(input->symbols, mapping->object) : NULL;
    g_autofree char *path = object ? text_printable(object->path) : NULL;

    pprof->mapping_ids[side][index] = ++pprof->n_mappings;
    proto_uint(pprof->message, 1, pprof->n_mappings);
    proto_uint(pprof->message, 2, mapping->start);
    proto_uint(pprof->message, 3, mapping->limit);
    proto_uint(pprof->message, 4, mapping->file_offset);
    proto_uint(pprof->message, 5, proto_strings_index(pprof->strings, path));
    if (object && symbols && symbols->build_id)
        proto_uint(pprof->message, 6, proto_strings_index(pprof->strings, symbols->build_id));
    if (symbols)
        append_symbol_flags(pprof, symbols);
    flush_message(pprof, PROFILE_MAPPING);
}

/* Viewers take the first mapping for the program itself. */
static guint32
main_mapping(const Profile *profile)
{
    for (guint32 i = 0; i < profile_n_mappings(profile); i++) {
        guint32 index = profile_mappings(profile)[i].object;
        const ProfileObject *object = index != PROFILE_NONE ? &profile_objects(profile)[index] : NULL;
        if (object && object->path[0] == '/' && !(object->flags & (PROFILE_OBJECT_ANONYMOUS | PROFILE_OBJECT_VDSO)) &&
            !strstr(object->path, ".so"))
            return i;
    }
    return 0;
}

static void
write_mappings(Pprof *pprof, ViewSide side)
{
    const Profile *profile = view_input(pprof->report->view, side)->profile;
    guint32 n = profile_n_mappings(profile);
    guint32 first = main_mapping(profile);

    pprof->mapping_ids[side] = g_new0(guint64, (gsize)n + 1);
    pprof->location_ids[side] = g_new0(guint64, (gsize)profile_n_locations(profile) + 1);
    if (n > 0)
        write_mapping(pprof, side, first);
    for (guint32 i = 0; i < n; i++)
        if (i != first)
            write_mapping(pprof, side, i);
}

static guint64
clean_string_index(Pprof *pprof, const char *text)
{
    g_autofree char *clean = text_printable(text ? text : "");

    return proto_strings_index(pprof->strings, clean);
}

/* A name may be long, and that of very many locations: see function_id(). */
static guint64
add_function(Pprof *pprof, const SymbolFrame *frame)
{
    FunctionKey key = {clean_string_index(pprof, frame->function), clean_string_index(pprof, frame->system_name),
                       clean_string_index(pprof, frame->file), frame->start_line};
    guint64 id = GPOINTER_TO_SIZE(g_hash_table_lookup(pprof->functions, &key));
    GByteArray *function;

    if (id)
        return id;
    id = g_hash_table_size(pprof->functions) + 1;
    g_hash_table_insert(pprof->functions, g_memdup2(&key, sizeof(key)), GSIZE_TO_POINTER(id));
    function = g_byte_array_new();
    proto_uint(function, 1, id);
    proto_uint(function, 2, key.name);
    proto_uint(function, 3, key.system_name);
    proto_uint(function, 4, key.file);
    proto_uint(function, 5, key.start_line);
    g_byte_array_set_size(pprof->out, 0);
    proto_message(pprof->out, PROFILE_FUNCTION, function);
    writer_data(pprof->writer, pprof->out->data, pprof->out->len);
    g_byte_array_unref(function);
    return id;
}

/* All frames of a function share its strings. */
static guint64
function_id(Pprof *pprof, const SymbolFrame *frame)
{
    const FunctionKey key = {(guintptr)frame->function, (guintptr)frame->system_name, (guintptr)frame->file,
                             frame->start_line};
    guint64 id = GPOINTER_TO_SIZE(g_hash_table_lookup(pprof->spellings, &key));

    if (!id) {
        id = add_function(pprof, frame);
        g_hash_table_insert(pprof->spellings, g_memdup2(&key, sizeof(key)), GSIZE_TO_POINTER(id));
    }
    return id;
}

static void
append_lines(Pprof *pprof, ViewSide side, guint32 index)
{
    const Symbol *symbol = symbols_location(view_input(pprof->report->view, side)->symbols, index);
    const guint32 *frames;
    guint32 n = view_location_frames(pprof->report->view, side, index, &frames);

    for (guint32 i = 0; i < n; i++) {
        const SymbolFrame *frame = &symbol->frames[frames[i]];
        if (!frame->known)
            continue;
        proto_uint(pprof->part, 1, function_id(pprof, frame));
        proto_uint(pprof->part, 2, frame->line);
        flush_part(pprof, 4);
    }
}

static guint64
location_id(Pprof *pprof, ViewSide side, guint32 index)
{
    const ProfileLocation *location = &profile_locations(view_input(pprof->report->view, side)->profile)[index];
    guint64 *id = &pprof->location_ids[side][index];

    if (*id)
        return *id;
    *id = ++pprof->n_locations;
    proto_uint(pprof->message, 1, *id);
    if (location->mapping != PROFILE_NONE)
        proto_uint(pprof->message, 2, pprof->mapping_ids[side][location->mapping]);
    proto_uint(pprof->message, 3, location->address);
    append_lines(pprof, side, index);
    flush_message(pprof, PROFILE_LOCATION);
    return *id;
}

/* Fills sample_ids; writes the locations that were not written yet. */
static void
collect_locations(Pprof *pprof, const ViewPath *path)
{
    const guint32 *frames;

    g_array_set_size(pprof->sample_ids, 0);
    for (guint32 i = 0; i < path->n_locations; i++) {
        if (view_location_frames(pprof->report->view, path->side, path->locations[i], &frames) == 0)
            continue;
        guint64 id = location_id(pprof, path->side, path->locations[i]);
        g_array_append_val(pprof->sample_ids, id);
    }
}

static void
append_number_label(Pprof *pprof, const char *key, guint64 number, const char *unit)
{
    proto_uint(pprof->part, 1, proto_strings_index(pprof->strings, key));
    proto_uint(pprof->part, 3, number);
    proto_uint(pprof->part, 4, proto_strings_index(pprof->strings, unit));
    flush_part(pprof, 3);
}

static void
append_text_label(Pprof *pprof, const char *key, const char *text)
{
    proto_uint(pprof->part, 1, proto_strings_index(pprof->strings, key));
    proto_uint(pprof->part, 2, clean_string_index(pprof, text));
    flush_part(pprof, 3);
}

/* With the average size a reader can compute the sampled counts: n objects represent n / (1 - exp(-size / period)). */
static guint64
average_size(const ProfileWeight *weight)
{
    if (weight->estimate[PROFILE_INUSE_OBJECTS] > 0)
        return (guint64)units_round(weight->estimate[PROFILE_INUSE_SPACE] / weight->estimate[PROFILE_INUSE_OBJECTS]);
    if (weight->estimate[PROFILE_ALLOC_OBJECTS] > 0)
        return (guint64)units_round(weight->estimate[PROFILE_ALLOC_SPACE] / weight->estimate[PROFILE_ALLOC_OBJECTS]);
    return 0;
}

static void
append_labels(Pprof *pprof, const ViewPath *path)
{
    const Profile *profile = view_input(pprof->report->view, path->side)->profile;
    guint32 thread = profile_stacks(profile)[path->stack].thread;
    guint64 bytes = average_size(path->weight);

    if (bytes)
        append_number_label(pprof, "bytes", bytes, "bytes");
    if (thread != PROFILE_NONE) {
        char uid[32];
        g_snprintf(uid, sizeof(uid), "%" G_GUINT64_FORMAT, profile_threads(profile)[thread].uid);
        append_text_label(pprof, "thread", uid); /* text: the number 0 would be omitted */
        if (profile_threads(profile)[thread].name[0])
            append_text_label(pprof, "thread_name", profile_threads(profile)[thread].name);
    }
    if (path->side == VIEW_BASE)
        append_text_label(pprof, "pprof::base", "true");
}

static void
write_sample(const ViewPath *path, gpointer user)
{
    Pprof *pprof = user;
    guint64 values[PROFILE_N_VALUES];

    for (guint i = 0; i < pprof->n_values; i++) {
        gdouble amount = path->weight->estimate[pprof->values[i]];
        values[i] = (guint64)units_round(path->side == VIEW_BASE ? -amount : amount);
    }
    collect_locations(pprof, path);
    proto_packed(pprof->message, 1, (const guint64 *)(const void *)pprof->sample_ids->data, pprof->sample_ids->len);
    proto_packed(pprof->message, 2, values, pprof->n_values);
    append_labels(pprof, path);
    flush_message(pprof, PROFILE_SAMPLE);
}

static void
write_strings(Pprof *pprof)
{
    const GPtrArray *strings = proto_strings_all(pprof->strings);
    for (guint i = 0; i < strings->len; i++) {
        g_byte_array_set_size(pprof->out, 0);
        proto_string(pprof->out, PROFILE_STRING_TABLE, strings->pdata[i]);
        writer_data(pprof->writer, pprof->out->data, pprof->out->len);
    }
}

static void
pprof_clear(Pprof *pprof)
{
    proto_strings_free(pprof->strings);
    g_hash_table_unref(pprof->functions);
    g_hash_table_unref(pprof->spellings);
    for (guint side = 0; side < VIEW_N_SIDES; side++) {
        g_free(pprof->location_ids[side]);
        g_free(pprof->mapping_ids[side]);
    }
    g_array_unref(pprof->sample_ids);
    g_byte_array_unref(pprof->out);
    g_byte_array_unref(pprof->message);
    g_byte_array_unref(pprof->part);
}

gboolean
pprof_write(const Report *report, Writer *writer, GError **error)
{
    Pprof pprof = {
        .report = report,
        .writer = writer,
        .strings = proto_strings_new(),
        .functions = g_hash_table_new_full(function_hash, function_equal, g_free, NULL),
        .spellings = g_hash_table_new_full(function_hash, function_equal, g_free, NULL),
        .sample_ids = g_array_new(FALSE, FALSE, sizeof(guint64)),
        .out = g_byte_array_new(),
        .message = g_byte_array_new(),
        .part = g_byte_array_new(),
    };

    writer_compress(writer);
    choose_values(&pprof);
    write_header(&pprof);
    for (guint side = 0; side < view_n_sides(report->view); side++)
        write_mappings(&pprof, side);
    view_foreach(report->view, write_sample, &pprof);
    write_strings(&pprof);
    pprof_clear(&pprof);
    return TRUE;
}
