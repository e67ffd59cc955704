/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What reads a heap dump: its state, which two parts share. grammar.c has the functions below and knows the lines
 * (docs/formats.md); reader.c knows where they come from, what an error costs, and what becomes of several dumps in
 * one file.
 */
#ifndef JESCOPE_PROFILE_DUMP_READER_H
#define JESCOPE_PROFILE_DUMP_READER_H

#include "profile/builder.h"
#include "profile/frame-scanner.h"
#include "profile/profile.h"
#include "profile/source.h"

typedef struct DumpReader DumpReader;

/* Gets the start of a complete line and returns the start of the next one; or records what it expected where, and
 * returns NULL. */
typedef const char *(*DumpLineReader)(DumpReader *reader, const char *line);

struct DumpReader {
    ProfileBuilder *builder;
    ByteSource *source;
    const char *name;
    ProfileReadFlags flags;
    DumpLineReader read_line; /* of the current section */
    guint64 line;             /* number of the line being read */

    /* The current stack. */
    FrameScanner scanner;
    BuilderFrames frames;
    gboolean has_stack; /* the "@" line was read */
    gboolean has_total; /* its "t*" row too: the stack may be kept */
    gboolean has_thread;
    DumpCounts total;
    gsize site_bytes; /* of its "@" line */

    /* Of jescope's sampler; the samples of the current stack are the last ones, from these indexes on. */
    gboolean has_sampler;
    ProfileSampler sampler;
    GArray *samples; /* ProfileSample */
    GArray *deaths;  /* ProfileDeaths */
    guint first_sample;
    guint first_death;

    gboolean has_alloc; /* a row has accumulated counts */
    gboolean has_classes;
    gboolean at_start; /* of a dump: the names of its functions may follow */
    char *places;      /* of the symbol on the next line, or NULL */

    gboolean whole;     /* MAPPED_LIBRARIES was reached */
    GPtrArray *earlier; /* Profile: the preceding dumps in the file */
    /* Keeps the dump that has been read, for the first line of the next one. FALSE: there are too many in the file. */
    gboolean (*begin_next)(DumpReader *reader);
    const char *fault;
    const char *expected;
    ProfileLoss loss;
    GError *first_loss;
};

/* Reads the first line of a dump, or of the names of its functions before it. */
const char *grammar_first_line(DumpReader *reader, const char *line);

/* Whether the dump itself has not begun, so that nothing of it can be kept after an error. */
gboolean grammar_is_before_dump(const DumpReader *reader);

/* Adds the stack whose rows have been read. FALSE: the profile is full. */
gboolean grammar_close_stack(DumpReader *reader);

/* The values that the dump's rows have told (PROFILE_KNOWS_*). */
guint32 grammar_known_values(const DumpReader *reader);

#endif
