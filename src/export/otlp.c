/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OTLP over HTTP with protobuf (https://opentelemetry.io/docs/specs/otlp/): metrics to PATH/v1/metrics, and with
 * ?profiles=yes, which is experimental as that signal is, profiles to PATH/v1development/profiles. A batch that is sent
 * twice has the same times, values and profile ids.
 */
#include "export/otlp.h"

#include "export/http.h"
#include "export/pprof.h"

#include <string.h>

typedef struct {
    Http *http;
    char *metrics, *profiles; /* URLs; profiles NULL: not sent */
} State;

static gpointer new (const Destination *destination, GError **error)
{
    static const char *const known[] = {"tenant", "profiles", NULL};
    const char *profiles = destination_setting(destination, "profiles", "no");
    if (!destination_check_settings(destination, known, error))
        return NULL;
    if (strcmp(profiles, "yes") != 0 && strcmp(profiles, "no") != 0) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_DESTINATION,
                    "cannot push to '%s': profiles=%s is neither yes nor no", destination->text, profiles);
        return NULL;
    }
    Http *http = http_new(destination, HTTP_BEARER, NULL, error);
    if (http == NULL)
        return NULL;
    State *state = g_new0(State, 1);
    state->http = http;
    state->metrics = g_strconcat(destination->base, "/v1/metrics", NULL);
    if (profiles[0] == 'y')
        state->profiles = g_strconcat(destination->base, "/v1development/profiles", NULL);
    return state;
}

static void
release(gpointer data)
{
    State *state = data;
    http_free(state->http);
    g_free(state->metrics);
    g_free(state->profiles);
    g_free(state);
}

/* Takes ownership of BODY. */
static ExportOutcome
post(const State *state, const char *url, GByteArray *body, ExportReply *reply, GError **error)
{
    static const char *const headers[] = {"Content-Type: application/x-protobuf", "Content-Encoding: gzip", NULL};
    g_autoptr(GByteArray) plain = body;
    g_autoptr(GBytes) packed = pprof_gzip(plain);
    g_auto(HttpAnswer) answer = {0};
    HttpRequest request = {.method = "POST", .url = url, .headers = headers};
    request.body = g_bytes_get_data(packed, &request.length);
    if (!http_send(state->http, &request, &answer, error))
        return EXPORT_LATER;
    reply->bytes += request.length;
    ExportOutcome outcome = http_outcome(state->http, &answer, reply, error);
    guint64 rejected = outcome == EXPORT_SENT ? otlp_rejected(answer.body->str, answer.body->len) : 0;
    if (rejected == 0)
        return outcome;
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_ANSWER, "%s did not accept %" G_GUINT64_FORMAT " of them", url,
                rejected);
    return EXPORT_REFUSED;
}

static ExportOutcome
send(gpointer data, const Batch *const *batches, guint n, ExportReply *reply, GError **error)
{
    const State *state = data;
    ExportOutcome outcome = post(state, state->metrics, otlp_metrics(batches[0]), reply, error);
    if (outcome == EXPORT_SENT && state->profiles != NULL)
        outcome = post(state, state->profiles, otlp_profiles(batches[0]), reply, error);
    return outcome;
}

const ExportSink otlp_sink = {
    .name = "otlp",
    .summary = "statistics, ledger and totals as metrics of OpenTelemetry, and profiles (experimental)",
    .form = "otlp://HOST[:PORT][/PATH][?profiles=yes]",
    .transport = EXPORT_TLS,
    .max_batches = 1,
    .new = new,
    .free = release,
    .send = send,
};
