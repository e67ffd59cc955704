/* SPDX-License-Identifier: Apache-2.0 */
/* What src/client reads: URLs that users write, and documents of a server that is not trusted. A first byte chooses. */
#include "client/document.h"
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
    /* What stands before the id means the same server. */
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

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    g_autofree char *text = g_strndup((const char *)data + 1, size - 1);
    if (data[0] == 'u')
        read_url(text);
    else
        read_document((const char *)data + 1, size - 1);
    return 0;
}
