/* SPDX-License-Identifier: Apache-2.0 */
/* SOURCE operands: one profile with its names, from a dump file, several of them, standard input or a live target. */
#ifndef JESCOPE_CLI_SOURCE_H
#define JESCOPE_CLI_SOURCE_H

#include "report/report.h"

typedef struct {
    char *name;
    Profile *profile;
    Symbols *symbols;
    GBytes *text;      /* the dump as it was found, or NULL when it came through a pipe or from several files */
    ReportInput input; /* borrows all of the above */
    GStrv notes;       /* what a reader must know about it: coverage, since when, lost parts */
    gint64 taken;      /* when the oldest file was written, seconds since 1970; 0: unknown */
    gboolean partial;  /* a part of the dump could not be read */
} Source;

typedef struct {
    ProfileReadFlags read;
    SymbolizeOptions symbolize; /* taken is filled in by source_open(), pid as well for a target */
    const char *title;          /* what to call the source; NULL: by its name */
    gboolean keeps_text;        /* hold the dump in memory even where it comes through a pipe: input.text */
} SourceOptions;

/*
 * Opens and names what `names` (n of them, n >= 1) stand for together: "-" is standard input, an existing file is read
 * as a dump, all else is a target (a lone one only). Errors name the file or the target.
 */
Source *source_open(char *const *names, guint n, const SourceOptions *options, GError **error);
/* One file as source_open() reads it, without names. */
Source *source_read(const char *name, const SourceOptions *options, GError **error);

/* Of two Source.taken the earlier one that is known. */
gint64 source_older(gint64 a, gint64 b);

/* For source-live.c: the target's part of source_open(). */
Source *source_open_target(const char *name, const SourceOptions *options, GError **error);
/* Takes note, which may be NULL. */
void source_add_note(Source *source, char *note);
/* Maps fd, remembers the text and reads it. */
gboolean source_read_mapped(Source *source, int fd, const char *name, ProfileReadFlags flags, GError **error);

void source_free(Source *source);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Source, source_free)

#endif
