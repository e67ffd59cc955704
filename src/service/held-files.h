/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files in memory that clients come back to: page trees (report/page-material.h) of dumps, from which the next width,
 * zoom or table is cut, and dumps that clients have sent. They are bounded in number, bytes and time; the user who has
 * most of the bytes loses the one that was used least recently. Thread-safe.
 */
#ifndef JESCOPE_SERVICE_HELD_FILES_H
#define JESCOPE_SERVICE_HELD_FILES_H

#include <glib.h>
#include <sys/types.h>

typedef struct HeldFiles HeldFiles;

enum {
    HELD_FILES_MAX = 64,
    HELD_FILES_IDLE_S = 900, /* one that is not used for so long is dropped */
};

/* BYTES: that all of them may have. */
HeldFiles *held_files_new(guint64 bytes);
void held_files_free(HeldFiles *files);

/* A new descriptor, the caller's to close; -1: none is held for KEY. */
int held_files_find(HeldFiles *files, const char *key);

/* Whether one is held for KEY; does not use it. */
gboolean held_files_has(HeldFiles *files, const char *key);

/* Holds FD, a memfd that stays the caller's, for KEY, of USER. FALSE: there is no room for it. */
gboolean held_files_add(HeldFiles *files, const char *key, uid_t user, int fd);

/* That for KEY stays until it is removed, and no other takes its place. FALSE: there is none. */
gboolean held_files_keep(HeldFiles *files, const char *key);

/* FALSE: there is none for KEY. */
gboolean held_files_remove(HeldFiles *files, const char *key);

/* Drops those that were not used lately. NOW: monotonic, microseconds. */
void held_files_expire(HeldFiles *files, gint64 now);

#endif
