/* SPDX-License-Identifier: Apache-2.0 */
#include "fake-profile.h"

#include <elf.h>
#include <string.h>

struct Profile {
    GArray *objects;
    GArray *mappings;
    GArray *biases; /* guint64: where the link-time address 0 of each object lies */
    GArray *locations;
    GPtrArray *embedded;
    GStringChunk *strings;
};

Profile *
fake_profile_new(void)
{
    Profile *profile = g_new0(Profile, 1);
    profile->objects = g_array_new(FALSE, FALSE, sizeof(ProfileObject));
    profile->mappings = g_array_new(FALSE, FALSE, sizeof(ProfileMapping));
    profile->biases = g_array_new(FALSE, FALSE, sizeof(guint64));
    profile->locations = g_array_new(FALSE, FALSE, sizeof(ProfileLocation));
    profile->embedded = g_ptr_array_new();
    profile->strings = g_string_chunk_new(4096);
    return profile;
}

void
profile_free(Profile *profile)
{
    g_array_unref(profile->objects);
    g_array_unref(profile->mappings);
    g_array_unref(profile->biases);
    g_array_unref(profile->locations);
    g_ptr_array_unref(profile->embedded);
    g_string_chunk_free(profile->strings);
    g_free(profile);
}

guint32
fake_profile_object(Profile *profile, const ProfileObject *object, guint64 start, guint64 file_offset, guint64 size)
{
    ProfileObject copy = *object;
    copy.path = g_string_chunk_insert(profile->strings, object->path);
    const ProfileMapping mapping = {start, start + size, file_offset, profile->objects->len};
    g_array_append_val(profile->objects, copy);
    g_array_append_val(profile->mappings, mapping);
    return profile->objects->len - 1;
}

static const Elf64_Phdr *
text_segment(const char *image, gsize size)
{
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)(gconstpointer)image;
    g_assert_cmpuint(size, >=, sizeof(*header));
    const Elf64_Phdr *segments = (const Elf64_Phdr *)(gconstpointer)(image + header->e_phoff);
    for (guint i = 0; i < header->e_phnum; i++)
        if (segments[i].p_type == PT_LOAD && (segments[i].p_flags & PF_X) != 0)
            return &segments[i];
    g_assert_not_reached();
}

guint32
fake_profile_mapped(Profile *profile, const char *path, const ProfileObject *object, guint64 start)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GMappedFile) file = g_mapped_file_new(path, FALSE, &error);
    g_assert_no_error(error);
    const Elf64_Phdr *text = text_segment(g_mapped_file_get_contents(file), g_mapped_file_get_length(file));
    guint64 first = text->p_offset & ~(guint64)4095;
    guint64 last = (text->p_offset + text->p_filesz + 4095) & ~(guint64)4095;
    guint64 address = text->p_vaddr & ~(guint64)4095;
    guint64 anywhere = G_GUINT64_CONSTANT(0x7f0000000000) + profile->objects->len * G_GUINT64_CONSTANT(0x100000000);
    guint64 bias = start != 0 ? start - address : anywhere;
    g_array_append_val(profile->biases, bias);
    return fake_profile_object(profile, object, bias + address, first, last - first);
}

guint32
fake_profile_offset(Profile *profile, guint32 object, guint64 file_offset)
{
    const ProfileMapping *mapping = &g_array_index(profile->mappings, ProfileMapping, object);
    const ProfileLocation location = {
        .address = mapping->start + (file_offset - mapping->file_offset),
        .file_offset = file_offset,
        .mapping = object,
        .object = object,
    };
    g_array_append_val(profile->locations, location);
    g_ptr_array_add(profile->embedded, NULL);
    return profile->locations->len - 1;
}

guint32
fake_profile_address(Profile *profile, guint32 object, guint64 address)
{
    const ProfileMapping *mapping = &g_array_index(profile->mappings, ProfileMapping, object);
    guint64 bias = g_array_index(profile->biases, guint64, object);
    return fake_profile_offset(profile, object, bias + address - mapping->start + mapping->file_offset);
}

guint32
fake_profile_lost(Profile *profile, guint64 address, const char *embedded)
{
    const ProfileLocation location = {.address = address, .mapping = PROFILE_NONE, .object = PROFILE_NONE};
    g_array_append_val(profile->locations, location);
    g_ptr_array_add(profile->embedded, embedded != NULL ? g_string_chunk_insert(profile->strings, embedded) : NULL);
    return profile->locations->len - 1;
}

guint32
profile_n_locations(const Profile *profile)
{
    return profile->locations->len;
}

const ProfileLocation *
profile_locations(const Profile *profile)
{
    return (const ProfileLocation *)(gconstpointer)profile->locations->data;
}

guint32
profile_n_mappings(const Profile *profile)
{
    return profile->mappings->len;
}

const ProfileMapping *
profile_mappings(const Profile *profile)
{
    return (const ProfileMapping *)(gconstpointer)profile->mappings->data;
}

guint32
profile_n_objects(const Profile *profile)
{
    return profile->objects->len;
}

const ProfileObject *
profile_objects(const Profile *profile)
{
    return (const ProfileObject *)(gconstpointer)profile->objects->data;
}

const char *
profile_embedded_symbol(const Profile *profile, guint32 location)
{
    return profile->embedded->pdata[location];
}
