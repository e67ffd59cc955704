/* SPDX-License-Identifier: Apache-2.0 */
/* Files below a directory (stored.h). A file appears once it is complete and synced, the document last. */
#include "confine/walk.h"
#include "export/own-directory.h"
#include "export/sink.h"
#include "export/stored.h"
#include "source/durable.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static gpointer new (const Destination *destination, GError **error)
{
    static const char *const none[] = {NULL};
    return destination_check_settings(destination, none, error) ? g_strdup(destination->base) : NULL;
}

/* The directory of a batch's files, below DIRECTORY, which is checked each time: push runs for months. -1 with ERROR.
 */
static int
open_place(const char *directory, const char *below, GError **error)
{
    const int base = own_directory_open(AT_FDCWD, directory, "directory", error);
    if (base < 0)
        return -1;
    const int place = walk_open_directory_at(base, below, WALK_MAKES_DIRECTORIES);
    if (place < 0)
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_FILE, "cannot create %s in %s: %s", below, directory,
                    walk_strerror(errno));
    close(base);
    return place;
}

static gboolean
store(const char *directory, const Batch *batch, ExportReply *reply, GError **error)
{
    g_autofree char *path = stored_path(batch), *below = g_path_get_dirname(path), *name = g_path_get_basename(path);
    g_autofree char *heap = g_strconcat(name, STORED_HEAP, NULL), *json = g_strconcat(name, STORED_DOCUMENT, NULL);
    g_autofree char *document = stored_document(batch);
    const int place = open_place(directory, below, error);
    if (place < 0)
        return FALSE;
    const gboolean stored = durable_write_at(place, heap, batch->heap, batch->heap_size, error) &&
                            durable_write_at(place, json, document, strlen(document), error);
    close(place);
    if (stored)
        reply->bytes += batch->heap_size + strlen(document);
    return stored;
}

static ExportOutcome
send(gpointer state, const Batch *const *batches, guint n, ExportReply *reply, GError **error)
{
    for (guint i = 0; i < n; i++)
        if (!store(state, batches[i], reply, error)) {
            reply->doubtful = TRUE;
            return EXPORT_LATER;
        }
    return EXPORT_SENT;
}

const ExportSink directory_sink = {
    .name = "directory",
    .summary = "a dump with names and a JSON document per batch, in files",
    .form = "directory:///PATH",
    .transport = EXPORT_FILES,
    .flags = EXPORT_WANTS_HEAP,
    .max_batches = 1,
    .new = new,
    .free = g_free,
    .send = send,
};
