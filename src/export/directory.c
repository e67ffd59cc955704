/* SPDX-License-Identifier: Apache-2.0 */
/* Files below a directory (stored.h). A file appears once it is complete and synced, the document last. */
#include "confine/walk.h"
#include "export/own-directory.h"
#include "export/sink.h"
#include "export/stored.h"
#include "source/durable.h"

#include <errno.h>
#include <unistd.h>

static gpointer new (const Destination *destination, GError **error)
{
    static const char *const none[] = {NULL};
    return destination_check_settings(destination, none, error) ? g_strdup(destination->base) : NULL;
}

static gboolean
store(const char *directory, const Batch *batch, ExportReply *reply, GError **error)
{
    g_autofree char *path = stored_path(batch), *base = g_build_filename(directory, path, NULL);
    g_autofree char *heap = g_strconcat(base, STORED_HEAP, NULL), *json = g_strconcat(base, STORED_DOCUMENT, NULL);
    g_autofree char *parent = g_path_get_dirname(base);
    g_autofree char *document = stored_document(batch);
    if (!own_directory_make(directory, "directory", error))
        return FALSE;
    const int made = walk_open_directory(parent, WALK_MAKES_DIRECTORIES);
    if (made < 0) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_FILE, "cannot create %s: %s", parent, walk_strerror(errno));
        return FALSE;
    }
    close(made);
    if (!durable_write(heap, batch->heap, batch->heap_size, error) ||
        !durable_write(json, document, strlen(document), error))
        return FALSE;
    reply->bytes += batch->heap_size + strlen(document);
    return TRUE;
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
