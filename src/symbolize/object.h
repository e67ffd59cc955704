/* SPDX-License-Identifier: Apache-2.0 */
/* The addresses to look up in one object and their answers, in two steps so that the work in between can be
 * distributed. */
#ifndef JESCOPE_SYMBOLIZE_OBJECT_H
#define JESCOPE_SYMBOLIZE_OBJECT_H

#include "symbolize/locate.h"
#include "symbolize/names.h"
#include "symbolize/symbol-table.h"

typedef struct {
    guint64 address;  /* link-time address if the file is known (as for addr2line), else the offset in the file */
    guint32 location; /* index into profile_locations() */
    Symbol symbol;    /* n_frames 0: unanswered */
    const char *file; /* from the line table, or NULL */
    guint32 line;
    guint64 unnamed_start; /* not 0: the symbol at this address has a more complete name for the last frame */
} ObjectAsked;

typedef struct DwarfJob DwarfJob; /* dwarf-task.h */

typedef struct {
    LocateRequest request;
    Names *names;  /* borrowed */
    GArray *asked; /* ObjectAsked, by address */
    Located located;
    DwarfJob *dwarf; /* or NULL */
    gboolean cached; /* the cache answered everything */
    SymbolObject result;
} ObjectWork;

ObjectWork *object_work_new(const LocateRequest *request, Names *names);

/* Adds one question; file_offset as in ProfileLocation. Must precede object_prepare(). */
void object_ask(ObjectWork *work, guint32 location, guint64 file_offset);

/* Finds the files, sorts the questions and divides the work on debug information into tasks, which must run before
 * object_finish(). */
void object_prepare(ObjectWork *work);

/* Answers the remaining addresses from the symbol tables, the rest with "[NAME+0xADDRESS]". */
void object_finish(ObjectWork *work);

/* Releases all but the answers, which belong to names. */
void object_work_free(ObjectWork *work);

#endif
