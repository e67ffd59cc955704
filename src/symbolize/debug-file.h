/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds what lies apart from the file that ran: its debug file, and the supplementary file that dwz made of several.
 *
 * First that fits: DIR/.build-id/ab/cdef.debug; by .gnu_debuglink beside the file, in .debug/ there and in DIR/PATH;
 * DIR/PATH.debug; DIR/NAME.debug. DIR is each --debug-path, then /usr/lib/debug below the target's root or the sysroot,
 * then our own. Last, and only where options or DEBUGINFOD_URLS ask for it, debuginfod. A file fits by build id or,
 * where either has none, by the CRC of .gnu_debuglink. Nothing else is taken.
 */
#ifndef JESCOPE_SYMBOLIZE_DEBUG_FILE_H
#define JESCOPE_SYMBOLIZE_DEBUG_FILE_H

#include "symbolize/image.h"
#include "symbolize/symbolize.h"

typedef struct {
    const char *path;     /* of the object, as the target saw it */
    const char *build_id; /* of the object, or NULL */
    Image *file;          /* the file that ran, or NULL */
} DebugFileQuery;

/* The debug file of query, or NULL. */
Image *debug_file_find(const DebugFileQuery *query, const SymbolizeOptions *options);

/* The supplementary file that .gnu_debugaltlink of image names, checked by build id, or NULL. */
Image *debug_file_supplement(Image *image, const SymbolizeOptions *options);

/* Where the target's "/" is: /proc/PID/root, the sysroot, or "". */
char *debug_file_root(const SymbolizeOptions *options);

#endif
