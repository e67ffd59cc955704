/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of ClickHouse in the format JSONCompact: {"data": [[...], ...], ...}. The server is not trusted. */
#ifndef JESCOPE_FLEET_ROWS_H
#define JESCOPE_FLEET_ROWS_H

#include <glib.h>
#include <jansson.h>

#define FLEET_ERROR (fleet_error_quark())
GQuark fleet_error_quark(void);

typedef enum {
    FLEET_ERROR_ANSWER, /* not what was asked for */
    FLEET_ERROR_EMPTY,  /* the store has nothing that fits */
} FleetError;

/* The rows of ANSWER, borrowed, if each has COLUMNS columns; NULL with FLEET_ERROR_ANSWER. WHAT is for the message. */
const json_t *fleet_rows(const json_t *answer, gsize columns, const char *what, GError **error);

/* The same of text; to be released with json_decref(). */
json_t *fleet_rows_of_text(const GString *text, gsize columns, const char *what, GError **error);

/* Of a row. What is not a number, or a huge one, is 0; text is valid UTF-8, "" if it is missing. */
guint64 fleet_unsigned(const json_t *row, gsize column);
gint64 fleet_time(const json_t *row, gsize column); /* microseconds since 1970; what is not a time is 0 */
gdouble fleet_number(const json_t *row, gsize column);
const char *fleet_text(const json_t *row, gsize column);

#endif
