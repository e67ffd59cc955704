/* SPDX-License-Identifier: Apache-2.0 */
/* The memory map of a process, and access to its memory. Does not stop the process. */
#ifndef JESCOPE_TARGET_ADDRESS_SPACE_H
#define JESCOPE_TARGET_ADDRESS_SPACE_H

#include "confine/keyed-hash.h"

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
    GArray *mappings;  /* of Mapping, in the order of their addresses */
    StringPool *paths; /* that the process chooses */
    guint reads_left;  /* remaining reads of symbols and names in its memory: a hostile process may make the tables
                          endless */
} AddressSpace;

/* The initial reads_left; a process with a thousand libraries needs a sixth of it. */
enum { ADDRESS_SPACE_READS = 2000000 };

/* Reads the map of PID. NULL with a TARGET_ERROR if the process has ended or reading is not permitted. */
AddressSpace *address_space_new(pid_t pid, GError **error);
void address_space_free(AddressSpace *space);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AddressSpace, address_space_free)

/* Parses MAPS, the text of a maps file. */
AddressSpace *address_space_parse(pid_t pid, const char *maps);

/* The mapping at ADDRESS, or NULL. */
const Mapping *address_space_find(const AddressSpace *space, guint64 address);

/* The mapping at or below MAPPING that maps the beginning of the same file; NULL if there is none. */
const Mapping *address_space_first(const AddressSpace *space, const Mapping *mapping);

/* The last component of its path without " (deleted)", to be freed; "" if it has none. */
char *mapping_name(const Mapping *mapping);

/* Opens /proc/PID/mem to read and write the memory of the program that PID runs now. The descriptor stays that of this
 * program: if the process executes another one, possibly with other rights, it reads and writes nothing of it. -1 with
 * errno. */
int address_space_open(pid_t pid);

/* Read or write LENGTH bytes at ADDRESS by such a descriptor. FALSE with errno unless all were transferred. */
gboolean address_space_read(int memory, guint64 address, void *bytes, gsize length);
gboolean address_space_write(int memory, guint64 address, const void *bytes, gsize length);
/* The string at ADDRESS, truncated to LIMIT bytes, to be freed; NULL with errno. */
char *address_space_read_string(int memory, guint64 address, gsize limit);

/* Reads LENGTH bytes at ADDRESS of the program that PID runs when it is called. FALSE with errno unless all were
 * read. */
gboolean remote_read(pid_t pid, guint64 address, void *bytes, gsize length);

/* Reads up to LENGTH bytes; returns the number that could be read. */
gsize remote_read_some(pid_t pid, guint64 address, void *bytes, gsize length);

#endif
