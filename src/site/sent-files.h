/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dumps that clients have sent to look at: in memory, for HELD_FILES_IDLE_S after they were last used, unless they are
 * kept. Who knows the id of one, which is random, may see it. For the server's thread.
 */
#ifndef JESCOPE_SITE_SENT_FILES_H
#define JESCOPE_SITE_SENT_FILES_H

#include "http/server.h"

#include <glib.h>
#include <sys/types.h>

enum {
    SENT_FILES_BYTES = 256 << 20, /* of all of them */
};

typedef struct SentFiles SentFiles;

typedef struct {
    guint64 id;
    uid_t user; /* who sent it, as peer_user() */
    char *name;
    guint64 bytes;
    gint64 sent; /* seconds since 1970 */
    gboolean kept;
} SentFile;

SentFiles *sent_files_new(void);
void sent_files_free(SentFiles *files);

/* Holds FD, a memfd that stays the caller's, as FILE, whose id it chooses; the name is copied. NULL: there is no room.
 * Valid until the next call. */
const SentFile *sent_files_add(SentFiles *files, const SentFile *file, int fd);

/* NULL: there is none. Valid until the next call. */
const SentFile *sent_files_find(SentFiles *files, guint64 id);

/* A new descriptor, the caller's to close; -1: there is none. */
int sent_files_open(SentFiles *files, guint64 id);

/* FALSE: there is none. */
gboolean sent_files_keep(SentFiles *files, guint64 id);
gboolean sent_files_remove(SentFiles *files, guint64 id);

/* Calls EACH with those that are kept, the latest first. */
void sent_files_each_kept(SentFiles *files, void (*each)(const SentFile *file, gpointer data), gpointer data);

/* Drops those that were not used lately. */
void sent_files_expire(SentFiles *files);

#endif
