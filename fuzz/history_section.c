/* SPDX-License-Identifier: Apache-2.0 */
/* A section of a block in an untrusted history file. */
#include "history/section.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(Section) section = section_decode(data, size, NULL);
    if (section == NULL || !section_load(section, NULL))
        return 0;
    /* An accepted section can be written and read back. */
    g_autoptr(GBytes) bytes = section_encode(section, 1);
    gsize length;
    const void *again = g_bytes_get_data(bytes, &length);
    g_autoptr(Section) same = section_decode(again, length, NULL);
    g_assert_true(same != NULL && section_load(same, NULL));
    g_assert_cmpuint(section_columns(same), ==, section_columns(section));
    return 0;
}
