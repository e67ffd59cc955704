/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses one line of a dump from left to right: after an error, every further step is skipped. The line ends with '\n'
 * and up to BYTE_SOURCE_SLACK bytes after it may be read.
 */
#ifndef JESCOPE_PROFILE_CURSOR_H
#define JESCOPE_PROFILE_CURSOR_H

#include <glib.h>

/* A position in the line; after an error at is NULL, and fault is where EXPECTED should have been. */
typedef struct {
    const char *at;
    const char *fault;
    const char *expected;
} Cursor;

void cursor_fail(Cursor *cursor, const char *at, const char *expected);
void cursor_take_char(Cursor *cursor, char wanted, const char *expected);
/* Numbers of at most 64 bits, hexadecimal ones without "0x"; 0 after an error. */
guint64 cursor_take_decimal(Cursor *cursor, const char *expected);
guint64 cursor_take_hex(Cursor *cursor, const char *expected);

#endif
