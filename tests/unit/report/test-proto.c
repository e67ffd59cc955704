/* SPDX-License-Identifier: Apache-2.0 */
#include "report/proto.h"

#include <string.h>

static void
check(const GByteArray *message, const char *hex)
{
    g_autoptr(GString) text = g_string_new(NULL);

    for (guint i = 0; i < message->len; i++)
        g_string_append_printf(text, "%02x", message->data[i]);
    g_assert_cmpstr(text->str, ==, hex);
}

/* The examples of the encoding guide. */
static void
test_guide(void)
{
    g_autoptr(GByteArray) number = g_byte_array_new();
    g_autoptr(GByteArray) string = g_byte_array_new();
    g_autoptr(GByteArray) nested = g_byte_array_new();
    g_autoptr(GByteArray) packed = g_byte_array_new();
    const guint64 values[] = {3, 270, 86942};

    proto_uint(number, 1, 150);
    check(number, "089601");
    proto_string(string, 2, "testing");
    check(string, "120774657374696e67");
    proto_message(nested, 3, number);
    check(nested, "1a03089601");
    proto_packed(packed, 6, values, G_N_ELEMENTS(values));
    check(packed, "3206038e029ea705");
}

static void
test_edges(void)
{
    g_autoptr(GByteArray) message = g_byte_array_new();

    proto_uint(message, 1, 0);
    proto_packed(message, 1, NULL, 0);
    check(message, "");
    proto_int(message, 1, -1);
    check(message, "08ffffffffffffffffff01");
    g_byte_array_set_size(message, 0);
    proto_uint(message, 1, G_MAXUINT64);
    check(message, "08ffffffffffffffffff01");
    g_byte_array_set_size(message, 0);
    proto_string(message, 16, "");
    check(message, "820100");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/report/proto/guide", test_guide);
    g_test_add_func("/report/proto/edges", test_edges);
    return g_test_run();
}
