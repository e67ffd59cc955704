/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that the user of a command names. Where another user can write to a directory on the way, he could put
 * something there that blocks the reader, or a link to a file that only the reader may read.
 */
#ifndef JESCOPE_CONFINE_INPUT_FILE_H
#define JESCOPE_CONFINE_INPUT_FILE_H

#include "confine/walk.h"

#include <gio/gio.h>

/* Opens PATH for reading. -1 with an error that does not name PATH, unless PATH leads to
 *  - a regular file; the links of another user on the way lead only to files of his own, and to none of /proc;
 *  - a FIFO of root or the caller, not by a link of another user;
 *  - what a process has open (/dev/stdin, /dev/fd/N), not by such a link. */
int input_file_open(const char *path, GError **error);

/* The same, but only a regular file. */
int input_file_open_regular(const char *path, GError **error);

/* Why the links of other users by which WALK came to a regular file of STATUS must not be followed; NULL: they may be.
 * For those who let others open the file. */
struct stat;
const char *input_file_objection(const Walk *walk, const struct stat *status);

/* Lets this process open as many files as it may at most (RLIMIT_NOFILE). FALSE: it may open no more than before.
 * input_file_open() does it where it has to. */
gboolean input_file_raise_limit(void);

/* Bytes of text that a compressed file becomes at most: as much as the frames of the largest profile take. A few bytes
 * of gzip stand for a kilobyte of lines, of zstd for 128 KiB. */
#define INPUT_FILE_MAX_UNPACKED (G_GUINT64_CONSTANT(4) << 30)

/* The processor time in seconds that a child may take to read a file of another user, who decides how long that is, and
 * for a report of such files: it reads program files as well, which may be large and root's. */
enum { INPUT_FILE_FOREIGN_SECONDS = 30, INPUT_FILE_FOREIGN_REPORT_SECONDS = 120 };

/* FOREIGN_SECONDS, if AUTHOR, who chose what is read, is another user than root or the caller; otherwise 0: as the
 * sandbox allows. For what is of a process: it is in a memory file, which belongs to the caller. */
guint input_seconds_of(uid_t author, guint foreign_seconds);

/* INPUT_FILE_FOREIGN_SECONDS, if FD belongs to such a user; otherwise 0. */
guint input_file_seconds(int fd);

/* FOREIGN_SECONDS, if one of FDS (of int; -1: none) belongs to such a user; otherwise 0. */
guint input_files_seconds(const GArray *fds, guint foreign_seconds);

/* Reads up to SIZE bytes from the beginning of PATH. -1: it is not a regular file, or cannot be opened. */
gssize input_file_peek(const char *path, char *start, gsize size);

#endif
