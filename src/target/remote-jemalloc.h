/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the jemalloc that a process uses, and its functions, without stopping the process. */
#ifndef JESCOPE_TARGET_REMOTE_JEMALLOC_H
#define JESCOPE_TARGET_REMOTE_JEMALLOC_H

#include "target/address-space.h"
#include "target/function-ranges.h"
#include "target/process.h"

#include "jemalloc/elf-symbols.h"

typedef struct {
    char prefix[ELF_PREFIX_MAX];
    guint64 mallctl;
    guint64 stats_print;
    guint64 message;      /* of the variable malloc_message; 0: unknown */
    gboolean serves;      /* malloc() in the process is this jemalloc's */
    gboolean from_symtab; /* not exported */
    char *found_in;       /* the object's path as the process sees it */
    GArray *ranges;       /* of FunctionRange: code in which a calling thread must not be; NULL: unknown */
} RemoteJemalloc;

/*
 * Exported functions are found in memory, even if the files were replaced; others in .symtab of the file that was
 * loaded or of its separate debug file. Of several copies, the one that serves malloc is chosen, i.e. the first
 * exported malloc in the order of the dynamic linker; otherwise a prefixed one, which is called by its own names.
 */
gboolean remote_jemalloc_find(const Process *process, const AddressSpace *space, RemoteJemalloc *found, GError **error);

void remote_jemalloc_clear(RemoteJemalloc *jemalloc);

#endif
