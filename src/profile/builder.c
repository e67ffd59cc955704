/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/builder.h"
#include "confine/keyed-hash.h"

#include <string.h>

/* One entry of the table of stacks: enough of the hash to skip most comparisons. */
typedef struct {
    guint32 hash;
    guint32 stack; /* index + 1; 0: empty */
} StackEntry;

struct ProfileBuilder {
    Profile *profile;
    IndexTable location_table;
    IndexTable symbol_table; /* address to index in symbol_names */
    IndexTable thread_table;
    GPtrArray *symbol_names;
    GHashTable *object_table;  /* id_key() and path_key() to index + 1 */
    GHashTable *mapping_table; /* ProfileMapping to index + 1 */
    StackEntry *stack_table;
    guint32 log2_stack_table;
    guint64 of_frames, of_part; /* random odd numbers that its hash multiplies by */
    guint32 stacks_capacity;
    guint32 locations_capacity;
    guint64 frames_capacity;
};

enum { LOG2_FIRST_STACK_TABLE = 10 };

void
builder_set_period(ProfileBuilder *builder, guint64 period)
{
    builder->profile->period = period;
}

guint64
builder_period(const ProfileBuilder *builder)
{
    return builder->profile->period;
}

void
builder_set_capture(ProfileBuilder *builder, const ProfileCapture *capture)
{
    builder->profile->capture = *capture;
    builder->profile->has_capture = TRUE;
}

enum { CLASSES_MAX = 256 }; /* upper bound: jemalloc has less than half as many */

void
builder_add_class(ProfileBuilder *builder, const ProfileClass *class)
{
    Profile *profile = builder->profile;
    guint at = profile->n_classes;

    if (at == CLASSES_MAX)
        return;
    profile->classes = g_renew(ProfileClass, profile->classes, at + 1);
    for (; at > 0 && profile->classes[at - 1].size > class->size; at--)
        profile->classes[at] = profile->classes[at - 1];
    profile->classes[at] = *class;
    profile->n_classes++;
}

void
builder_set_known(ProfileBuilder *builder, guint32 known)
{
    builder->profile->known = known;
}

void
builder_set_lives(ProfileBuilder *builder, const ProfileSampler *sampler, GArray *samples, GArray *deaths)
{
    Profile *profile = builder->profile;

    profile->has_sampler = TRUE;
    profile->sampler = *sampler;
    profile->n_samples = samples->len;
    profile->samples = (ProfileSample *)(void *)g_array_free(samples, FALSE);
    profile->n_deaths = deaths->len;
    profile->deaths = (ProfileDeaths *)(void *)g_array_free(deaths, FALSE);
}

void
builder_add_loss(ProfileBuilder *builder, const ProfileLoss *loss)
{
    Profile *profile = builder->profile;

    profile->loss.bytes += loss->bytes;
    profile->loss.lines += loss->lines;
    if (profile->loss_reason == NULL) {
        profile->loss_reason = g_strdup(loss->reason);
        profile->loss.reason = profile->loss_reason;
    }
}

/* A path may name several files over time; inodes tell them apart. */
static char *
path_key(const ProfileObject *object)
{
    return g_strdup_printf("%" G_GUINT64_FORMAT " %s", object->inode, object->path);
}

static guint32
append_object(ProfileBuilder *builder, const ProfileObject *object)
{
    Profile *profile = builder->profile;
    guint32 index = profile->n_objects++;

    profile->objects = g_renew(ProfileObject, profile->objects, profile->n_objects);
    profile->objects[index] = *object;
    profile->objects[index].path = string_pool_insert(profile->strings, object->path);
    return index;
}

guint32
builder_object(ProfileBuilder *builder, const ProfileObject *object)
{
    Profile *profile = builder->profile;
    g_autofree char *key = path_key(object);
    guint32 index = GPOINTER_TO_UINT(g_hash_table_lookup(builder->object_table, key)) - 1;

    if (index == PROFILE_NONE) {
        index = append_object(builder, object);
        g_hash_table_insert(builder->object_table, g_steal_pointer(&key), GUINT_TO_POINTER(index + 1));
    }
    profile->objects[index].flags |= object->flags;
    return index;
}

static guint
hash_mapping(gconstpointer key)
{
    const ProfileMapping *mapping = key;

    const guint64 words[] = {mapping->start, mapping->limit, mapping->file_offset, mapping->object};

    return keyed_hash_bytes(words, sizeof(words));
}

static gboolean
equal_mappings(gconstpointer a, gconstpointer b)
{
    const ProfileMapping *left = a;
    const ProfileMapping *right = b;

    return left->start == right->start && left->limit == right->limit && left->file_offset == right->file_offset &&
           left->object == right->object;
}

ProfileBuilder *
builder_new(void)
{
    ProfileBuilder *builder = g_new0(ProfileBuilder, 1);

    builder->profile = g_new0(Profile, 1);
    builder->profile->period = 1;
    builder->profile->strings = string_pool_new();
    index_table_init(&builder->location_table);
    index_table_init(&builder->symbol_table);
    index_table_init(&builder->thread_table);
    builder->symbol_names = g_ptr_array_new();
    builder->object_table = g_hash_table_new_full(keyed_hash_string, g_str_equal, g_free, NULL);
    builder->mapping_table = g_hash_table_new_full(hash_mapping, equal_mappings, g_free, NULL);
    builder->log2_stack_table = LOG2_FIRST_STACK_TABLE;
    builder->stack_table = g_new0(StackEntry, (gsize)1 << LOG2_FIRST_STACK_TABLE);
    builder->of_frames = builder->location_table.of_key;
    builder->of_part = builder->location_table.of_tag;
    return builder;
}

void
builder_free(ProfileBuilder *builder)
{
    if (builder == NULL)
        return;
    profile_free(builder->profile);
    index_table_clear(&builder->location_table);
    index_table_clear(&builder->symbol_table);
    index_table_clear(&builder->thread_table);
    g_ptr_array_unref(builder->symbol_names);
    g_hash_table_unref(builder->object_table);
    g_hash_table_unref(builder->mapping_table);
    g_free(builder->stack_table);
    g_free(builder);
}

guint32
builder_mapping(ProfileBuilder *builder, const ProfileMapping *mapping)
{
    Profile *profile = builder->profile;
    guint32 index = GPOINTER_TO_UINT(g_hash_table_lookup(builder->mapping_table, mapping));

    if (index != 0)
        return index - 1;
    index = profile->n_mappings++;
    profile->mappings = g_renew(ProfileMapping, profile->mappings, profile->n_mappings);
    profile->mappings[index] = *mapping;
    g_hash_table_insert(builder->mapping_table, g_memdup2(mapping, sizeof(*mapping)), GUINT_TO_POINTER(index + 1));
    return index;
}

static guint32
intern_thread(ProfileBuilder *builder, const ProfileThread *thread, guint32 tag)
{
    Profile *profile = builder->profile;
    guint32 index = index_table_intern(&builder->thread_table, thread->uid, tag);

    if (index == profile->n_threads) {
        g_autofree char *valid = g_utf8_make_valid(thread->name, -1);
        const char *name = string_pool_insert(profile->strings, valid);
        profile->n_threads++;
        profile->threads = g_renew(ProfileThread, profile->threads, profile->n_threads);
        profile->threads[index] = (ProfileThread){thread->uid, name};
    }
    return index;
}

guint32
builder_thread(ProfileBuilder *builder, guint64 uid, const char *name)
{
    return intern_thread(builder, &(ProfileThread){uid, name}, 0);
}

guint32
builder_named_thread(ProfileBuilder *builder, const ProfileThread *thread)
{
    return intern_thread(builder, thread, keyed_hash_string(thread->name));
}

/* Makes room for one more location, and for its symbol if there are symbols. */
static void
reserve_location(ProfileBuilder *builder)
{
    Profile *profile = builder->profile;

    if (profile->n_locations < builder->locations_capacity)
        return;
    builder->locations_capacity = MAX(1024, builder->locations_capacity * 2);
    profile->locations = g_renew(ProfileLocation, profile->locations, builder->locations_capacity);
    if (profile->symbols != NULL)
        profile->symbols = g_renew(const char *, profile->symbols, builder->locations_capacity);
}

static void
append_location(ProfileBuilder *builder, const ProfileLocation *location)
{
    Profile *profile = builder->profile;

    reserve_location(builder);
    if (profile->symbols != NULL)
        profile->symbols[profile->n_locations] = NULL;
    profile->locations[profile->n_locations++] = *location;
}

guint32
builder_address(ProfileBuilder *builder, guint64 address)
{
    guint32 index = index_table_intern(&builder->location_table, address, PROFILE_NONE);

    if (index == builder->profile->n_locations)
        append_location(builder, &(ProfileLocation){address, 0, PROFILE_NONE, PROFILE_NONE});
    return index;
}

guint32
builder_location(ProfileBuilder *builder, const ProfileLocation *location)
{
    gboolean mapped = location->object != PROFILE_NONE;
    guint64 key = mapped ? location->file_offset : location->address;
    guint32 index = index_table_intern(&builder->location_table, key, location->object);

    if (index == builder->profile->n_locations)
        append_location(builder, location);
    return index;
}

void
builder_symbol(ProfileBuilder *builder, guint64 address, const char *name)
{
    guint32 index = index_table_intern(&builder->symbol_table, address, 0);

    if (index == builder->symbol_names->len)
        g_ptr_array_add(builder->symbol_names, (gpointer)(guintptr)string_pool_insert(builder->profile->strings, name));
}

void
builder_location_symbol(ProfileBuilder *builder, guint32 location, const char *name)
{
    Profile *profile = builder->profile;

    if (profile->symbols == NULL)
        profile->symbols = g_new0(const char *, builder->locations_capacity);
    profile->symbols[location] = string_pool_insert(profile->strings, name);
}

/* Assigns the names collected by address to the locations; also accepts files written with unadjusted return
 * addresses. */
static void
resolve_symbols(ProfileBuilder *builder)
{
    Profile *profile = builder->profile;

    if (builder->symbol_names->len == 0)
        return;
    profile->symbols = g_new0(const char *, MAX(1, builder->locations_capacity));
    for (guint32 i = 0; i < profile->n_locations; i++) {
        guint64 address = profile->locations[i].address;
        guint32 index = index_table_find(&builder->symbol_table, address, 0);
        if (index == PROFILE_NONE)
            index = index_table_find(&builder->symbol_table, address + 1, 0);
        if (index != PROFILE_NONE)
            profile->symbols[i] = g_ptr_array_index(builder->symbol_names, index);
    }
}

static int
compare_mappings(gconstpointer a, gconstpointer b)
{
    const ProfileMapping *left = a;
    const ProfileMapping *right = b;

    return left->start < right->start ? -1 : left->start > right->start;
}

/* The last mapping that starts at or before address and contains it, or PROFILE_NONE; mappings are sorted. */
static guint32
find_mapping(const Profile *profile, guint64 address)
{
    guint32 low = 0;
    guint32 high = profile->n_mappings;

    while (low < high) {
        guint32 middle = low + (high - low) / 2;
        if (profile->mappings[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && address < profile->mappings[low - 1].limit ? low - 1 : PROFILE_NONE;
}

void
builder_resolve(ProfileBuilder *builder)
{
    Profile *profile = builder->profile;

    if (profile->n_mappings > 0)
        qsort(profile->mappings, profile->n_mappings, sizeof(*profile->mappings), compare_mappings);
    for (guint32 i = 0; i < profile->n_locations; i++) {
        ProfileLocation *location = &profile->locations[i];
        location->mapping = find_mapping(profile, location->address);
        if (location->mapping != PROFILE_NONE) {
            const ProfileMapping *mapping = &profile->mappings[location->mapping];
            location->object = mapping->object;
            location->file_offset = location->address - mapping->start + mapping->file_offset;
        }
    }
    resolve_symbols(builder);
}

/* Two frames at a time: their multiplications run in parallel. */
static guint32
hash_frames(const ProfileBuilder *builder, const guint32 *frames, guint32 depth)
{
    guint64 hash = depth;
    guint32 i = depth & 1;

    if (i == 1)
        hash ^= frames[0] * builder->of_part;
    for (; i < depth; i += 2) {
        guint64 pair;
        memcpy(&pair, &frames[i], sizeof(pair));
        hash = (hash ^ pair) * builder->of_frames;
        hash ^= hash >> 32;
    }
    return (guint32)((hash * builder->of_frames) >> 32);
}

BuilderFrames
builder_frames(const ProfileBuilder *builder, const guint32 *frames, guint32 depth)
{
    guint32 hash = hash_frames(builder, frames, depth);

    __builtin_prefetch(&builder->stack_table[hash & (((gsize)1 << builder->log2_stack_table) - 1)]);
    return (BuilderFrames){frames, depth, hash};
}

static gboolean
has_frames(const Profile *profile, const ProfileStack *stack, const BuilderFrames *frames)
{
    return stack->depth == frames->depth && (stack->depth == 0 || memcmp(profile->frames + stack->first, frames->frames,
                                                                         frames->depth * sizeof(*frames->frames)) == 0);
}

static gboolean
is_stack(const Profile *profile, guint32 index, const BuilderFrames *frames, BuilderPart part)
{
    const ProfileStack *stack = &profile->stacks[index];

    return stack->thread == part.thread && stack->size_class == part.size_class && has_frames(profile, stack, frames);
}

static StackEntry *
stack_slot(const ProfileBuilder *builder, guint32 hash, const BuilderFrames *frames, BuilderPart part)
{
    gsize mask = ((gsize)1 << builder->log2_stack_table) - 1;

    for (gsize i = hash & mask;; i = (i + 1) & mask) {
        StackEntry *entry = &builder->stack_table[i];
        if (entry->stack == 0 || (entry->hash == hash && is_stack(builder->profile, entry->stack - 1, frames, part)))
            return entry;
    }
}

static void
grow_stack_table(ProfileBuilder *builder)
{
    gsize n_old = (gsize)1 << builder->log2_stack_table;
    gsize mask = n_old * 2 - 1;
    g_autofree StackEntry *old = builder->stack_table;

    builder->log2_stack_table++;
    builder->stack_table = g_new0(StackEntry, n_old * 2);
    for (gsize i = 0; i < n_old; i++) {
        if (old[i].stack != 0) {
            gsize at = old[i].hash & mask;
            while (builder->stack_table[at].stack != 0)
                at = (at + 1) & mask;
            builder->stack_table[at] = old[i];
        }
    }
}

static void
reserve_stack(ProfileBuilder *builder, guint32 depth)
{
    Profile *profile = builder->profile;

    if (profile->n_stacks == builder->stacks_capacity) {
        builder->stacks_capacity = MAX(256, builder->stacks_capacity * 2);
        profile->stacks = g_renew(ProfileStack, profile->stacks, builder->stacks_capacity);
        profile->weights = g_renew(ProfileWeight, profile->weights, builder->stacks_capacity);
    }
    if (profile->n_frames + depth > builder->frames_capacity) {
        builder->frames_capacity = MAX(4096, (profile->n_frames + depth) * 2);
        profile->frames = g_renew(guint32, profile->frames, builder->frames_capacity);
    }
}

/* The parts of a stack are consecutive and share its frames. */
static guint32
store_frames(ProfileBuilder *builder, const BuilderFrames *frames)
{
    Profile *profile = builder->profile;

    if (profile->n_stacks > 0 && has_frames(profile, &profile->stacks[profile->n_stacks - 1], frames))
        return profile->stacks[profile->n_stacks - 1].first;
    guint32 first = (guint32)profile->n_frames;
    if (frames->depth > 0)
        memcpy(profile->frames + first, frames->frames, frames->depth * sizeof(*frames->frames));
    profile->n_frames += frames->depth;
    return first;
}

/* 0 for a stack of all threads and sizes. */
static guint32
hash_part(const ProfileBuilder *builder, BuilderPart part)
{
    guint64 both = (guint64)(part.size_class + 1) << 32 | (part.thread + 1);

    return (guint32)((both * builder->of_part) >> 32);
}

guint32
builder_stack(ProfileBuilder *builder, const BuilderFrames *frames, BuilderPart part)
{
    Profile *profile = builder->profile;
    guint32 hash = frames->hash ^ hash_part(builder, part);
    StackEntry *entry = stack_slot(builder, hash, frames, part);

    if (entry->stack != 0)
        return entry->stack - 1;
    if (profile->n_frames + frames->depth > PROFILE_MAX_FRAMES || profile->n_stacks >= PROFILE_MAX_STACKS ||
        frames->depth > PROFILE_MAX_DEPTH)
        return PROFILE_NONE;
    reserve_stack(builder, frames->depth);
    profile->stacks[profile->n_stacks] =
        (ProfileStack){store_frames(builder, frames), frames->depth, part.thread, part.size_class};
    profile->weights[profile->n_stacks] = (ProfileWeight){0};
    *entry = (StackEntry){hash, ++profile->n_stacks};
    if (profile->n_stacks > ((gsize)1 << builder->log2_stack_table) / 2)
        grow_stack_table(builder);
    return profile->n_stacks - 1;
}

gboolean
builder_full(GError **error)
{
    g_set_error_literal(error, PROFILE_ERROR, PROFILE_ERROR_TOO_LARGE, "a profile holds " PROFILE_LIMITS);
    return FALSE;
}

void
builder_add_weight(ProfileBuilder *builder, guint32 stack, const ProfileWeight *weight)
{
    weight_add(&builder->profile->weights[stack], weight);
    weight_add(&builder->profile->total, weight);
}

Profile *
builder_finish(ProfileBuilder *builder)
{
    Profile *profile = g_steal_pointer(&builder->profile);

    profile->stacks = g_renew(ProfileStack, profile->stacks, profile->n_stacks);
    profile->weights = g_renew(ProfileWeight, profile->weights, profile->n_stacks);
    profile->frames = g_renew(guint32, profile->frames, MAX(1, profile->n_frames)); /* never NULL */
    profile->locations = g_renew(ProfileLocation, profile->locations, profile->n_locations);
    return profile;
}
