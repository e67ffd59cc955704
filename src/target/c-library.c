/* SPDX-License-Identifier: Apache-2.0 */
#include "target/c-library.h"

#include "target/loaded.h"

static const char *const forks[C_LIBRARY_FORKS] = {"fork", "_Fork"};

/* Those that change ids hold the lock of the list of threads until each thread has changed its own. */
static const char *const holders[C_LIBRARY_HOLDERS] = {
    "setuid",    "setgid",    "seteuid",   "setegid",        "setreuid",        "setregid",
    "setresuid", "setresgid", "setgroups", "pthread_create", "dl_iterate_phdr", "dlclose",
};

/* By jemalloc, the loader and the agent. */
static const char *const called[] = {
    "malloc",
    "calloc",
    "realloc",
    "free",
    "aligned_alloc",
    "posix_memalign",
    "memalign",
    "valloc",
    "mmap",
    "mmap64",
    "munmap",
    "mprotect",
    "madvise",
    "sbrk",
    "open",
    "open64",
    "openat",
    "creat",
    "read",
    "write",
    "close",
    "readlink",
    "pthread_create",
    "pthread_mutex_lock",
    "pthread_mutex_trylock",
    "pthread_mutex_unlock",
    "pthread_cond_wait",
    "pthread_key_create",
    "pthread_setspecific",
    "pthread_sigmask",
    "clock_gettime",
    "gettimeofday",
    "sched_yield",
    "syscall",
    "sysconf",
    "getenv",
    "secure_getenv",
    "dl_iterate_phdr",
    "dladdr",
    "dlopen",
    "dlsym",
};

/* Before glibc 2.34, they were objects of their own. */
static const char *const parts[] = {"ld-", "libpthread", "libdl", "librt"};

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
c_library_find(const AddressSpace *space, const GArray *objects, CLibrary *library)
{
    *library = (CLibrary){0};
    for (guint i = 0; i < objects->len && library->errno_location == 0; i++) {
        Dynamic dynamic;
        if (!loaded_dynamic(space, &g_array_index(objects, LoadedObject, i), &dynamic))
            continue;
        library->errno_location = dynamic_function(&dynamic, "__errno_location");
        if (library->errno_location == 0)
            continue;
        library->makecontext = dynamic_function(&dynamic, "makecontext");
        library->set_cancel_state = dynamic_function(&dynamic, "pthread_setcancelstate");
        find_functions(&dynamic, forks, C_LIBRARY_FORKS, library->forks);
        find_functions(&dynamic, holders, C_LIBRARY_HOLDERS, library->holders);
    }
}

static gboolean
is_part(const LoadedObject *object)
{
    g_autofree char *name = mapping_name(object->first);
    for (gsize i = 0; i < G_N_ELEMENTS(parts); i++)
        if (g_str_has_prefix(name, parts[i]))
            return TRUE;
    return FALSE;
}

static void
add_code(const AddressSpace *space, const LoadedObject *object, GArray *found)
{
    for (guint i = 0; i < space->mappings->len; i++) {
        const Mapping *mapping = &g_array_index(space->mappings, Mapping, i);
        const FunctionRange range = {mapping->start, mapping->end};
        if ((mapping->flags & MAPPING_EXECUTE) != 0 && loaded_contains(space, object, mapping))
            g_array_append_val(found, range);
    }
}

GArray *
c_library_find_replaced(const AddressSpace *space, const GArray *objects)
{
    GArray *found = g_array_new(FALSE, FALSE, sizeof(FunctionRange));
    for (guint i = 0; i < objects->len; i++) {
        const LoadedObject *object = &g_array_index(objects, LoadedObject, i);
        FunctionRange ranges[G_N_ELEMENTS(called)];
        gboolean replaces = FALSE;
        Dynamic dynamic;
        if (!loaded_dynamic(space, object, &dynamic))
            continue;
        /* What comes later in the order of symbol lookup replaces nothing of it. */
        if (dynamic_function(&dynamic, "__errno_location") != 0)
            break;
        if (is_part(object))
            continue;
        find_functions(&dynamic, called, G_N_ELEMENTS(called), ranges);
        for (guint n = 0; n < G_N_ELEMENTS(called); n++)
            replaces = replaces || ranges[n].start != 0;
        if (object->program)
            g_array_append_vals(found, ranges, G_N_ELEMENTS(ranges));
        else if (replaces)
            add_code(space, object, found);
    }
    return found;
}
