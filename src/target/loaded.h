/* SPDX-License-Identifier: Apache-2.0 */
/* The objects that the dynamic linker has loaded into a process, in the order of symbol lookup. */
#ifndef JESCOPE_TARGET_LOADED_H
#define JESCOPE_TARGET_LOADED_H

#include "target/address-space.h"
#include "target/dynamic.h"

typedef struct {
    const Mapping *first; /* has its ELF header */
    guint64 bias;         /* added to the linked addresses */
    gboolean program;     /* the executable itself */
} LoadedObject;

/* Reads the link map (<link.h>) in the memory of the process. Returns a GArray of LoadedObject, which is only the
 * executable if it is static, and empty if nothing can be read. SPACE must outlive the result. */
GArray *loaded_objects(const AddressSpace *space);

/* The same for the program whose headers (AT_PHDR) are at PROGRAM_HEADERS. */
GArray *loaded_objects_from(const AddressSpace *space, guint64 program_headers);

/* Whether MAPPING is of OBJECT. */
gboolean loaded_contains(const AddressSpace *space, const LoadedObject *object, const Mapping *mapping);

/* Opens its file for reading if it is the one that was loaded; -1 if it was deleted or replaced, or may not be read. */
int loaded_open(const AddressSpace *space, const LoadedObject *object);

/* Opens the separate debug file with its build id, below /usr/lib/debug of the process or of jescope; -1 if there is
 * none that the user of the process may read. */
int loaded_open_debug(const AddressSpace *space, const LoadedObject *object);

/* Whether its file was deleted or replaced since it was loaded. */
gboolean loaded_is_deleted(const LoadedObject *object);

/* Sets up DYNAMIC, which begins at BASE or is OBJECT, to be read from memory; FALSE if it is not a shared object with a
 * symbol hash. SPACE must outlive it. Each read counts against SPACE's reads_left; once that is used up, nothing is
 * found. */
gboolean loaded_image(const AddressSpace *space, guint64 base, Dynamic *dynamic);
gboolean loaded_dynamic(const AddressSpace *space, const LoadedObject *object, Dynamic *dynamic);

#endif
