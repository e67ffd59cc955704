/* SPDX-License-Identifier: Apache-2.0 */
/* Parses ClickHouse's answers in the format JSONCompact: {"data": [[...], ...], ...}. The server is not trusted. */
#ifndef JESCOPE_FLEET_ROWS_H
#define JESCOPE_FLEET_ROWS_H

#include <glib.h>
#include <jansson.h>

#define FLEET_ERROR (fleet_error_quark())
GQuark fleet_error_quark(void);

typedef enum {
    FLEET_ERROR_ANSWER, /* not the expected format */
    FLEET_ERROR_EMPTY,  /* the store has no matching data */
    FLEET_ERROR_SLOW,   /* it was waited for too long */
} FleetError;

/* The rows of ANSWER, borrowed; NULL with FLEET_ERROR_ANSWER unless each has COLUMNS columns. WHAT names them in the
 * message. */
const json_t *fleet_rows(const json_t *answer, gsize columns, const char *what, GError **error);

/* Like fleet_rows(), but parses TEXT; to be released with json_decref(). */
json_t *fleet_rows_of_text(const GString *text, gsize columns, const char *what, GError **error);

/* These read a column of ROW. A number that is invalid or too large is 0; text is valid UTF-8, "" if missing. */
guint64 fleet_unsigned(const json_t *row, gsize column);
gint64 fleet_time(const json_t *row, gsize column); /* microseconds since 1970; 0 if invalid */
gdouble fleet_number(const json_t *row, gsize column);
const char *fleet_text(const json_t *row, gsize column);

#endif
