/* SPDX-License-Identifier: Apache-2.0 */
/* The map of generated code that a process writes to /tmp. */
#include "symbolize/perf-map.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const guint64 addresses[] = {0, 1, 0x1000, 0x1fff, 0x7f0000001000, G_MAXUINT64};
    char *text = g_malloc(size + 1);
    gsize names = 0;

    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    g_autoptr(PerfMap) map = perf_map_parse(text, size);
    for (gsize i = 0; i < G_N_ELEMENTS(addresses); i++) {
        const char *name = perf_map_find(map, addresses[i]);
        if (name) {
            g_assert_true(name > text && name < text + size); /* after two numbers, and never empty */
            g_assert_true(*name != '\0' && strchr(name, '\n') == NULL);
            names++;
        }
    }
    return names > G_N_ELEMENTS(addresses);
}
