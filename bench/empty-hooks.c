/* SPDX-License-Identifier: Apache-2.0 */
/* A library to preload: it installs jemalloc hooks that do nothing, to measure the minimum cost of a sampler that uses
 * hooks. */
#include <stddef.h>
#include <stdint.h>

extern int mallctl(const char *name, void *old, size_t *old_size, void *new_value, size_t new_size)
    __attribute__((weak));

static void
on_alloc(void *extra, int call, void *result, uintptr_t raw_result, uintptr_t arguments[3])
{
}

static void
on_dalloc(void *extra, int call, void *address, uintptr_t arguments[3])
{
}

static void
on_expand(void *extra, int call, void *address, size_t old_size, size_t new_size, uintptr_t raw_result,
          uintptr_t arguments[4])
{
}

__attribute__((constructor)) static void
install(void)
{
    static void *handle;
    struct {
        void (*alloc)(void *, int, void *, uintptr_t, uintptr_t[3]);
        void (*dalloc)(void *, int, void *, uintptr_t[3]);
        void (*expand)(void *, int, void *, size_t, size_t, uintptr_t, uintptr_t[4]);
        void *extra;
    } hooks = {on_alloc, on_dalloc, on_expand, NULL};
    size_t size = sizeof(handle);
    if (mallctl != NULL)
        mallctl("experimental.hooks.install", (void *)&handle, &size, &hooks, sizeof(hooks));
}
