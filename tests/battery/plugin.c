/* SPDX-License-Identifier: Apache-2.0 */
/* Loaded and unloaded again and again; what it allocates stays. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

size_t decoder_open(void);
size_t filter_compile(void);

static void
leak(size_t size, int count)
{
    for (int i = 0; i < count; i++)
        memset(malloc(size), 1, size);
}

__attribute__((noinline, visibility("default"))) size_t
decoder_open(void)
{
    leak(500, 100);
    return 512 * 100;
}

__attribute__((noinline, visibility("default"))) size_t
filter_compile(void)
{
    leak(20 << 10, 10);
    return (20 << 10) * 10;
}
