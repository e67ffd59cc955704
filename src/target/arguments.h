/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of a process as text that may be shown to others. */
#ifndef JESCOPE_TARGET_ARGUMENTS_H
#define JESCOPE_TARGET_ARGUMENTS_H

#include <glib.h>

/* WORDS, LENGTH bytes of NUL-terminated strings, as one line, separated by blanks and safe for terminals. Passwords in
 * URLs and the values of options with the name of a secret ("--password X", "--token=X", "requirepass X") are replaced
 * by "***"; secrets under other names are not recognised. */
char *arguments_text(const char *words, gsize length);

/* The same as NUL-terminated strings, not sanitized for terminals. */
GString *arguments_words(const char *words, gsize length);

#endif
