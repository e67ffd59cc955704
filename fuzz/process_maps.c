/* SPDX-License-Identifier: Apache-2.0 */
/* A process's memory map with untrusted paths. */
#include "target/address-space.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *maps = g_strndup((const char *)data, size);
    AddressSpace *space = address_space_parse(1, maps);
    for (guint i = 0; i < space->mappings->len; i++) {
        const Mapping *mapping = &g_array_index(space->mappings, Mapping, i);
        g_autofree char *name = mapping_name(mapping);
        if (mapping->end <= mapping->start || name == NULL)
            abort();
        address_space_find(space, mapping->start);
    }
    address_space_free(space);
    return 0;
}
