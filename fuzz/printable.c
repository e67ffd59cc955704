/* SPDX-License-Identifier: Apache-2.0 */
/* Untrusted names and messages for a terminal. The first byte is a number of columns. */
#include "text/printable.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_escaped(const char *text, guint columns)
{
    g_autofree char *printable = text_printable(text);
    g_assert_true(text_is_printable(printable));
    g_autofree char *cut = text_cut(printable, columns);
    g_assert_true(text_is_printable(cut));
    g_autofree char *field = text_field(printable, columns);
    g_assert_true(text_is_printable(field));
    if (columns >= strlen("..."))
        g_assert_cmpuint(text_columns(cut), <=, columns);
}

static void
check_cleaned(const uint8_t *data, size_t size)
{
    g_autofree char *line = g_memdup2(data, size);
    text_clean_line(line, size);
    g_assert_nonnull(memchr(line, '\0', size));
    g_assert_true(text_is_printable(line));
    g_autofree char *text = g_memdup2(data, size);
    text_clean(text, size);
    g_assert_nonnull(memchr(text, '\0', size));
    g_assert_true(g_utf8_validate(text, -1, NULL));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    g_autofree char *text = g_strndup((const char *)data + 1, size - 1);
    check_escaped(text, data[0]);
    check_cleaned(data + 1, size - 1);
    return 0;
}
