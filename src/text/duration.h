/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JESCOPE_TEXT_DURATION_H
#define JESCOPE_TEXT_DURATION_H

#include <glib.h>

/* "250 ms", "5.0 s", "1 min 30 s", "2 h 5 min", "3 d 4 h". To be freed. */
char *duration_format(guint64 ms);

#endif
