/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the addresses of one stack. Most of a dump is the same few thousand addresses, nearly all of twelve digits, so
 * a known address is recognised by its text instead of being converted again, for speed.
 */
#ifndef JESCOPE_PROFILE_FRAME_SCANNER_H
#define JESCOPE_PROFILE_FRAME_SCANNER_H

#include "profile/builder.h"

typedef struct {
    ProfileBuilder *builder;
    IndexTable texts; /* twelve digits to location */
    guint32 *frames;  /* of the stack read last: locations, innermost first */
    guint32 depth;
    guint32 capacity;
} FrameScanner;

void frame_scanner_init(FrameScanner *scanner, ProfileBuilder *builder);
void frame_scanner_clear(FrameScanner *scanner);

/*
 * Reads " 0xPC 0xPC ..." up to the end of the line, which is returned. NULL: *fault does not begin an address of 64
 * bits. The calls are where the return addresses are minus one; the innermost frame stays, as every reader of dumps has
 * it. Zeros that end a stack (jemalloc 3.x) are left out.
 */
const char *frame_scanner_read(FrameScanner *scanner, const char *at, const char **fault);

#endif
