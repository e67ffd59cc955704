/* SPDX-License-Identifier: Apache-2.0 */
/* One line of MAPPED_LIBRARIES. */
#include "profile/maps.h"
#include "profile/source.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* Prepares the line like a source: terminated by '\n' and followed by readable bytes. */
    g_autofree char *line = g_malloc0(size + 1 + BYTE_SOURCE_SLACK);
    MapsLine map = {0};
    const char *expected = NULL;

    if (size > 0)
        memcpy(line, data, size);
    line[size] = '\n';
    const char *fault = maps_line_parse(line, &map, &expected);
    if (fault != NULL) {
        g_assert_true(fault >= line && fault <= line + size && expected != NULL);
    } else {
        g_assert_true(map.start <= map.limit);
        g_assert_true(map.n_path == 0 || (map.path >= line && map.path + map.n_path <= line + size));
    }
    return 0;
}
