/* SPDX-License-Identifier: Apache-2.0 */
/* An untrusted shared object: its exports, definitions and needs. */
#include "target/dynamic.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(GBytes) bytes = g_bytes_new_static(data, size);
    Dynamic image = {.read = dynamic_read_file, .data = bytes};
    if (!dynamic_open(&image))
        return 0;
    dynamic_function(&image, "jescope_agent_enter");
    dynamic_gives(&image, "GLIBC_2.34");
    g_strfreev(dynamic_needs(&image, "libc.so.6"));
    return 0;
}
