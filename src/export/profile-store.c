/* SPDX-License-Identifier: Apache-2.0 */
#include "export/profile-store.h"

#include <string.h>

gpointer
profile_store_new(const ProfileStore *store, const Destination *destination, GError **error)
{
    static const char *const known[] = {"tenant", NULL};
    if (!destination_check_settings(destination, known, error))
        return NULL;
    Http *http = http_new(destination, HTTP_BEARER, NULL, error);
    ProfileStoreState *state = http != NULL ? g_new(ProfileStoreState, 1) : NULL;
    if (state != NULL)
        *state = (ProfileStoreState){store, http, g_strconcat(destination->base, store->path, NULL)};
    return state;
}

void
profile_store_free(gpointer data)
{
    ProfileStoreState *state = data;
    http_free(state->http);
    g_free(state->url);
    g_free(state);
}

/* Fails if the store would refuse the dump because of its time. */
static gboolean
check_age(const ProfileStore *store, const Batch *batch, GError **error)
{
    gint64 age = g_get_real_time() - batch->dump.time;
    if ((store->oldest_us == 0 || age <= store->oldest_us) && (store->newest_us == 0 || -age <= store->newest_us))
        return TRUE;
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_ANSWER,
                "it is of another time than %s accepts: %" G_GINT64_FORMAT " minutes %s", store->path,
                ABS(age) / G_USEC_PER_SEC / 60, age > 0 ? "old" : "ahead of this host's clock");
    return FALSE;
}

/* The request's body, to be freed; NULL with ERROR if the batch cannot be sent. */
static char *
body_of(const ProfileStore *store, const Batch *batch, GError **error)
{
    gsize left_out;
    PprofRest rest;
    g_autoptr(GArray) labels = series_labels(batch, &store->series, &left_out);
    g_autofree char *note = series_note(left_out);
    const char *const notes[] = {note, NULL};
    g_autoptr(GByteArray) profile = pprof_of_batch(batch, &store->profile, notes, &rest);
    if (profile == NULL) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_ANSWER, "not even its heaviest stack is within %s's limits",
                    store->path);
        return NULL;
    }
    g_autoptr(GBytes) packed = pprof_gzip(profile);
    g_autofree char *text = g_base64_encode(g_bytes_get_data(packed, NULL), g_bytes_get_size(packed));
    json_t *document = store->document(batch, series_json(labels), text);
    char *body = json_dumps(document, JSON_COMPACT);
    json_decref(document);
    return body;
}

static ExportOutcome
send_one(const ProfileStoreState *state, const Batch *batch, ExportReply *reply, GError **error)
{
    if (!check_age(state->store, batch, error))
        return EXPORT_REFUSED;
    char *body = body_of(state->store, batch, error);
    if (body == NULL)
        return EXPORT_REFUSED;
    const char *const headers[] = {"Content-Type: application/json", NULL};
    const HttpRequest request = {
        .method = "POST", .url = state->url, .headers = headers, .body = body, .length = strlen(body)};
    ExportOutcome outcome = http_deliver(state->http, &request, reply, error);
    free(body);
    return outcome;
}

ExportOutcome
profile_store_send(gpointer state, const Batch *const *batches, guint n, ExportReply *reply, GError **error)
{
    ExportOutcome outcome = EXPORT_SENT;
    for (guint i = 0; i < n && outcome == EXPORT_SENT; i++)
        outcome = send_one(state, batches[i], reply, error);
    return outcome;
}
