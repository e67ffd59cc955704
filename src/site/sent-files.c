/* SPDX-License-Identifier: Apache-2.0 */
#include "site/sent-files.h"

#include "target/own-room.h"

#include <sys/random.h>
#include <sys/stat.h>

enum {
    KEY_SIZE = 24,
};

struct SentFiles {
    HeldFiles *held;
    GQueue rows; /* of SentFile, the latest first */
};

static void
free_row(gpointer data)
{
    SentFile *file = data;
    g_free(file->name);
    g_free(file);
}

SentFiles *
sent_files_new(void)
{
    SentFiles *files = g_new0(SentFiles, 1);
    files->held = held_files_new(
        &(HeldFilesLimits){.number = HELD_FILES_MAX, .bytes = SENT_FILES_BYTES, .has_room = own_room_may_hold});
    g_queue_init(&files->rows);
    return files;
}

void
sent_files_free(SentFiles *files)
{
    g_queue_clear_full(&files->rows, free_row);
    held_files_free(files->held);
    g_free(files);
}

static const char *
key_of(char key[static KEY_SIZE], guint64 id)
{
    g_snprintf(key, KEY_SIZE, "%" G_GUINT64_FORMAT, id);
    return key;
}

/* The id cannot be guessed. */
static guint64
new_id(void)
{
    guint64 id = 0;
    while (id == 0)
        if (getrandom(&id, sizeof(id), 0) != (ssize_t)sizeof(id))
            g_error("the kernel has no random bytes for the id of a file");
    return id;
}

int
sent_files_open(SentFiles *files, guint64 id)
{
    char key[KEY_SIZE];
    return held_files_find(files->held, key_of(key, id));
}

/* The row of ID, if the file is still held: others may have displaced it. */
static GList *
find_link(SentFiles *files, guint64 id)
{
    for (GList *at = files->rows.head; at != NULL; at = at->next) {
        char key[KEY_SIZE];
        if (((const SentFile *)at->data)->id != id)
            continue;
        if (held_files_has(files->held, key_of(key, id)))
            return at;
        free_row(at->data);
        g_queue_delete_link(&files->rows, at);
        return NULL;
    }
    return NULL;
}

const SentFile *
sent_files_add(SentFiles *files, const SentFile *file, int fd)
{
    char key[KEY_SIZE];
    struct stat status;
    SentFile *row = g_new(SentFile, 1);
    *row = *file;
    row->id = new_id();
    row->name = g_strdup(file->name);
    row->bytes = fstat(fd, &status) == 0 ? (guint64)status.st_size : 0;
    if (held_files_add(files->held, key_of(key, row->id), file->payer, fd)) {
        g_queue_push_head(&files->rows, row);
        return row;
    }
    free_row(row);
    return NULL;
}

const SentFile *
sent_files_find(SentFiles *files, guint64 id)
{
    const GList *found = find_link(files, id);
    return found != NULL ? found->data : NULL;
}

HeldFilesKeep
sent_files_keep(SentFiles *files, guint64 id)
{
    char key[KEY_SIZE];
    GList *found = find_link(files, id);
    HeldFilesKeep result = found != NULL ? held_files_keep(files->held, key_of(key, id)) : HELD_FILES_NONE;
    if (result == HELD_FILES_DONE)
        ((SentFile *)found->data)->kept = TRUE;
    return result;
}

gboolean
sent_files_remove(SentFiles *files, guint64 id)
{
    char key[KEY_SIZE];
    GList *found = find_link(files, id);
    if (found == NULL)
        return FALSE;
    free_row(found->data);
    g_queue_delete_link(&files->rows, found);
    return held_files_remove(files->held, key_of(key, id));
}

void
sent_files_each_kept(SentFiles *files, void (*each)(const SentFile *file, gpointer data), gpointer data)
{
    for (const GList *at = files->rows.head; at != NULL; at = at->next)
        if (((const SentFile *)at->data)->kept)
            each(at->data, data);
}

void
sent_files_expire(SentFiles *files)
{
    held_files_expire(files->held, g_get_monotonic_time());
    for (GList *at = files->rows.head, *after; at != NULL; at = after) {
        after = at->next;
        char key[KEY_SIZE];
        if (!held_files_has(files->held, key_of(key, ((const SentFile *)at->data)->id))) {
            free_row(at->data);
            g_queue_delete_link(&files->rows, at);
        }
    }
}
