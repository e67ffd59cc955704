/* SPDX-License-Identifier: Apache-2.0 */
/* Stored files (stored.h) below a URL, by HTTP PUT; the document is sent last. */
#include "export/put.h"

#include "export/stored.h"

#include <string.h>

gpointer
put_new(const Destination *destination, HttpCredentials credentials, const char *region, GError **error)
{
    Http *http = http_new(destination, credentials, region, error);
    PutState *state = http != NULL ? g_new(PutState, 1) : NULL;
    if (state != NULL)
        *state = (PutState){destination, http};
    return state;
}

void
put_free(gpointer state)
{
    http_free(((PutState *)state)->http);
    g_free(state);
}

static ExportOutcome
put(const PutState *state, const char *path, const char *type, GBytes *content, ExportReply *reply, GError **error)
{
    /* The S3 signature covers the path as sent, which must be in the server's canonical form: "%2B", not "+". */
    g_autofree char *escaped = g_uri_escape_string(path, "/", FALSE);
    g_autofree char *url = g_strconcat(state->destination->base, "/", escaped, NULL);
    const char *const headers[] = {type, NULL};
    HttpRequest request = {.method = "PUT", .url = url, .headers = headers};
    request.body = g_bytes_get_data(content, &request.length);
    return http_deliver(state->http, &request, reply, error);
}

static ExportOutcome
put_batch(const PutState *state, const Batch *batch, ExportReply *reply, GError **error)
{
    g_autofree char *path = stored_path(batch), *document = stored_document(batch);
    g_autofree char *heap = g_strconcat(path, STORED_HEAP, NULL), *json = g_strconcat(path, STORED_DOCUMENT, NULL);
    g_autoptr(GBytes) dump = g_bytes_new_static(batch->heap, batch->heap_size);
    g_autoptr(GBytes) text = g_bytes_new_static(document, strlen(document));
    ExportOutcome outcome = put(state, heap, "Content-Type: application/gzip", dump, reply, error);
    return outcome == EXPORT_SENT ? put(state, json, "Content-Type: application/json", text, reply, error) : outcome;
}

ExportOutcome
put_send(gpointer state, const Batch *const *batches, guint n, ExportReply *reply, GError **error)
{
    ExportOutcome outcome = EXPORT_SENT;
    for (guint i = 0; i < n && outcome == EXPORT_SENT; i++)
        outcome = put_batch(state, batches[i], reply, error);
    return outcome;
}

static gpointer new (const Destination *destination, GError **error)
{
    static const char *const none[] = {NULL};
    return destination_check_settings(destination, none, error) ? put_new(destination, HTTP_BEARER, NULL, error) : NULL;
}

const ExportSink put_sink = {
    .name = "put",
    .summary = "the same two files by HTTP PUT",
    .form = "put://HOST[:PORT]/PATH",
    .transport = EXPORT_TLS,
    .flags = EXPORT_WANTS_HEAP,
    .max_batches = 1,
    .new = new,
    .free = put_free,
    .send = put_send,
};
