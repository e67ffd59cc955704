/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of /proc/PID/stat, by their numbers in proc(5). */
#ifndef JESCOPE_TARGET_PROCESS_STAT_H
#define JESCOPE_TARGET_PROCESS_STAT_H

#include <glib.h>

typedef enum {
    PROCESS_STAT_STATE = 3,
    PROCESS_STAT_PARENT = 4,
    PROCESS_STAT_FLAGS = 9,
    PROCESS_STAT_THREADS = 20,
    PROCESS_STAT_START_TIME = 22,
    PROCESS_STAT_SIZE = 23,
    PROCESS_STAT_STACK = 28,
    PROCESS_STAT_EXIT_CODE = 52,
} ProcessStatField;

/* Sets *NAME and *LENGTH to the name, which may contain parentheses, blanks and line feeds. FALSE if STAT, the text of
 * such a file or NULL, has none. */
gboolean process_stat_name(const char *stat, const char **name, gsize *length);

/* The state of the process or thread; '\0' if STAT has none. */
char process_stat_state(const char *stat);

/* Sets *VALUE to a number. FALSE, with *VALUE unchanged, if STAT does not have it. */
gboolean process_stat_number(const char *stat, ProcessStatField field, guint64 *value);

#endif
