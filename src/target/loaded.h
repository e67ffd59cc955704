/* SPDX-License-Identifier: Apache-2.0 */
/* The objects that the dynamic linker has loaded into a process, in the order in which it looks for symbols. */
#ifndef JESCOPE_TARGET_LOADED_H
#define JESCOPE_TARGET_LOADED_H

#include "target/address-space.h"
#include "target/dynamic.h"

typedef struct {
    const Mapping *first; /* where its ELF header is */
    guint64 bias;         /* added to the addresses it was linked with */
    gboolean program;     /* the executable itself */
} LoadedObject;

/* From the link map (<link.h>) in its memory; for a static executable that alone. As a GArray of LoadedObject, empty
 * if nothing can be read. SPACE must outlive it. */
GArray *loaded_objects(const AddressSpace *space);

/* The same for the program with headers (AT_PHDR) at PROGRAM_HEADERS. */
GArray *loaded_objects_from(const AddressSpace *space, guint64 program_headers);

/* Its file, opened for reading if it is the one that was loaded; -1 if it was deleted or replaced, or may not be read.
 * */
int loaded_open(const AddressSpace *space, const LoadedObject *object);

/* The separate debug file with its build id, below /usr/lib/debug of the process or of jescope; -1: none that the user
 * of the process may read. */
int loaded_open_debug(const AddressSpace *space, const LoadedObject *object);

/* Whether its file was deleted or replaced since it was loaded. */
gboolean loaded_is_deleted(const LoadedObject *object);

/* Sets up DYNAMIC to be read from memory; FALSE if it is not a shared object with a symbol hash. SPACE must outlive it;
 * all that is read through it counts against SPACE's reads_left, after which nothing is found. */
gboolean loaded_dynamic(const AddressSpace *space, const LoadedObject *object, Dynamic *dynamic);

#endif
