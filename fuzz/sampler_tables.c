/* SPDX-License-Identifier: Apache-2.0 */
/* The unwind tables that jescope's sampler reads in its own process: any bytes, at any instruction. */
#include "agent/sampler-cfi.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PAGE = 4096, PAGES = 16, MOST = PAGE * PAGES };

static uintptr_t base;

/* The memory after the tables is unreadable, as at the end of a mapping. */
static bool
is_readable(uintptr_t address)
{
    return address >= base && address - base < MOST;
}

static void
check_row(const UnwindRow *row)
{
    g_assert_true(row->cfa_kind <= UNWIND_SIGNAL);
    if (row->cfa_kind == UNWIND_REGISTER || row->cfa_kind == UNWIND_DEREF)
        g_assert_true(row->cfa_register == UNWIND_SP || row->cfa_register < UNWIND_SAVED);
}

/* The first four bytes are the offset of the instruction from the header; the rest is the header, placed at the end of
 * the last readable page. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t *pages;
    int32_t at = 0;
    UnwindRow row;
    UnwindOrigin origin;
    CfiMemory memory = {.is_readable = is_readable};

    if (pages == NULL) {
        /* Always at the same address, so that the input may have absolute pointers. */
        pages = mmap((void *)0x10000000, MOST + PAGE, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        g_assert_true(pages != MAP_FAILED && mprotect(pages + MOST, PAGE, PROT_NONE) == 0);
        base = (uintptr_t)pages;
    }
    if (size < sizeof(at) || size - sizeof(at) > MOST)
        return 0;
    memcpy(&at, data, sizeof(at));
    size -= sizeof(at);
    memset(pages, 0, MOST);
    memcpy(pages + MOST - size, data + sizeof(at), size);
    const uintptr_t header = base + MOST - size;
    if (cfi_find_row(header, header + (uintptr_t)(intptr_t)at, &memory, &row))
        check_row(&row);
    if (cfi_find_origin(header, header + (uintptr_t)(intptr_t)at, &memory, &origin))
        g_assert_true(cfi_has_origin(header, &memory, &origin));
    return 0;
}
