/* SPDX-License-Identifier: Apache-2.0 */
/* Making text that came from a target fit for terminals and JSON. */
#ifndef JESCOPE_TARGET_TEXT_H
#define JESCOPE_TARGET_TEXT_H

#include <glib.h>

/* TEXT, a field of SIZE bytes: terminated, valid UTF-8, no control characters but line feed and tab. */
void text_clean(char *text, gsize size);

/* And neither of these. */
void text_clean_line(char *text, gsize size);

#endif
