/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to every route with a simulated host. Input: one byte of setup, then a request per line: method, path, query
 * and body, separated by tabs.
 */
#include "routes/query.h"

#include "fake-host.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    SETUP_NO_JEMALLOC = 1,
    SETUP_NO_PROF = 2,
    SETUP_PROF_FALSE = 4,
    SETUP_OLD = 8,
    SETUP_ACTIVE = 16,
    SETUP_DUMPS_FAIL = 32,
    SETUP_RENDERING_FAILS = 64,
    SETUP_WRITES_FAIL = 128,

    LINE_MAX_SIZE = 4096,
    N_FIELDS = 4,
    SOON_MS = 2000, /* routes wait for recordings shorter than this */
};

static void
set_up(uint8_t options)
{
    fake_reset();
    fake.reachable = (options & SETUP_NO_JEMALLOC) != 0 ? OUTCOME_NO_JEMALLOC : OUTCOME_DONE;
    fake.hello.flags &= ~(uint32_t)((options & SETUP_NO_PROF) != 0 ? WIRE_FLAG_CONFIG_PROF : 0);
    fake.hello.flags &= ~(uint32_t)((options & SETUP_PROF_FALSE) != 0 ? WIRE_FLAG_OPT_PROF : 0);
    fake.active = (options & SETUP_ACTIVE) != 0;
    fake.dump_result = (options & SETUP_DUMPS_FAIL) != 0 ? OUTCOME_CONTROL_FAILED : OUTCOME_DONE;
    fake.render_result = (options & SETUP_RENDERING_FAILS) != 0 ? OUTCOME_SYSTEM : OUTCOME_DONE;
    fake.write_result = (options & SETUP_WRITES_FAIL) != 0 ? OUTCOME_CONTROL_FAILED : OUTCOME_DONE;
    if ((options & SETUP_OLD) != 0)
        strcpy(fake.hello.jemalloc_version, "5.2.1-0-g1");
}

/* Checks that the header lines are complete and contain no line ends. */
static void
check_headers(const char *headers)
{
    while (*headers != '\0') {
        const char *end = strstr(headers, "\r\n");
        const char *colon = strstr(headers, ": ");
        if (end == NULL || colon == NULL || colon > end || strcspn(headers, "\r\n") != (size_t)(end - headers))
            abort();
        headers = end + 2;
    }
}

static void
check_reply(const RouteReply *reply, bool native)
{
    if (reply->status < 200 || reply->status > 599 || strnlen(reply->headers, ROUTE_HEADERS_MAX) == ROUTE_HEADERS_MAX ||
        (reply->descriptor < 0 && reply->body_size > sizeof(reply->body)))
        abort();
    check_headers(reply->headers);
    /* Reports are not produced by the routes. */
    if (native && reply->content_type != NULL && strcmp(reply->content_type, "application/json") == 0 &&
        reply->descriptor < 0) {
        json_t *value = json_loads(fake_body(), JSON_DECODE_ANY, NULL);
        if (value == NULL)
            abort();
        json_decref(value);
    }
}

/* Whether the route would sleep; such requests are skipped. */
static bool
would_sleep(const Route *route, const char *query)
{
    QueryValue seconds;
    return (route->flags & ROUTE_WAITING) != 0 && query_find(query, "seconds", &seconds) != QUERY_ABSENT;
}

static void
ask(char *line)
{
    char *fields[N_FIELDS];
    for (size_t i = 0; i < N_FIELDS; i++) {
        char *tab = strchr(line, '\t');
        fields[i] = line;
        line = tab != NULL ? tab + 1 : line + strlen(line);
        if (tab != NULL)
            *tab = '\0';
    }
    const RouteRequest request = {fields[0], fields[1], fields[2], fields[3], strlen(fields[3])};
    const RouteMatch match = routes_find(routes_tables, ROUTE_DIALECT_ALL, &request);
    bool matched = match.state == ROUTE_MATCHED;
    if (matched && would_sleep(match.route, fields[2]))
        return;
    check_reply(fake_ask(&request), matched && match.route->dialect == ROUTE_DIALECT_NATIVE);
    if (fake.n_recordings > 0 && fake.recordings[0].state == ROUTE_RECORDING_RUNNING)
        fake.recordings[0].remaining_ms += SOON_MS;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char line[LINE_MAX_SIZE];
    if (size == 0)
        return 0;
    set_up(data[0]);
    for (size_t at = 1; at < size;) {
        const uint8_t *end = memchr(data + at, '\n', size - at);
        size_t n = end != NULL ? (size_t)(end - data) - at : size - at;
        size_t kept = n < sizeof(line) - 1 ? n : sizeof(line) - 1;
        memcpy(line, data + at, kept);
        line[kept] = '\0';
        ask(line);
        at += n + 1;
    }
    return 0;
}
