/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/PID/smaps with names and sizes that the process chooses. */
#include "target/mappings.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const guint64 pointers[] = {0x1000, 0x7f0000001000};
    const MappingHints hints = {.stack_pointers = pointers, .n_stack_pointers = 2, .stack_size = 8 << 20};
    g_autofree char *text = g_strndup((const char *)data, size);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    MappingsReader *reader = mappings_reader_new(&hints);
    Mappings mappings;
    for (char **line = lines; *line != NULL; line++)
        mappings_reader_line(reader, *line);
    mappings_reader_end(reader, &mappings);
    guint64 count = 0;
    for (MappingKind kind = 0; kind < MAPPING_KINDS; kind++)
        count += mappings.kinds[kind].count;
    if (count > 2 * g_strv_length(lines) || mappings.unread != 0)
        abort();
    return 0;
}
