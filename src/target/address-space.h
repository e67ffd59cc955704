/* SPDX-License-Identifier: Apache-2.0 */
/* The memory map of a process, and its bytes; without stopping it. */
#ifndef JESCOPE_TARGET_ADDRESS_SPACE_H
#define JESCOPE_TARGET_ADDRESS_SPACE_H

#include <glib.h>
#include <sys/types.h>

typedef enum {
    MAPPING_READ = 1u << 0,
    MAPPING_WRITE = 1u << 1,
    MAPPING_EXECUTE = 1u << 2,
} MappingFlag;

/* One line of /proc/PID/maps (proc(5)). */
typedef struct {
    guint64 start;
    guint64 end;
    guint64 offset; /* in the file */
    guint64 inode;  /* 0: no file */
    dev_t device;
    unsigned flags;   /* MappingFlag */
    const char *path; /* as the kernel shows it, "[stack]" and " (deleted)" included; "" for none */
} Mapping;

typedef struct {
    pid_t pid;
    GArray *mappings; /* of Mapping, in the order of their addresses */
    GStringChunk *paths;
    guint reads_left; /* of symbols and their names in its memory, which a hostile process may make endless */
} AddressSpace;

/* A process of a thousand libraries takes a sixth of them. */
enum { ADDRESS_SPACE_READS = 2000000 };

/* NULL with a TARGET_ERROR: it has ended, or reading is not permitted. */
AddressSpace *address_space_new(pid_t pid, GError **error);
void address_space_free(AddressSpace *space);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AddressSpace, address_space_free)

/* The text of a maps file. */
AddressSpace *address_space_parse(pid_t pid, const char *maps);

/* The mapping at ADDRESS, or NULL. */
const Mapping *address_space_find(const AddressSpace *space, guint64 address);

/* Where the beginning of the file that MAPPING is of was mapped, at or below it; NULL: it was not. */
const Mapping *address_space_first(const AddressSpace *space, const Mapping *mapping);

/* The last component of its path, "" for none; no longer with " (deleted)". */
char *mapping_name(const Mapping *mapping);

/* All LENGTH bytes or FALSE with errno. */
gboolean remote_read(pid_t pid, guint64 address, void *bytes, gsize length);
gboolean remote_write(pid_t pid, guint64 address, const void *bytes, gsize length);

/* The string at ADDRESS, at most LIMIT bytes of it; NULL with errno. */
char *remote_read_string(pid_t pid, guint64 address, gsize limit);

/* As many bytes as can be read, up to LENGTH. */
gsize remote_read_some(pid_t pid, guint64 address, void *bytes, gsize length);

#endif
