/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with its own malloc, which hides a linked jemalloc that is not used.
 */
#include <stddef.h>

#define PUBLIC __attribute__((visibility("default")))

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void __libc_free(void *block);

PUBLIC void *malloc(size_t size);
PUBLIC void *calloc(size_t count, size_t size);
PUBLIC void *realloc(void *block, size_t size);
PUBLIC void free(void *block);

void *
malloc(size_t size)
{
    return __libc_malloc(size);
}

void *
calloc(size_t count, size_t size)
{
    return __libc_calloc(count, size);
}

void *
realloc(void *block, size_t size)
{
    return __libc_realloc(block, size);
}

void
free(void *block)
{
    __libc_free(block);
}
