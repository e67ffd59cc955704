/* SPDX-License-Identifier: Apache-2.0 */
/* An untrusted ELF file: finding symbols, the quick check, and the mapping of addresses to file offsets. */
#include "jemalloc/elf-symbols.h"

#include <stdlib.h>
#include <string.h>

/* The minimum, so that small inputs cross the borders between pieces. */
static _Alignas(16) uint8_t scratch[ELF_SCRATCH_MIN];

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ElfJemalloc found[ELF_FOUND_MAX];
    ElfFile file;
    uint8_t code[32];
    uint64_t budget = 64 * 1024;

    elf_file_init_memory(&file, data, size, scratch, sizeof(scratch));
    elf_mentions_jemalloc(&file, &budget);
    size_t n = elf_find_jemalloc(&file, found);
    for (size_t i = 0; i < n; i++) {
        if (memchr(found[i].prefix, '\0', sizeof(found[i].prefix)) == NULL || found[i].mallctl == 0)
            abort();
        elf_read_address(&file, found[i].mallctl, code, sizeof(code));
    }
    elf_exports(&file, "malloc");
    if (elf_holds_text(&file, "<jemalloc>", UINT64_MAX) != (memmem(data, size, "<jemalloc>", 10) != NULL))
        abort();
    elf_has_program_headers(&file, (const ElfW(Phdr) *)(const void *)scratch, 1);
    return 0;
}
