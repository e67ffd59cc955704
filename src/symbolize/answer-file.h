/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answers for one build id as bytes, for the cache: the addresses looked up so far, their frames and strings.
 *
 * Layout, in the host's byte order (caches are not portable): AnswerHeader, n_addresses guint64 ascending, n_addresses
 * + 1 guint32 (the index of the first frame of each), n_frames AnswerFrame, n_text bytes of terminated strings. The
 * checksum covers everything after it, and detects accidental damage only: answer_file_parse() checks every number.
 */
#ifndef JESCOPE_SYMBOLIZE_ANSWER_FILE_H
#define JESCOPE_SYMBOLIZE_ANSWER_FILE_H

#include "symbolize/object.h"

#define ANSWER_MAGIC    "jescsym2"
#define ANSWER_MAX_SIZE ((gsize)64 << 20) /* of one file */

typedef struct {
    char magic[8];
    guint64 checksum;
    guint64 fingerprint; /* of the files used for the answers */
    guint32 n_addresses, n_frames, n_text;
    guint32 source; /* SymbolsSource */
} AnswerHeader;

typedef struct {
    guint32 function, system_name; /* offsets into the text */
    guint32 file;                  /* the same, or ANSWER_NO_TEXT */
    guint32 line, start_line;
    guint32 known;
} AnswerFrame;

#define ANSWER_NO_TEXT G_MAXUINT32

G_STATIC_ASSERT(sizeof(AnswerHeader) == 40);
G_STATIC_ASSERT(sizeof(AnswerFrame) == 24);

/* A parsed file: pointers into its bytes. */
typedef struct {
    const AnswerHeader *header;
    const guint64 *addresses;
    const guint32 *first;
    const AnswerFrame *frames;
    const char *text;
} AnswerFile;

guint64 answer_checksum(const guint8 *data, gsize size);

/* FALSE: not a complete, undamaged file of this version. data is aligned to 8 and outlives file. */
gboolean answer_file_parse(const guint8 *data, gsize size, AnswerFile *file);

/* Fills each unanswered question of asked (ascending) that file answers; returns the number still unanswered. Strings
 * stay in file. */
guint answer_file_apply(const AnswerFile *file, ObjectWork *work);

/* The answers of work merged with those of old (may be NULL); NULL if the result exceeds the maximum size of a file. */
GByteArray *answer_file_encode(const ObjectWork *work, const AnswerFile *old, guint64 fingerprint);

#endif
