/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A section: the values of some consecutive samples, column by column, and their encoding in the history file.
 *
 * A column is one metric of one owner (the process, an arena, a class or mutex of one) and holds one 64-bit value per
 * sample, or nothing if the sample lacked it. docs/history.md has the format: a directory of the columns in ascending
 * order of their keys, then each column as runs of differences between neighbours, all of it compressed with zstd.
 * Columns are decoded when they are asked for.
 *
 * No locking: a section belongs to one thread.
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

/* A new last row with nothing in it. The caller keeps to SECTION_ROWS_MAX and SECTION_CELLS_MAX. */
void section_add_row(Section *section);

/* Sets a value of the last row. Fast if the keys of a row have the order of the previous row. */
void section_set(Section *section, const SectionKey *key, guint64 value);

/* Appends row ROW of FROM, which must be fully decoded, see section_load(). */
void section_copy_row(Section *section, const Section *from, guint row);

/* Column INDEX, in ascending order of keys in a section that was decoded. */
const SectionKey *section_key(const Section *section, guint index);

/* Decodes column INDEX if it is not yet. FALSE with HISTORY_ERROR_DAMAGED: its bytes make no sense. */
gboolean section_load_column(Section *section, guint index, GError **error);

/* Decodes all of them. */
gboolean section_load(Section *section, GError **error);

/* Column INDEX is decoded. */
gboolean section_has_column(const Section *section, guint index);

/* A value of a decoded column. FALSE: absent. */
gboolean section_get(const Section *section, guint index, guint row, guint64 *value);

/* The bytes of a section of at least one row; its columns must be decoded. LEVEL is zstd's. */
GBytes *section_encode(const Section *section, int level);

/* Copies from BYTES. HISTORY_ERROR_DAMAGED: not a section. */
Section *section_decode(const void *bytes, gsize length, GError **error);

#endif
