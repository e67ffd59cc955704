/* SPDX-License-Identifier: Apache-2.0 */
#include "target/c-library.h"

#include "target/loaded.h"

static const char *const forks[C_LIBRARY_FORKS] = {"fork", "_Fork"};

/* Those that change ids hold the lock of the list of threads until each thread has changed its own. */
static const char *const holders[C_LIBRARY_HOLDERS] = {
    "setuid",    "setgid",    "seteuid",   "setegid",        "setreuid",        "setregid",
    "setresuid", "setresgid", "setgroups", "pthread_create", "dl_iterate_phdr", "dlclose",
};

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
        find_functions(&dynamic, forks, C_LIBRARY_FORKS, library->forks);
        find_functions(&dynamic, holders, C_LIBRARY_HOLDERS, library->holders);
    }
}
