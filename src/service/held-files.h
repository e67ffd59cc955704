/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache of memory files that clients use repeatedly: page trees (report/page-material.h) of dumps, from which other
 * widths, zooms and tables are extracted, the dumps that the next ones of their targets are compared with, and dumps
 * that clients have uploaded. Number, bytes and age are bounded; the least recently used file of the user with the most
 * bytes is evicted, or with the most files. Nothing is added while memory is short. Thread-safe.
 */
#ifndef JESCOPE_SERVICE_HELD_FILES_H
#define JESCOPE_SERVICE_HELD_FILES_H

#include <glib.h>

typedef struct HeldFiles HeldFiles;

enum {
    HELD_FILES_MAX = 64,     /* of page trees, and of uploaded dumps */
    HELD_FILES_IDLE_S = 900, /* a file unused for this time is dropped */
    HELD_FILES_KEPT = 2,     /* of number and bytes, 1/HELD_FILES_KEPT can be kept in all, */
    HELD_FILES_KEPT_OF = 4,  /* and 1/HELD_FILES_KEPT_OF for one user */
};

typedef struct {
    guint number;
    guint64 bytes;                      /* total size */
    gboolean (*has_room)(guint64 held); /* whether there is memory for a user who holds HELD bytes: own-room.h */
} HeldFilesLimits;

HeldFiles *held_files_new(const HeldFilesLimits *limits);
void held_files_free(HeldFiles *files);

/* A new descriptor of the file for KEY, which the caller closes; -1 if there is none. */
int held_files_find(HeldFiles *files, const char *key);

/* Whether there is a file for KEY; does not count as a use. */
gboolean held_files_has(HeldFiles *files, const char *key);

/* Adds a duplicate of FD, a memfd, for KEY, charged to USER: a uid, or a number above for a client elsewhere. FALSE if
 * there is no space for it; then there is no file for KEY any more. */
gboolean held_files_add(HeldFiles *files, const char *key, guint64 user, int fd);

typedef enum {
    HELD_FILES_NONE,    /* there is no such file */
    HELD_FILES_CROWDED, /* too much is kept already, for its user or in all: others need the rest */
    HELD_FILES_DONE,
} HeldFilesKeep;

/* Protects the file for KEY from eviction and replacement until it is removed. */
HeldFilesKeep held_files_keep(HeldFiles *files, const char *key);

/* FALSE if there is no file for KEY. */
gboolean held_files_remove(HeldFiles *files, const char *key);

/* Drops files unused for HELD_FILES_IDLE_S. NOW is monotonic, in microseconds. */
void held_files_expire(HeldFiles *files, gint64 now);

#endif
