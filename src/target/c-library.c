/* SPDX-License-Identifier: Apache-2.0 */
#include "target/c-library.h"

#include "target/loaded.h"

static const char *const forks[C_LIBRARY_FORKS] = {"fork", "_Fork"};

/* Those that change ids hold the lock of the list of threads until each thread has changed its own. */
static const char *const holders[C_LIBRARY_HOLDERS] = {
    "setuid",    "setgid",    "seteuid",   "setegid",        "setreuid",        "setregid",
    "setresuid", "setresgid", "setgroups", "pthread_create", "dl_iterate_phdr", "dlclose",
};

static const char *const allocators[] = {"malloc",        "calloc",         "realloc",  "free",
                                         "aligned_alloc", "posix_memalign", "memalign", "valloc"};

static void
find_functions(const Dynamic *library, const char *const *names, guint n, FunctionRange *ranges)
{
    for (guint i = 0; i < n; i++) {
        guint64 size = 0;
        guint64 start = dynamic_function_sized(library, names[i], &size);
        ranges[i] = (FunctionRange){start, start + size};
    }
}

void
c_library_find(const AddressSpace *space, CLibrary *library)
{
    g_autoptr(GArray) objects = loaded_objects(space);
    *library = (CLibrary){0};
    for (guint i = 0; i < objects->len && library->errno_location == 0; i++) {
        Dynamic dynamic;
        if (!loaded_dynamic(space, &g_array_index(objects, LoadedObject, i), &dynamic))
            continue;
        library->errno_location = dynamic_function(&dynamic, "__errno_location");
        if (library->errno_location == 0)
            continue;
        library->makecontext = dynamic_function(&dynamic, "makecontext");
        find_functions(&dynamic, forks, C_LIBRARY_FORKS, library->forks);
        find_functions(&dynamic, holders, C_LIBRARY_HOLDERS, library->holders);
    }
}

GArray *
c_library_find_allocators(const AddressSpace *space)
{
    GArray *found = g_array_new(FALSE, FALSE, sizeof(FunctionRange));
    g_autoptr(GArray) objects = loaded_objects(space);
    for (guint i = 0; i < objects->len; i++) {
        FunctionRange ranges[G_N_ELEMENTS(allocators)];
        Dynamic dynamic;
        if (!loaded_dynamic(space, &g_array_index(objects, LoadedObject, i), &dynamic) ||
            dynamic_function(&dynamic, "__errno_location") != 0)
            continue;
        find_functions(&dynamic, allocators, G_N_ELEMENTS(allocators), ranges);
        g_array_append_vals(found, ranges, G_N_ELEMENTS(ranges));
    }
    return found;
}
