/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dumps that clients have uploaded: in memory, for HELD_FILES_IDLE_S after their last use, unless they are kept.
 * Knowing the random id of a file permits reading it. For the server's thread.
 */
#ifndef JESCOPE_SITE_SENT_FILES_H
#define JESCOPE_SITE_SENT_FILES_H

#include "http/server.h"
#include "service/held-files.h"

#include <glib.h>
#include <sys/types.h>

enum {
    SENT_FILES_BYTES = 256 << 20, /* of all files together */
};

typedef struct SentFiles SentFiles;

typedef struct {
    guint64 id;
    uid_t user;    /* the sender, as peer_user() */
    guint64 payer; /* to whom it is charged, as peer_id() */
    char *name;
    guint64 bytes;
    gint64 sent; /* seconds since 1970 */
    gboolean kept;
} SentFile;

SentFiles *sent_files_new(void);
void sent_files_free(SentFiles *files);

/* Stores FD, a memfd that the caller still owns, as FILE, and assigns its id; the name is copied. NULL: there is no
 * room. Valid until the next call. */
const SentFile *sent_files_add(SentFiles *files, const SentFile *file, int fd);

/* NULL: there is none. Valid until the next call. */
const SentFile *sent_files_find(SentFiles *files, guint64 id);

/* A new descriptor, owned by the caller; -1: there is no such file. */
int sent_files_open(SentFiles *files, guint64 id);

HeldFilesKeep sent_files_keep(SentFiles *files, guint64 id);

/* FALSE: there is no such file. */
gboolean sent_files_remove(SentFiles *files, guint64 id);

/* Calls EACH for the kept files, the latest first. */
void sent_files_each_kept(SentFiles *files, void (*each)(const SentFile *file, gpointer data), gpointer data);

/* Removes files whose time is over. */
void sent_files_expire(SentFiles *files);

#endif
