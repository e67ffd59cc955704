/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/vanishing.h"

#include "confine/keyed-hash.h"
#include "target/address-space.h"
#include "wire/transfer.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { MOST = 4096 }; /* maximum number of mappings */

typedef struct {
    guint64 start, end, offset, inode;
    dev_t device;
    char *path;      /* as the kernel shows it */
    gboolean mapped; /* at the last check */
    gboolean left;   /* it was absent at an earlier check */
} Seen;

struct Vanishing {
    pid_t pid;
    GPtrArray *seen;   /* Seen */
    GHashTable *index; /* the same, keyed for is_same() */
};

static void
seen_free(gpointer data)
{
    Seen *seen = data;
    g_free(seen->path);
    g_free(seen);
}

static guint
hash_range(gconstpointer data)
{
    const Seen *seen = data;
    const guint64 range[] = {seen->start, seen->end};
    return keyed_hash_bytes(range, sizeof(range));
}

static gboolean
is_same_range(gconstpointer a, gconstpointer b)
{
    const Seen *one = a, *other = b;
    return one->start == other->start && one->end == other->end;
}

static gboolean
is_same(gconstpointer a, gconstpointer b)
{
    const Seen *one = a, *other = b;
    return is_same_range(one, other) && one->inode == other->inode && one->device == other->device &&
           one->offset == other->offset && g_str_equal(one->path, other->path); /* an inode may be used again */
}

Vanishing *
vanishing_new(pid_t pid)
{
    Vanishing *vanishing = g_new(Vanishing, 1);
    *vanishing = (Vanishing){pid, g_ptr_array_new_with_free_func(seen_free), g_hash_table_new(hash_range, is_same)};
    return vanishing;
}

void
vanishing_free(Vanishing *vanishing)
{
    if (vanishing == NULL)
        return;
    g_hash_table_unref(vanishing->index);
    g_ptr_array_unref(vanishing->seen);
    g_free(vanishing);
}

static void
note(Vanishing *vanishing, const Mapping *mapping)
{
    g_autofree char *path = g_strdup(mapping->path);
    const Seen now = {.start = mapping->start,
                      .end = mapping->end,
                      .offset = mapping->offset,
                      .inode = mapping->inode,
                      .device = mapping->device,
                      .path = path,
                      .mapped = TRUE};
    Seen *seen = g_hash_table_lookup(vanishing->index, &now);
    if (seen != NULL) {
        seen->mapped = TRUE;
        return;
    }
    if (vanishing->seen->len == MOST)
        return;
    seen = g_memdup2(&now, sizeof(now));
    seen->path = g_steal_pointer(&path);
    g_ptr_array_add(vanishing->seen, seen);
    g_hash_table_add(vanishing->index, seen);
}

void
vanishing_look(Vanishing *vanishing)
{
    g_autoptr(AddressSpace) space = vanishing->pid != 0 ? address_space_new(vanishing->pid, NULL) : NULL;

    if (space == NULL)
        return;
    for (guint i = 0; i < vanishing->seen->len; i++)
        ((Seen *)vanishing->seen->pdata[i])->mapped = FALSE;
    for (guint i = 0; i < space->mappings->len; i++) {
        const Mapping *mapping = &g_array_index(space->mappings, Mapping, i);
        if ((mapping->flags & MAPPING_EXECUTE) != 0 && mapping->path[0] == '/')
            note(vanishing, mapping);
    }
    for (guint i = 0; i < vanishing->seen->len; i++) {
        Seen *seen = vanishing->seen->pdata[i];
        seen->left |= !seen->mapped;
    }
}

/* If something else is mapped there now, its code would be named as that of the file. */
static gboolean
is_covered(const Vanishing *vanishing, const Seen *gone)
{
    for (guint i = 0; i < vanishing->seen->len; i++) {
        const Seen *seen = vanishing->seen->pdata[i];
        if (seen->mapped && seen->start < gone->end && gone->start < seen->end)
            return TRUE;
    }
    return FALSE;
}

/* Whether a mapping is the latest of several files that came to the same place after each other, as versions of a
 * module that is reloaded: its addresses in a dump are those of the earlier files as well. */
static gboolean
is_reloaded(const Vanishing *vanishing, const Seen *now)
{
    enum { EARLIER = 2 };
    guint n = 0;

    for (guint i = 0; i < vanishing->seen->len; i++) {
        const Seen *seen = vanishing->seen->pdata[i];
        n += !seen->mapped && seen->start < now->end && now->start < seen->end;
    }
    return now->mapped && n >= EARLIER;
}

/* The path without the kernel's mark of a deleted file: a profile has it without. */
static char *
path_of(const Seen *seen)
{
    static const char deleted[] = " (deleted)";
    gsize length = strlen(seen->path);

    return g_strndup(seen->path, g_str_has_suffix(seen->path, deleted) ? length - strlen(deleted) : length);
}

GPtrArray *
vanishing_files(const Vanishing *vanishing)
{
    GPtrArray *files = g_ptr_array_new_with_free_func(g_free);

    for (guint i = 0; i < vanishing->seen->len; i++) {
        const Seen *seen = vanishing->seen->pdata[i];
        gboolean left = seen->left && (seen->mapped || !is_covered(vanishing, seen));
        g_autofree char *path = path_of(seen);
        if ((left || is_reloaded(vanishing, seen)) && !g_ptr_array_find_with_equal_func(files, path, g_str_equal, NULL))
            g_ptr_array_add(files, g_steal_pointer(&path));
    }
    return files;
}

/* The vanished mappings, by range. */
static GHashTable *
find_gone(const Vanishing *vanishing)
{
    GHashTable *gone = g_hash_table_new(hash_range, is_same_range);
    for (guint i = 0; i < vanishing->seen->len; i++) {
        Seen *seen = vanishing->seen->pdata[i];
        if (!seen->mapped && !is_covered(vanishing, seen))
            g_hash_table_add(gone, seen);
    }
    return gone;
}

/* A line of a memory map begins "START-END ". FALSE: this one does not. */
static gboolean
read_range(const char *line, gsize length, Seen *range)
{
    char text[2 * 16 + 3];
    char *end;
    gsize n = MIN(length, sizeof(text) - 1);
    memcpy(text, line, n);
    text[n] = '\0';
    range->start = g_ascii_strtoull(text, &end, 16);
    if (*end != '-')
        return FALSE;
    range->end = g_ascii_strtoull(end + 1, &end, 16);
    return *end == ' ';
}

/* Removes from GONE the mappings that the memory map of a dump contains. */
static void
remove_listed(GHashTable *gone, const char *map, gsize length)
{
    while (length > 0 && g_hash_table_size(gone) > 0) {
        const char *end = memchr(map, '\n', length);
        gsize line = end != NULL ? (gsize)(end - map) + 1 : length;
        Seen range = {0};
        if (read_range(map, line, &range))
            g_hash_table_remove(gone, &range);
        map += line;
        length -= line;
    }
}

static GString *
lines_of(GHashTable *gone)
{
    GString *lines = g_string_new(NULL);
    GHashTableIter iterator;
    gpointer key;
    g_hash_table_iter_init(&iterator, gone);
    while (g_hash_table_iter_next(&iterator, &key, NULL)) {
        const Seen *seen = key;
        g_string_append_printf(lines,
                               "%" G_GINT64_MODIFIER "x-%" G_GINT64_MODIFIER "x r-xp %08" G_GINT64_MODIFIER
                               "x %02x:%02x %" G_GUINT64_FORMAT " %s\n",
                               seen->start, seen->end, seen->offset, major(seen->device), minor(seen->device),
                               seen->inode, seen->path);
    }
    return lines;
}

static gboolean
write_with(int out, GMappedFile *file, gsize head, const GString *lines)
{
    const char *text = g_mapped_file_get_contents(file);
    return transfer_write(out, text, head) && transfer_write(out, lines->str, lines->len) &&
           transfer_write(out, text + head, g_mapped_file_get_length(file) - head) && lseek(out, 0, SEEK_SET) == 0;
}

int
vanishing_complete(const Vanishing *vanishing, int dump)
{
    static const char title[] = "MAPPED_LIBRARIES:\n";
    g_autoptr(GMappedFile) file = g_mapped_file_new_from_fd(dump, FALSE, NULL);
    g_autoptr(GHashTable) gone = find_gone(vanishing);
    const char *text = file != NULL ? g_mapped_file_get_contents(file) : NULL;
    gsize length = text != NULL ? g_mapped_file_get_length(file) : 0;
    const char *at = text != NULL ? g_strstr_len(text, (gssize)length, title) : NULL;
    if (at == NULL)
        return dump;
    gsize head = (gsize)(at - text) + strlen(title);
    remove_listed(gone, text + head, length - head);
    g_autoptr(GString) lines = lines_of(gone);
    int out = lines->len > 0 ? memfd_create("jescope-dump", MFD_CLOEXEC) : -1;
    if (out < 0)
        return dump;
    if (!write_with(out, file, head, lines)) {
        close(out);
        return dump;
    }
    close(dump);
    return out;
}
