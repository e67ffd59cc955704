/* SPDX-License-Identifier: Apache-2.0 */
#include "target/c-library.h"

#include "target/loaded.h"

static const char *const forks[C_LIBRARY_FORKS] = {"fork", "_Fork"};

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
        for (gsize j = 0; library->errno_location != 0 && j < C_LIBRARY_FORKS; j++) {
            guint64 size = 0;
            guint64 start = dynamic_function_sized(&dynamic, forks[j], &size);
            library->forks[j] = (FunctionRange){start, start + size};
        }
    }
}
