/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the addresses of one stack. Most of a dump is the same few thousand addresses, nearly all of twelve digits, so,
 * for speed, a known address is recognised by its text instead of being converted again.
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
 * Reads " 0xPC 0xPC ..." up to the end of the line, which is returned. NULL: *fault is not the start of a 64-bit
 * address. The location of a call is its return address minus one; the innermost frame is unchanged, as in every reader
 * of dumps. Zeros at the end of a stack (jemalloc 3.x) are dropped.
 */
const char *frame_scanner_read(FrameScanner *scanner, const char *at, const char **fault);

#endif
