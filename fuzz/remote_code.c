/* SPDX-License-Identifier: Apache-2.0 */
/* Executable memory of a hostile process, searched for the instructions through which a remote call returns. */
#include "target/remote-code.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BASE G_GUINT64_CONSTANT(0x400000)

static void
check_inside(guint64 address, size_t size)
{
    g_assert_true(address == 0 || (address >= BASE && address < BASE + size));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    RemoteCode code = {0};
    remote_code_search(data, size, BASE, &code);
    check_inside(code.back, size);
    check_inside(code.system, size);
    check_inside(code.store, size);
    remote_code_is_complete(&code);
    return 0;
}
