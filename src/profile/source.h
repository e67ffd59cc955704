/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a dump as runs of complete lines, from a descriptor or from memory; gzip (RFC 1952) and zstd (RFC 8878) are
 * recognised by their first bytes and decompressed. Memory use does not depend on the length.
 */
#ifndef JESCOPE_PROFILE_SOURCE_H
#define JESCOPE_PROFILE_SOURCE_H

#include "confine/input-file.h"

#include <gio/gio.h>

typedef struct ByteSource ByteSource;

enum { BYTE_SOURCE_MAX_LINE = 1 << 20, BYTE_SOURCE_SLACK = 16 };

/* A run of text. BYTE_SOURCE_SLACK bytes after limit may be read (not used), so that scanners can load words. */
typedef struct {
    const char *start;
    const char *limit; /* after the last '\n', unless cut */
    gboolean cut;      /* the last line of the input lacks its '\n' */
} TextRun;

ByteSource *byte_source_new_fd(int fd, const char *name);           /* fd is not closed; name is used in errors */
ByteSource *byte_source_new_bytes(GBytes *bytes, const char *name); /* keeps a reference */
void byte_source_free(ByteSource *source);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ByteSource, byte_source_free)

/*
 * The next run, valid until the next call; empty at the end. All data before an error is returned first. Errors:
 * PROFILE_ERROR_TRUNCATED and _MALFORMED of a compressed stream, _TOO_LARGE for a line over BYTE_SOURCE_MAX_LINE,
 * more than INPUT_FILE_MAX_UNPACKED, or a compressed stream most of which becomes no text, G_FILE_ERROR.
 */
gboolean byte_source_next(ByteSource *source, TextRun *run, GError **error);

#endif
