/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JESCOPE_TEXT_JSON_CHECK_H
#define JESCOPE_TEXT_JSON_CHECK_H

#include <glib.h>

/* Whether TEXT is one JSON value (RFC 8259) in UTF-8, with at most 64 levels. Takes time linear in LENGTH, and no
 * memory, unlike json-glib's parser, which makes a tree of the statistics of a hostile target. Any thread may call it.
 */
gboolean json_check(const char *text, gsize length);

#endif
