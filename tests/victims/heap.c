/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A shared object with a private jemalloc, whose symbols are not exported: they are only in .symtab.
 */
#include <stddef.h>

#define PUBLIC __attribute__((visibility("default")))

void *_rjem_malloc(size_t size);
void _rjem_free(void *block);
int _rjem_mallctl(const char *name, void *old, size_t *old_size, void *new, size_t new_size);
void _rjem_malloc_stats_print(void (*write_text)(void *, const char *), void *closure, const char *letters);

PUBLIC void *heap_take(size_t size);
PUBLIC void heap_give(void *block);
PUBLIC int heap_control(const char *name, void *old, size_t *old_size, void *new, size_t new_size);
PUBLIC void heap_describe(void (*write_text)(void *, const char *), void *closure, const char *letters);

void *
heap_take(size_t size)
{
    return _rjem_malloc(size);
}

void
heap_give(void *block)
{
    _rjem_free(block);
}

int
heap_control(const char *name, void *old, size_t *old_size, void *new, size_t new_size)
{
    return _rjem_mallctl(name, old, old_size, new, new_size);
}

void
heap_describe(void (*write_text)(void *, const char *), void *closure, const char *letters)
{
    _rjem_malloc_stats_print(write_text, closure, letters);
}
