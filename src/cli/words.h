/* SPDX-License-Identifier: Apache-2.0 */
/* Option values from a list of words. */
#ifndef JESCOPE_CLI_WORDS_H
#define JESCOPE_CLI_WORDS_H

#include <glib.h>

/* Finds WORD, the value of OPTION ("--format"), in WORDS (NULL-terminated); *INDEX, if not NULL, receives its index.
 * FALSE with a CLI_ERROR_USAGE that names the nearest word and all of them. */
gboolean words_find(const char *const *words, const char *option, const char *word, guint *index, GError **error);

#endif
