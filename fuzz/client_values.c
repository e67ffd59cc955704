/* SPDX-License-Identifier: Apache-2.0 */
/* The inputs of src/client: URLs of users, and documents and events of an untrusted server. The first byte chooses the
 * kind. */
#include "client/document.h"
#include "client/event-stream.h"
#include "client/url.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
read_url(const char *text)
{
    ClientUrl url, again;
    if (!client_url_parse(text, &url, NULL))
        return;
    g_assert_nonnull(url.base);
    g_assert_null(strpbrk(url.base, " \r\n"));
    g_assert_true(url.id == NULL || strpbrk(url.id, "/?# \r\n") == NULL);
    /* The part before the id names the same server. */
    if (url.socket == NULL) {
        g_assert_true(client_url_parse(url.base, &again, NULL));
        g_assert_cmpint(again.in_clear, ==, url.in_clear);
        client_url_clear(&again);
    }
    client_url_clear(&url);
}

static void
read_document(const char *text, size_t size)
{
    WireHelloReply hello;
    WireLease lease;
    json_t *document = json_loadb(text, size, 0, NULL);
    document_hello(document, &hello);
    g_assert_nonnull(memchr(hello.name, '\0', sizeof(hello.name)));
    g_assert_true(g_utf8_validate(hello.name, -1, NULL));
    g_assert_cmpuint(hello.lease.period, <=, WIRE_LEASE_PERIOD_MAX);
    document_lease(document, &lease);
    json_decref(document);
}

static void
append_event(const char *name, const char *data, gpointer all)
{
    g_string_append_printf(all, "%s\n%s\n", name, data);
}

static char *
events_in(const char *text, size_t size, size_t step)
{
    GString *all = g_string_new(NULL);
    g_autoptr(EventStream) stream = event_stream_new(append_event, all);
    for (size_t at = 0; at < size; at += step)
        if (!event_stream_feed(stream, text + at, MIN(step, size - at)))
            break;
    return g_string_free(all, FALSE);
}

/* The events must be the same for any division of the input. */
static void
read_events(const char *text, size_t size)
{
    g_autofree char *whole = events_in(text, size, MAX(size, 1));
    g_autofree char *pieces = events_in(text, size, 3);
    g_assert_cmpstr(whole, ==, pieces);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    g_autofree char *text = g_strndup((const char *)data + 1, size - 1);
    if (data[0] == 'u')
        read_url(text);
    else if (data[0] == 'e')
        read_events((const char *)data + 1, size - 1);
    else
        read_document((const char *)data + 1, size - 1);
    return 0;
}
