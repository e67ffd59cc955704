/* SPDX-License-Identifier: Apache-2.0 */
/* Option values that are one of some words. */
#ifndef JESCOPE_CLI_WORDS_H
#define JESCOPE_CLI_WORDS_H

#include <glib.h>

/* Finds WORD, the value of OPTION ("--format"), in WORDS (ends with NULL); *INDEX, if not NULL, is its place. FALSE
 * with a CLI_ERROR_USAGE that names the nearest word and all of them. */
gboolean words_find(const char *const *words, const char *option, const char *word, guint *index, GError **error);

#endif
