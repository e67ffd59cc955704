/* SPDX-License-Identifier: Apache-2.0 */
#include "client/document.h"

#include <string.h>

/* A name is one line of output, and a part of the name of a file. */
static void
test_texts_are_one_line(void)
{
    static const char text[] =
        "{\"pid\":1,\"name\":\"a\\n-rf\\tb\",\"agent\":{\"version\":\"1\\r\\n2\"},\"jemalloc\":{},\"profiling\":{}}";
    WireHelloReply hello;
    json_t *document = document_parse(text, strlen(text), NULL);
    g_assert_true(document_hello(document, &hello));
    g_assert_cmpstr(hello.name, ==, "a?-rf?b");
    g_assert_cmpstr(hello.agent_version, ==, "1??2");
    json_decref(document);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/document/texts-are-one-line", test_texts_are_one_line);
    return g_test_run();
}
