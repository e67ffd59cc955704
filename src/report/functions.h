/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of a report: exactly one Function for each function of the program, even if its frames have several
 * spellings. A function is identified by its full name; if that is ambiguous (static functions of two files, overloads
 * that differ only by line in debug information) also by the ranks of its object and first line, so that it matches
 * across builds. docs/formats.md, "Names".
 */
#ifndef JESCOPE_REPORT_FUNCTIONS_H
#define JESCOPE_REPORT_FUNCTIONS_H

#include "symbolize/symbolize.h"

typedef struct {
    const char *name;    /* complete, clean */
    const char *plain;   /* without return type, parameters and clones */
    const char *display; /* for display: the shortest unambiguous name; printable */
} Function;

typedef struct Functions Functions;

Functions *functions_new(void);
void functions_free(Functions *functions);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Functions, functions_free)

/* Adds a frame of one side (0 or 1) in the object at path (or NULL); returns the argument for functions_of(). */
guint32 functions_note(Functions *functions, guint side, const SymbolFrame *frame, const char *path);

/* To be called after the last frame of all sides. */
void functions_seal(Functions *functions);

/* The function of an added frame: an index below functions_n(). */
guint32 functions_of(const Functions *functions, guint32 noted);
guint32 functions_n(const Functions *functions);
const Function *functions_get(const Functions *functions, guint32 function);

#endif
