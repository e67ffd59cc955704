/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of a process as text that may be shown to others. */
#ifndef JESCOPE_TARGET_ARGUMENTS_H
#define JESCOPE_TARGET_ARGUMENTS_H

#include <glib.h>

/* LENGTH bytes of WORDS, each with a NUL behind it, with blanks between them and fit for terminals. The value of an
 * option that is called as a secret is ("--password X", "--token=X", "requirepass X"), and the password in a URL, is
 * "***". A secret under another name stays. */
char *arguments_text(const char *words, gsize length);

/* The same words, not fit for terminals, with a NUL behind each. */
GString *arguments_words(const char *words, gsize length);

#endif
