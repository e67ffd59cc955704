/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A section: the values of some consecutive samples, column by column, and their encoding in the history file.
 *
 * A column is one metric of one owner (the process, an arena, a class or mutex of one) and has one 64-bit value per
 * sample, or none if the sample lacked it. docs/history.md has the format: a directory of the columns in ascending
 * order of their keys, then each column as runs of differences between neighbours, all compressed with zstd. Columns
 * are decoded on demand.
 *
 * Not thread-safe.
 */
#ifndef JESCOPE_HISTORY_SECTION_H
#define JESCOPE_HISTORY_SECTION_H

#include <glib.h>

enum {
    SECTION_ROWS_MAX = 1 << 14,  /* samples in one section */
    SECTION_CELLS_MAX = 1 << 24, /* samples times columns */
};

/* Names a column. METRIC and mutexes (as ITEM) are numbers of the file's own dictionary, so that a file outlives
 * changes of the program's tables. */
typedef struct {
    guint32 owner;  /* 0: the process; N + 1: arena N */
    guint16 scope;  /* StatsScope */
    guint16 metric; /* dictionary number */
    guint64 item;   /* the size of a class, the dictionary number of a mutex; else 0 */
} SectionKey;

/* Orders by owner, scope, item, metric. */
int section_key_compare(const SectionKey *a, const SectionKey *b);

typedef struct Section Section;

Section *section_new(void);
void section_free(Section *section);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Section, section_free)

guint section_rows(const Section *section);
guint section_columns(const Section *section);

/* Appends an empty row. The caller must respect SECTION_ROWS_MAX and SECTION_CELLS_MAX. */
void section_add_row(Section *section);

/* Sets a value in the last row. Fast if keys are set in the same order as in the previous row. */
void section_set(Section *section, const SectionKey *key, guint64 value);

/* Appends row ROW of FROM, which must be fully decoded (section_load()). */
void section_copy_row(Section *section, const Section *from, guint row);

/* The key of column INDEX; keys are in ascending order in a decoded section. */
const SectionKey *section_key(const Section *section, guint index);

/* Decodes column INDEX if needed. FALSE with HISTORY_ERROR_DAMAGED if its data is invalid. */
gboolean section_load_column(Section *section, guint index, GError **error);

/* Decodes all columns. */
gboolean section_load(Section *section, GError **error);

/* Whether column INDEX is decoded. */
gboolean section_has_column(const Section *section, guint index);

/* Gets a value of a decoded column. FALSE if absent. */
gboolean section_get(const Section *section, guint index, guint row, guint64 *value);

/* Encodes a section of at least one row, whose columns must be decoded, at zstd's LEVEL. */
GBytes *section_encode(const Section *section, int level);

/* Parses BYTES, which are copied. NULL with HISTORY_ERROR_DAMAGED if they are not a section. */
Section *section_decode(const void *bytes, gsize length, GError **error);

#endif
