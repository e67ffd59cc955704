/* SPDX-License-Identifier: Apache-2.0 */
/* Values from clients and operators that src/http parses: the first byte chooses the parser. */
#include "history/selector.h"
#include "http/address.h"
#include "http/guard.h"
#include "http/gzip.h"
#include "http/tokens.h"
#include "site/resolved.h"
#include "site/series-query.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
read_address(const char *text)
{
    Address address;
    if (!address_parse(text, &address, NULL))
        return;
    /* An accepted address is printed in a form that parses to the same. */
    Address again;
    g_autofree char *name = address_format(&address);
    g_assert_true(address_parse(name, &again, NULL));
    g_assert_cmpint(address_is_local(&again), ==, address_is_local(&address));
}

static void
read_tokens(const char *text)
{
    RouteRole role;
    g_autoptr(Tokens) tokens = tokens_parse(text, "file", NULL);
    if (tokens != NULL)
        tokens_find(tokens, text, &role);
}

static void
read_headers(const char *text)
{
    static const GuardRules rules = {0};
    gzip_is_accepted(text);
    answer_etag_matches("\"1\"", text);
    /* A literal address of another machine is never ours. */
    if (guard_host_is_ours(&rules, text, EXCHANGE_LOCAL, NULL))
        g_assert_false(g_str_has_prefix(text, "10."));
}

static void
read_series(const char *text)
{
    SeriesRequest request;
    if (!series_request_parse(text, G_USEC_PER_SEC, &request, NULL))
        return;
    g_assert_cmpint(request.range.from_us, <, request.range.to_us);
    g_assert_nonnull(request.write);
    for (char **word = request.selectors; *word != NULL; word++) {
        Selector selector;
        if (selector_parse(*word, &selector, NULL))
            selector_clear(&selector);
    }
    series_request_clear(&request);
}

/* "METHOD PATH?QUERY": every request must match a row of the table or get a specific answer. */
static void
read_request(const char *text)
{
    static char alias[] = "/admin/heap";
    static const Site site = {.tables = routes_tables, .dialects = ROUTE_DIALECT_ALL, .userver_path = alias};
    g_auto(GStrv) words = g_strsplit(text, " ", 2);
    if (words[0] == NULL || words[1] == NULL || words[1][0] != '/')
        return;
    g_auto(GStrv) halves = g_strsplit(words[1], "?", 2);
    RouteRequest request = {
        .method = words[0], .path = halves[0], .query = halves[1] != NULL ? halves[1] : "", .body = ""};
    g_autoptr(Resolved) resolved = resolved_new(&site, &request);
    if (resolved->match.state != ROUTE_MATCHED) {
        g_autoptr(Answer) answer = resolved_answer_unknown(resolved);
        g_assert_cmpuint(answer_status(answer), >=, 400);
    } else if (resolved->match.route->serve != NULL) {
        Answer *refusal = resolved_check(resolved);
        if (refusal != NULL)
            answer_unref(refusal);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const readers[])(const char *text) = {read_address, read_tokens, read_headers, read_series,
                                                        read_request};
    if (size == 0 || memchr(data, '\0', size) != NULL)
        return 0;
    g_autofree char *text = g_strndup((const char *)data + 1, size - 1);
    readers[data[0] % G_N_ELEMENTS(readers)](text);
    return 0;
}
