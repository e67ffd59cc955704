/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes untrusted text (process, function and file names, versions) safe for terminals: valid UTF-8 without characters
 * that control a terminal (C0, DEL, C1: U+009B begins an escape sequence), reorder adjacent text (the bidirectional
 * overrides, embeddings and isolates) or are invisible (zero-width ones, U+2028, U+2029). Also computes its columns.
 * All untrusted text that jescope prints passes through here. Pure and thread safe.
 */
#ifndef JESCOPE_TEXT_PRINTABLE_H
#define JESCOPE_TEXT_PRINTABLE_H

#include <glib.h>

/* Cleans TEXT, a field of SIZE bytes, in place and terminates it: each byte or character that is not allowed becomes
 * "?". Line feeds and tabs stay. */
void text_clean(char *text, gsize size);

/* The same, but line feeds and tabs do not stay. */
void text_clean_line(char *text, gsize size);

/* Whether TEXT has no character that text_printable() would replace. */
gboolean text_is_printable(const char *text);

/* A copy of TEXT in which each character that is not allowed is written as "\u{202E}" and each byte that is not UTF-8
 * as "\x{9B}", so that different names stay different; line feeds and tabs are written this way, too. */
char *text_printable(const char *text);

/* A copy of JSON, valid UTF-8, in which each such character of its strings, but for line feeds and tabs between them,
 * is written as "\u202e": the same document for every reader. */
char *text_printable_json(const char *json);

/* The columns of TEXT, printable UTF-8, in a terminal: wide characters (CJK) take two, combining ones none. */
guint text_columns(const char *text);

/* A copy of TEXT shortened to at most COLUMNS columns; a cut is marked by "...". */
char *text_cut(const char *text, guint columns);

/* TEXT in lines of at most COLUMNS columns (at least 1), broken at blanks, or within a word that is longer than a line.
 * At least one line; NULL-terminated, to be freed. */
char **text_wrap(const char *text, guint columns);

/* A copy of TEXT padded on the right with blanks to COLUMNS columns; a longer one is cut as by text_cut(). */
char *text_field(const char *text, guint columns);

#endif
