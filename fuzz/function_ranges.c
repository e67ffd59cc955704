/* SPDX-License-Identifier: Apache-2.0 */
/* The ranges of jemalloc in an untrusted executable. */
#include "target/function-ranges.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static guint64 scratch[ELF_SCRATCH_MIN / sizeof(guint64)];
    ElfFile file;
    guint jemalloc;
    elf_file_init_memory(&file, data, size, scratch, sizeof(scratch));
    GArray *ranges = function_ranges_read(&file, "je_", &jemalloc);
    for (guint i = 0; i < ranges->len; i++) {
        const FunctionRange *range = &g_array_index(ranges, FunctionRange, i);
        if (range->start > range->end || (i > 0 && range->start < range[-1].start))
            abort();
    }
    g_array_unref(ranges);
    return 0;
}
