/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a log that grows, piece by piece, through rotation: renamed and recreated (the old file is read to its end
 * first), or copied and truncated (detected by its size or, if it has grown again, by its beginning).
 */
#ifndef JESCOPE_SERVICE_LOG_FILE_H
#define JESCOPE_SERVICE_LOG_FILE_H

#include <gio/gio.h>
#include <sys/types.h>

enum { LOG_FILE_HEAD = 256 };

/* Up to where a log was read. Zeroed: it did not exist; it is read from its beginning once it appears. */
typedef struct {
    dev_t device;
    ino_t inode; /* 0: none */
    off_t offset;
    uid_t owner;
    gsize head_length;
    char head[LOG_FILE_HEAD]; /* bytes at the beginning that are compared */
} LogPlace;

typedef struct {
    const char *path;
    int fd; /* -1: not open */
    LogPlace place;
} LogFile;

/* Places FILE, which is not open, at the current end of its path. FALSE as log_file_read(). */
gboolean log_file_begin(LogFile *file, GError **error);

/* Reads what comes next, *LENGTH bytes; 0: the end, or there is no file. FALSE: it exists and is not one that
 * input_file_open_regular() opens, or cannot be read. */
gboolean log_file_read(LogFile *file, char *bytes, gsize size, gsize *length, GError **error);

#endif
