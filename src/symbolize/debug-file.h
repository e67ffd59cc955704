/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds separate debug information: the debug file, and the supplementary file that dwz extracts from several.
 *
 * The first match is used: DIR/.build-id/ab/cdef.debug; by .gnu_debuglink next to the file, in .debug/ there and in
 * DIR/PATH; DIR/PATH.debug; DIR/NAME.debug. DIR is each --debug-path, then /usr/lib/debug below the target's root or
 * the sysroot, then jescope's. Last, and only if options or DEBUGINFOD_URLS request it, debuginfod. A file must match
 * by build id or, if either has none, by the CRC of .gnu_debuglink.
 */
#ifndef JESCOPE_SYMBOLIZE_DEBUG_FILE_H
#define JESCOPE_SYMBOLIZE_DEBUG_FILE_H

#include "symbolize/image.h"
#include "symbolize/symbolize.h"

typedef struct {
    const char *path;     /* of the object, as seen by the target */
    const char *build_id; /* of the requested file, or NULL */
    Image *file;          /* the file that ran */
} DebugFileQuery;

/* The debug file of query, or NULL. */
Image *debug_file_find(const DebugFileQuery *query, const SymbolizeOptions *options);

/* The supplementary file that .gnu_debugaltlink of image names, checked by build id, or NULL. */
Image *debug_file_supplement(Image *image, const SymbolizeOptions *options);

/* The path of the target's "/": /proc/PID/root, the sysroot, or "". */
char *debug_file_root(const SymbolizeOptions *options);

#endif
