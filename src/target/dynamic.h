/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A shared object as the dynamic linker sees it: its exports, and the symbol versions that it defines and needs. Read
 * from a file's bytes or from another process's memory, which is correct even if the file was replaced. Either may be
 * hostile: every count is bounded and every address is only passed to the reader.
 *
 * Formats: the System V ABI's ELF-64, DT_GNU_HASH and the GNU symbol versions (DT_VERDEF, DT_VERNEED) of the LSB.
 */
#ifndef JESCOPE_TARGET_DYNAMIC_H
#define JESCOPE_TARGET_DYNAMIC_H

#include <glib.h>

/* Reads all of N bytes at ADDRESS or returns FALSE. */
typedef gboolean (*DynamicRead)(gpointer data, guint64 address, void *bytes, gsize n);

typedef struct {
    DynamicRead read;
    gpointer data;
    guint64 base; /* address of its ELF header */
    guint64 bias; /* the offset from linked to actual addresses */
    guint64 strings;
    guint64 strings_size;
    guint64 symbols;
    guint64 hash;
    guint64 version_of; /* DT_VERSYM */
    guint64 given;      /* DT_VERDEF */
    guint64 needed;     /* DT_VERNEED */
} Dynamic;

enum {
    DYNAMIC_NAME_MAX = 128, /* with the NUL: of a symbol, a version or a library */
};

/* Opens the object at BASE; the caller sets read, data and base before. FALSE unless it is a 64-bit shared object of
 * this architecture. */
gboolean dynamic_open(Dynamic *image);

/* The address of its exported function NAME, in the default version; 0: not found. */
guint64 dynamic_function(const Dynamic *image, const char *name);

/* The same; *SIZE is the size of the function in bytes. */
guint64 dynamic_function_sized(const Dynamic *image, const char *name, guint64 *size);

/* The same for a variable. */
guint64 dynamic_variable(const Dynamic *image, const char *name);

/* Sets NAME to that of the exported function at ADDRESS. FALSE if there is none. Searches all symbols. */
gboolean dynamic_name(const Dynamic *image, guint64 address, char name[DYNAMIC_NAME_MAX]);

/* Whether the object defines the symbol version. */
gboolean dynamic_gives(const Dynamic *image, const char *version);

/* The symbol versions that the object needs of LIBRARY, e.g. "GLIBC_2.34"; a NULL-terminated vector to be freed. */
char **dynamic_needs(const Dynamic *image, const char *library);

/* A DynamicRead of a file's bytes: set read to it, data to a GBytes and base to 0. */
gboolean dynamic_read_file(gpointer bytes, guint64 address, void *buffer, gsize n);

#endif
