/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/state.h"

#include "confine/keyed-hash.h"
#include "fleet/rows.h"
#include "profile/builder.h"

#include <string.h>

enum {
    NAME_COLUMNS = 5,
    STACK_COLUMNS = 1 + 2 * PROFILE_N_PPROF_VALUES + 2,
    OBJECT_BITS = 40, /* bits of an address used for the offset in a file */
};

/* The values of a row, in order. */
static const ProfileValue values[] = {PROFILE_ALLOC_OBJECTS, PROFILE_ALLOC_SPACE, PROFILE_INUSE_OBJECTS,
                                      PROFILE_INUSE_SPACE};
G_STATIC_ASSERT(G_N_ELEMENTS(values) == PROFILE_N_PPROF_VALUES);

/* ---- the document ---- */

/* A document is a sequence of parts, each with its length before it: the facts, the names and the answers. What the
 * store has sent is parsed by itself, so that it cannot be taken for anything else. */
static void
add_part(GString *document, const GString *part)
{
    const guint64 length = part->len;
    g_string_append_len(document, (const char *)&length, sizeof(length));
    g_string_append_len(document, part->str, (gssize)part->len);
}

GString *
fleet_document_new(const FleetFacts *facts, const GString *names)
{
    char scale[G_ASCII_DTOSTR_BUF_SIZE];
    GString *document = g_string_sized_new(names->len + 256);
    g_autoptr(GString) text = g_string_new(NULL);
    g_string_append_printf(text, "{\"period\":%" G_GUINT64_FORMAT ",\"cumulative\":%s,\"moments\":%u,\"scale\":%s}",
                           facts->period, facts->cumulative ? "true" : "false", facts->moments,
                           g_ascii_formatd(scale, sizeof(scale), "%.17e", facts->scale));
    add_part(document, text);
    add_part(document, names);
    return document;
}

void
fleet_document_add(GString *document, const GString *stacks)
{
    add_part(document, stacks);
}

/* What is left of a document. */
typedef struct {
    const char *name, *at, *end;
} Parts;

/* The next part, which must be one complete JSON value; to be released. */
static json_t *
next_part(Parts *parts, GError **error)
{
    guint64 length = 0;
    json_error_t why = {.text = "it is cut off"};
    json_t *part = NULL;
    const gsize left = (gsize)(parts->end - parts->at);
    if (left >= sizeof(length))
        memcpy(&length, parts->at, sizeof(length));
    if (left >= sizeof(length) && length <= left - sizeof(length))
        part = json_loadb(parts->at + sizeof(length), length, 0, &why);
    if (part != NULL)
        parts->at += sizeof(length) + length;
    else
        g_set_error(error, FLEET_ERROR, FLEET_ERROR_ANSWER, "%s: an answer of the store is not valid JSON: %s",
                    parts->name, why.text);
    return part;
}

/* ---- the profile ---- */

typedef struct {
    ProfileBuilder *builder;
    GHashTable *names;  /* hash -> row */
    GHashTable *stacks; /* hash -> index of the stack + 1: any number of rows may have one */
    GArray *frames;     /* of the stack being built */
    GHashTable *places; /* key_of() -> name, borrowed, or SEVERAL */
} State;

/* A place in a row of a stack. */
typedef struct {
    const char *path, *build, *name;
    guint64 offset;
} Place;

static Place
place_of(const json_t *row, gsize i)
{
    const char *path = fleet_text(json_array_get(row, 2), i), *name = fleet_text(json_array_get(row, 1), i);
    return (Place){
        .path = path[0] != '\0' ? path : "[unknown]",
        .build = fleet_text(json_array_get(row, 3), i),
        .name = name[0] != '\0' ? name : "[unknown]",
        .offset = fleet_unsigned(json_array_get(row, 4), i) & ((G_GUINT64_CONSTANT(1) << OBJECT_BITS) - 1),
    };
}

/* Two places with one key are kept apart like one with two names. */
static gpointer
key_of(const Place *place)
{
    const guint64 words[] = {keyed_hash_string(place->path), keyed_hash_string(place->build), place->offset};
    return GSIZE_TO_POINTER((guint64)keyed_hash_bytes(words, sizeof(words)) << 32 | (guint32)place->offset);
}

static const char several[] = "";

/* Of all rows, whether a stack has samples or not, so that the documents of one series agree on the locations. */
static void
note_names(State *state, const json_t *row)
{
    for (gsize i = 0; i < MIN(json_array_size(json_array_get(row, 1)), PROFILE_MAX_DEPTH); i++) {
        const Place place = place_of(row, i);
        gpointer key = key_of(&place);
        const char *known = g_hash_table_lookup(state->places, key);
        if (known == NULL || (known != several && !g_str_equal(known, place.name)))
            g_hash_table_insert(state->places, key, (gpointer)(gsize)(known == NULL ? place.name : several));
    }
}

/* Two builds of a file are two objects; so are two names that users give to one place of a build. */
static guint32
add_object(State *state, const Place *place)
{
    const gboolean is_shared = g_hash_table_lookup(state->places, key_of(place)) == several;
    g_autofree char *text = g_strconcat(place->build, is_shared ? "\n" : "", is_shared ? place->name : "", NULL);
    const ProfileObject object = {.path = place->path, .inode = text[0] != '\0' ? keyed_hash_string(text) | 1u : 0};
    return builder_object(state->builder, &object);
}

/* Adds a location. Each object has its own range of synthetic addresses. */
static guint32
add_location(State *state, const json_t *row, gsize i)
{
    const Place place = place_of(row, i);
    guint32 object = add_object(state, &place);
    guint64 start = ((guint64)object + 1) << OBJECT_BITS;
    const ProfileMapping mapping = {start, start + (G_GUINT64_CONSTANT(1) << OBJECT_BITS), 0, object};
    const ProfileLocation location = {start + place.offset, place.offset, builder_mapping(state->builder, &mapping),
                                      object};
    guint32 index = builder_location(state->builder, &location);
    builder_location_symbol(state->builder, index, place.name);
    return index;
}

static void
add_unnamed(State *state)
{
    const ProfileObject object = {.path = "[stacks without names]"};
    guint32 index = builder_object(state->builder, &object);
    guint64 start = ((guint64)index + 1) << OBJECT_BITS;
    const ProfileMapping mapping = {start, start + (G_GUINT64_CONSTANT(1) << OBJECT_BITS), 0, index};
    const ProfileLocation location = {start, 0, builder_mapping(state->builder, &mapping), index};
    guint32 frame = builder_location(state->builder, &location);
    builder_location_symbol(state->builder, frame, "[stacks without names]");
    g_array_append_val(state->frames, frame);
}

static guint32
add_stack(State *state, const json_t *row)
{
    guint64 hash = fleet_unsigned(row, 0);
    const guint32 known = GPOINTER_TO_UINT(g_hash_table_lookup(state->stacks, &hash));
    const json_t *names = g_hash_table_lookup(state->names, &hash);
    if (known != 0)
        return known - 1;
    g_array_set_size(state->frames, 0);
    gsize depth = MIN(json_array_size(json_array_get(names, 1)), PROFILE_MAX_DEPTH);
    for (gsize i = 0; i < depth; i++) {
        guint32 location = add_location(state, names, i);
        g_array_append_val(state->frames, location);
    }
    if (depth == 0)
        add_unnamed(state);
    BuilderFrames frames =
        builder_frames(state->builder, (const guint32 *)(void *)state->frames->data, state->frames->len);
    const guint32 stack = builder_stack(state->builder, &frames, BUILDER_WHOLE);
    if (stack != PROFILE_NONE)
        g_hash_table_insert(state->stacks, g_memdup2(&hash, sizeof(hash)), GUINT_TO_POINTER(stack + 1));
    return stack;
}

static gboolean
add_row(State *state, const json_t *row, gdouble scale, gdouble moments, GError **error)
{
    ProfileWeight weight = {0};
    gboolean nothing = TRUE;
    for (gsize i = 0; i < G_N_ELEMENTS(values); i++) {
        weight.estimate[values[i]] = fleet_number(row, 1 + 2 * i) * scale / moments;
        weight.variance[values[i]] = MAX(fleet_number(row, 2 + 2 * i), 0) * scale * scale / moments;
        nothing = nothing && weight.estimate[values[i]] == 0;
    }
    weight.births = fleet_number(row, 1 + 2 * G_N_ELEMENTS(values)) * scale / moments;
    weight.deaths = fleet_number(row, 2 + 2 * G_N_ELEMENTS(values)) * scale / moments;
    if (nothing)
        return TRUE;
    guint32 stack = add_stack(state, row);
    if (stack == PROFILE_NONE)
        return builder_full(error);
    builder_add_weight(state->builder, stack, &weight);
    return TRUE;
}

static gboolean
take_names(State *state, const json_t *names, GError **error)
{
    const json_t *rows = fleet_rows(names, NAME_COLUMNS, "stacks", error);
    for (gsize i = 0; rows != NULL && i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        guint64 hash = fleet_unsigned(row, 0);
        g_hash_table_insert(state->names, g_memdup2(&hash, sizeof(hash)), (gpointer)(gsize)row);
        note_names(state, row);
    }
    return rows != NULL;
}

static gboolean
take_answer(State *state, const json_t *answer, const json_t *facts, GError **error)
{
    gdouble scale = json_number_value(json_object_get(facts, "scale"));
    gdouble moments = MAX(json_number_value(json_object_get(facts, "moments")), 1);
    const json_t *rows = fleet_rows(answer, STACK_COLUMNS, "samples", error);
    gboolean sound = rows != NULL;
    for (gsize i = 0; sound && i < json_array_size(rows); i++)
        sound = add_row(state, json_array_get(rows, i), scale, moments, error);
    return sound;
}

static gboolean
take_answers(State *state, Parts *parts, const json_t *facts, GError **error)
{
    gboolean sound = TRUE;
    while (sound && parts->at < parts->end) {
        json_t *answer = next_part(parts, error);
        sound = answer != NULL && take_answer(state, answer, facts, error);
        json_decref(answer);
    }
    return sound;
}

static guint32
known_values(const json_t *facts)
{
    guint32 known = PROFILE_KNOWS_INUSE;
    if (json_is_true(json_object_get(facts, "cumulative")))
        known |= PROFILE_BIT(PROFILE_ALLOC_OBJECTS) | PROFILE_BIT(PROFILE_ALLOC_SPACE);
    return known;
}

static Profile *
make_profile(Parts *parts, const json_t *facts, const json_t *names, GError **error)
{
    Profile *profile = NULL;
    State state = {.builder = builder_new(),
                   .names = g_hash_table_new_full(keyed_hash_int64, g_int64_equal, g_free, NULL),
                   .stacks = g_hash_table_new_full(keyed_hash_int64, g_int64_equal, g_free, NULL),
                   .frames = g_array_new(FALSE, FALSE, sizeof(guint32)),
                   .places = g_hash_table_new(keyed_hash_pointer, NULL)};
    builder_set_period(state.builder, (guint64)MAX(json_integer_value(json_object_get(facts, "period")), 1));
    builder_set_known(state.builder, known_values(facts));
    if (take_names(&state, names, error) && take_answers(&state, parts, facts, error))
        profile = builder_finish(state.builder);
    builder_free(state.builder);
    g_hash_table_unref(state.names);
    g_hash_table_unref(state.stacks);
    g_array_unref(state.frames);
    g_hash_table_unref(state.places);
    return profile;
}

Profile *
fleet_document_read(int fd, const char *name, GError **error)
{
    g_autoptr(GMappedFile) file = g_mapped_file_new_from_fd(fd, FALSE, error);
    if (file == NULL)
        return NULL;
    const char *bytes = g_mapped_file_get_contents(file);
    Parts parts = {name, bytes, bytes + g_mapped_file_get_length(file)};
    json_t *facts = next_part(&parts, error);
    json_t *names = facts != NULL ? next_part(&parts, error) : NULL;
    Profile *profile = names != NULL ? make_profile(&parts, facts, names, error) : NULL;
    json_decref(names);
    json_decref(facts);
    return profile;
}
