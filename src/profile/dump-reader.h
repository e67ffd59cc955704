/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a reader of heap dumps, shared by its two parts. grammar.c has the functions below and knows the lines
 * (docs/formats.md); reader.c provides the lines, handles errors, and several dumps in one file.
 */
#ifndef JESCOPE_PROFILE_DUMP_READER_H
#define JESCOPE_PROFILE_DUMP_READER_H

#include "profile/builder.h"
#include "profile/frame-scanner.h"
#include "profile/profile.h"
#include "profile/source.h"

typedef struct DumpReader DumpReader;

/* Parses the complete line at its argument and returns the start of the next one; or records the expected text and its
 * position, and returns NULL. */
typedef const char *(*DumpLineReader)(DumpReader *reader, const char *line);

struct DumpReader {
    ProfileBuilder *builder;
    ByteSource *source;
    const char *name;
    ProfileReadFlags flags;
    DumpLineReader read_line; /* of the current section */
    guint64 line;             /* number of the line being read */

    /* The stack being read. */
    FrameScanner scanner;
    BuilderFrames frames;
    gboolean has_stack; /* the "@" line was read */
    gboolean has_total; /* the "t*" row as well: the stack is complete enough to be kept */
    gboolean has_thread;
    DumpCounts total;
    gsize site_bytes; /* of its "@" line */

    /* For jescope's sampler; the samples of the current stack are those from these indexes on. */
    gboolean has_sampler;
    ProfileSampler sampler;
    GArray *samples; /* ProfileSample */
    GArray *deaths;  /* ProfileDeaths */
    guint first_sample;
    guint first_death;

    gboolean has_alloc; /* a row has accumulated counts */
    gboolean has_classes;
    gboolean at_start; /* before the first dump line: function names may follow */
    char *places;      /* of the symbol on the next line, or NULL */

    gboolean whole;     /* MAPPED_LIBRARIES was reached: the dump is complete */
    GPtrArray *earlier; /* Profile: the preceding dumps in the file */
    /* Stores the dump that has been read when the first line of the next one is found. FALSE: there are too many in the
     * file. */
    gboolean (*begin_next)(DumpReader *reader);
    const char *fault;
    const char *expected;
    ProfileLoss loss;
    GError *first_loss;
};

/* Reads the first line of a dump, or of the names of its functions before it. */
const char *grammar_first_line(DumpReader *reader, const char *line);

/* Whether the dump proper has not begun, so that nothing can be kept after an error. */
gboolean grammar_is_before_dump(const DumpReader *reader);

/* Adds the stack whose rows have been read. FALSE: the profile is full. */
gboolean grammar_close_stack(DumpReader *reader);

/* The values that the rows read so far provide (PROFILE_KNOWS_*). */
guint32 grammar_known_values(const DumpReader *reader);

#endif
