/* SPDX-License-Identifier: Apache-2.0 */
#include "export/http.h"

#include "client/bounded-transfer.h"
#include "client/head.h"
#include "client/loopback.h"
#include "client/token.h"
#include "text/printable.h"

#include <stdio.h>
#include <string.h>

enum {
    CONNECT_MS = 10000,
    RETRY_MAX_S = 3600,
    QUOTE_MAX = 400, /* bytes of an answer quoted in a message: ClickHouse gives the reason after the path of a file */
    STATUS_OK = 200,
    STATUS_REDIRECT = 300,
    STATUS_BAD_REQUEST = 400,
    STATUS_TOO_LARGE = 413,
    STATUS_UNPROCESSABLE = 422,
};

/* Status codes that do not depend on the content: wrong token, overloaded or missing server. */
static const long independent_of_content[] = {401, 403, 407, 408, 429, 502, 503, 504};

/* The answer being received. */
typedef struct {
    HttpAnswer answer;
    guint64 limit;
    Head head;
} Arrival;

struct Http {
    gatomicrefcount references; /* of the owner, and of a request in progress */
    gint is_busy;               /* atomic: a request is in progress, which alone uses what libcurl's callbacks do */
    CURL *curl;
    char *origin;        /* for messages */
    char *authorization; /* a header, or NULL */
    char *tenant;        /* a header, or NULL; X-Scope-OrgID */
    gboolean is_signed;
    const Destination *destination;
    Loopback loopback;
    struct curl_slist *headers; /* of the request */
    Arrival arrival;
    char failure[CURL_ERROR_SIZE];
};

void
http_answer_clear(HttpAnswer *answer)
{
    if (answer->body != NULL)
        g_string_free(g_steal_pointer(&answer->body), TRUE);
}

/* ---- setting up ---- */

/* Reads the two words of the line FORM from the file PATH. A line "ROLE TOKEN" has as many, but is for another
 * receiver.
 */
static GStrv
read_pair(const char *path, const char *form, GError **error)
{
    g_autofree char *text = token_file_read(path, error);
    if (text == NULL)
        return NULL;
    g_auto(GStrv) words = g_strsplit_set(g_strstrip(text), " \t\r\n", -1);
    if (g_strv_length(words) != 2 || words[0][0] == '\0' || words[1][0] == '\0')
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_DESTINATION, "the token file %s must have one line, %s", path,
                    form);
    else if (token_is_role(words[0]))
        g_set_error(
            error, EXPORT_ERROR, EXPORT_ERROR_DESTINATION,
            "the token file %s has a token of 'jescope serve' with the role '%s'; give a file with one line, %s", path,
            words[0], form);
    else
        return g_steal_pointer(&words);
    return NULL;
}

static gboolean
add_bearer(Http *http, const char *token_file, GError **error)
{
    g_autofree char *token = token_read(token_file, error);
    if (token != NULL)
        http->authorization = g_strconcat("Authorization: Bearer ", token, NULL);
    return token != NULL;
}

static gboolean
add_basic(Http *http, const char *token_file, GError **error)
{
    g_auto(GStrv) words = read_pair(token_file, "USER PASSWORD", error);
    if (words == NULL)
        return FALSE;
    g_autofree char *pair = g_strjoinv(":", words);
    g_autofree char *coded = g_base64_encode((const guchar *)pair, strlen(pair));
    http->authorization = g_strconcat("Authorization: Basic ", coded, NULL);
    return TRUE;
}

static gboolean
add_signature(Http *http, const char *token_file, const char *region, GError **error)
{
    g_auto(GStrv) key = read_pair(token_file, "KEY-ID SECRET", error);
    g_autofree char *scheme = g_strdup_printf("aws:amz:%s:s3", region);
    if (key == NULL)
        return FALSE;
    http->is_signed = TRUE;
    curl_library.curl_easy_setopt(http->curl, CURLOPT_AWS_SIGV4, scheme);
    curl_library.curl_easy_setopt(http->curl, CURLOPT_USERNAME, key[0]); /* a Swift key id has a colon */
    curl_library.curl_easy_setopt(http->curl, CURLOPT_PASSWORD, key[1]);
    return TRUE;
}

/* An invalid file is reported as a configuration error of the destination. */
static gboolean
add_credentials(Http *http, const char *token_file, HttpCredentials credentials, const char *region, GError **error)
{
    g_autoptr(GError) fault = NULL;
    gboolean fine = credentials == HTTP_SIGNED  ? add_signature(http, token_file, region, &fault)
                    : credentials == HTTP_BASIC ? add_basic(http, token_file, &fault)
                                                : add_bearer(http, token_file, &fault);
    if (!fine)
        g_set_error_literal(error, EXPORT_ERROR, EXPORT_ERROR_DESTINATION, fault->message);
    return fine;
}

static size_t on_header(char *data, size_t one, size_t n, void *user);
static size_t on_body(char *data, size_t one, size_t n, void *user);

/* Before a request is sent unencrypted. */
static int
on_connected(void *user, char *address, char *own_address, int port, int own_port)
{
    Http *http = user;
    return loopback_may_have(&http->loopback, address, port, own_address, own_port) ? CURL_PREREQFUNC_OK
                                                                                    : CURL_PREREQFUNC_ABORT;
}

static void
set_up(Http *http, const ExportAccess *access)
{
    CURL *curl = http->curl;
    curl_library.curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, http->failure);
    curl_library.curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_library.curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_library.curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_library.curl_easy_setopt(curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    curl_library.curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    curl_library.curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_library.curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    /* Without this, libcurl waits up to a second for "100 Continue" before it sends a large body. */
    curl_library.curl_easy_setopt(curl, CURLOPT_EXPECT_100_TIMEOUT_MS, 1L);
    curl_library.curl_easy_setopt(curl, CURLOPT_USERAGENT, "jescope");
    curl_library.curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
    curl_library.curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    if (g_str_has_prefix(http->origin, "http:")) {
        http->loopback.named = http->destination->server_user;
        curl_library.curl_easy_setopt(curl, CURLOPT_PREREQFUNCTION, on_connected);
        curl_library.curl_easy_setopt(curl, CURLOPT_PREREQDATA, http);
        loopback_skip_refused(&http->loopback, curl);
    }
    if (access->ca_file != NULL) {
        curl_library.curl_easy_setopt(curl, CURLOPT_CAINFO, access->ca_file);
        /* Otherwise libcurl also trusts the system's certificate directory. */
        curl_library.curl_easy_setopt(curl, CURLOPT_CAPATH, NULL);
    }
    if (access->cert_file != NULL) {
        curl_library.curl_easy_setopt(curl, CURLOPT_SSLCERT, access->cert_file);
        curl_library.curl_easy_setopt(curl, CURLOPT_SSLKEY, access->key_file);
    }
}

Http *
http_new(const Destination *destination, HttpCredentials credentials, const char *region, GError **error)
{
    g_autoptr(Http) http = NULL;
    const char *token_file = destination->access.token_file;
    if (!curl_library_load("pushes over HTTP", error))
        return NULL;
    http = g_new0(Http, 1);
    g_atomic_ref_count_init(&http->references);
    http->origin = g_strdup(destination->origin);
    http->destination = destination;
    http->curl = curl_library.curl_easy_init();
    const char *tenant = destination_setting(destination, "tenant", NULL);
    http->tenant = tenant != NULL ? g_strconcat("X-Scope-OrgID: ", tenant, NULL) : NULL;
    set_up(http, &destination->access);
    return token_file == NULL || add_credentials(http, token_file, credentials, region, error) ? g_steal_pointer(&http)
                                                                                               : NULL;
}

void
http_free(Http *http)
{
    if (!g_atomic_ref_count_dec(&http->references))
        return;
    http_answer_clear(&http->arrival.answer);
    curl_library.curl_slist_free_all(http->headers);
    curl_library.curl_easy_cleanup(http->curl);
    g_free(http->origin);
    g_free(http->authorization);
    g_free(http->tenant);
    g_free(http);
}

/* ---- one request ---- */

/* Parses the value of Retry-After, a number or a date, to seconds from now. */
static guint
retry_after(const char *value)
{
    guint64 seconds;
    if (g_ascii_string_to_unsigned(value, 10, 0, G_MAXUINT32, &seconds, NULL))
        return (guint)MIN(seconds, RETRY_MAX_S);
    g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
    int day, year, hour, minute, second;
    char month[4];
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    if (sscanf(value, "%*3s, %2d %3s %4d %2d:%2d:%2d GMT", &day, month, &year, &hour, &minute, &second) != 6)
        return 0;
    const char *place = strstr(months, month);
    g_autoptr(GDateTime) date =
        place != NULL ? g_date_time_new(utc, year, (int)(place - months) / 3 + 1, day, hour, minute, second) : NULL;
    gint64 left = date != NULL ? g_date_time_to_unix(date) - g_get_real_time() / G_USEC_PER_SEC : 0;
    return (guint)CLAMP(left, 0, RETRY_MAX_S);
}

static size_t
on_header(char *data, size_t one, size_t n, void *user)
{
    static const char name[] = "retry-after:";
    Arrival *arrival = user;
    if (!head_take(&arrival->head, data, n))
        return 0;
    g_autofree char *line = g_strstrip(g_strndup(data, n));
    if (g_ascii_strncasecmp(line, name, strlen(name)) == 0)
        arrival->answer.retry_after_s = retry_after(g_strchug(line + strlen(name)));
    return n;
}

static size_t
on_body(char *data, size_t one, size_t n, void *user)
{
    Arrival *arrival = user;
    GString *body = arrival->answer.body;
    gsize room = arrival->limit - body->len;
    g_string_append_len(body, data, (gssize)MIN(n, room));
    arrival->answer.cut = n > room;
    return n <= room ? n : 0;
}

static struct curl_slist *
headers_of(const Http *http, const HttpRequest *request)
{
    struct curl_slist *headers = NULL;
    for (const char *const *header = request->headers; header != NULL && *header != NULL; header++)
        headers = curl_library.curl_slist_append(headers, *header);
    if (http->authorization != NULL)
        headers = curl_library.curl_slist_append(headers, http->authorization);
    if (http->tenant != NULL)
        headers = curl_library.curl_slist_append(headers, http->tenant);
    if (http->is_signed) {
        g_autofree char *digest = g_compute_checksum_for_data(G_CHECKSUM_SHA256, request->body, request->length);
        g_autofree char *header = g_strconcat("x-amz-content-sha256: ", digest, NULL);
        headers = curl_library.curl_slist_append(headers, header);
    }
    return headers;
}

static void
release(gpointer data)
{
    Http *http = data;
    g_atomic_int_set(&http->is_busy, FALSE);
    http_free(http);
}

static guint
deadline_of(const HttpRequest *request)
{
    return request->deadline_ms != 0 ? request->deadline_ms : HTTP_DEADLINE_MS;
}

static void
prepare(Http *http, const HttpRequest *request)
{
    CURL *curl = http->curl;
    http_answer_clear(&http->arrival.answer);
    curl_library.curl_slist_free_all(http->headers);
    http->headers = headers_of(http, request);
    http->arrival = (Arrival){.answer = {.body = g_string_new(NULL)},
                              .limit = request->limit != 0 ? request->limit : HTTP_ANSWER_MAX};
    curl_library.curl_easy_setopt(curl, CURLOPT_URL, request->url);
    if (g_str_equal(request->method, "GET")) {
        curl_library.curl_easy_setopt(curl, CURLOPT_HTTPGET, 1L);
    } else {
        /* A copy, since the request may last longer than its owner. */
        curl_library.curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->length);
        curl_library.curl_easy_setopt(curl, CURLOPT_COPYPOSTFIELDS, request->length > 0 ? request->body : "");
    }
    curl_library.curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method);
    curl_library.curl_easy_setopt(curl, CURLOPT_HTTPHEADER, http->headers);
    curl_library.curl_easy_setopt(curl, CURLOPT_HEADERDATA, &http->arrival);
    curl_library.curl_easy_setopt(curl, CURLOPT_WRITEDATA, &http->arrival);
    http->failure[0] = '\0';
}

/* Unless an earlier request is still in progress, which was left behind. */
static BoundedTransferEnd
perform(Http *http, const HttpRequest *request, CURLcode *code)
{
    const BoundedTransfer transfer = {.curl = http->curl,
                                      .receiver = http->origin,
                                      .deadline_ms = deadline_of(request),
                                      .loopback = &http->loopback,
                                      .is_over = http->destination->is_over,
                                      .data = http->destination->is_over_data,
                                      .state = http,
                                      .release = release};
    if (!g_atomic_int_compare_and_exchange(&http->is_busy, FALSE, TRUE))
        return BOUNDED_TRANSFER_REFUSED;
    g_atomic_ref_count_inc(&http->references);
    prepare(http, request);
    return bounded_transfer_perform(&transfer, code);
}

gboolean
http_send(Http *http, const HttpRequest *request, HttpAnswer *answer, GError **error)
{
    CURLcode code = CURLE_OK;
    *answer = (HttpAnswer){0};
    const BoundedTransferEnd end = perform(http, request, &code);
    if (end != BOUNDED_TRANSFER_ENDED) {
        g_autofree char *failure = bounded_transfer_failure(end, http->origin);
        g_set_error_literal(error, EXPORT_ERROR, EXPORT_ERROR_UNREACHED, failure);
        return FALSE;
    }
    *answer = http->arrival.answer;
    http->arrival.answer = (HttpAnswer){0};
    curl_library.curl_easy_setopt(http->curl, CURLOPT_POSTFIELDS, NULL); /* frees the copy */
    curl_library.curl_easy_getinfo(http->curl, CURLINFO_RESPONSE_CODE, &answer->status);
    if (code == CURLE_OK || (code == CURLE_WRITE_ERROR && answer->cut))
        return TRUE;
    if (http->loopback.is_refused) {
        g_autofree char *remedy = g_strdup_printf("if this user runs the receiver, add server-user=%u to the URL",
                                                  (unsigned)http->loopback.stranger);
        g_autofree char *refusal = loopback_refusal(&http->loopback, http->origin, remedy);
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_UNREACHED, "%s", refusal);
        http_answer_clear(answer);
        return FALSE;
    }
    const char *why = head_is_too_large(&http->arrival.head) ? "the headers of its answer are larger than 64 KiB"
                      : head_is_coded_again(&http->arrival.head)
                          ? "its answer is compressed more than once, or a header is folded"
                      : code == CURLE_ABORTED_BY_CALLBACK ? "no answer before the end of the time or a signal"
                      : http->failure[0] != '\0'          ? http->failure
                                                          : curl_library.curl_easy_strerror(code);
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_UNREACHED, "%s did not take it: %s", http->origin, why);
    http_answer_clear(answer);
    return FALSE;
}

/* ---- outcomes ---- */

static void
set_answered(const Http *http, const HttpAnswer *answer, GError **error)
{
    g_autofree char *said = g_strndup(answer->body->str, QUOTE_MAX);
    const char *to = NULL;
    text_clean(said, strlen(said) + 1);
    g_strdelimit(said, "\n\t", ' ');
    curl_library.curl_easy_getinfo(http->curl, CURLINFO_REDIRECT_URL, &to);
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_ANSWER, "%s answered with status %ld%s%s%s%s", http->origin,
                answer->status, to != NULL ? " and refers, which is not followed, to " : "", to != NULL ? to : "",
                said[0] != '\0' ? ": " : "", g_strstrip(said));
}

static gboolean
is_doubtful(long status)
{
    for (gsize i = 0; i < G_N_ELEMENTS(independent_of_content); i++)
        if (status == independent_of_content[i])
            return FALSE;
    return TRUE;
}

ExportOutcome
http_outcome(const Http *http, const HttpAnswer *answer, ExportReply *reply, GError **error)
{
    if (answer->status >= STATUS_OK && answer->status < STATUS_REDIRECT)
        return EXPORT_SENT;
    reply->retry_after_s = answer->retry_after_s;
    reply->doubtful = is_doubtful(answer->status);
    set_answered(http, answer, error);
    return answer->status == STATUS_BAD_REQUEST || answer->status == STATUS_TOO_LARGE ||
                   answer->status == STATUS_UNPROCESSABLE
               ? EXPORT_REFUSED
               : EXPORT_LATER;
}

ExportOutcome
http_deliver(Http *http, const HttpRequest *request, ExportReply *reply, GError **error)
{
    g_auto(HttpAnswer) answer = {0};
    if (!http_send(http, request, &answer, error))
        return EXPORT_LATER;
    reply->bytes += request->length;
    return http_outcome(http, &answer, reply, error);
}
