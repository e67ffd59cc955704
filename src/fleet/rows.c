/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/rows.h"

#include "client/document.h"
#include "export/batch.h"
#include "target/target.h"

#include <math.h>

/* Larger than any valid number of bytes or variance; sums of such numbers are finite. */
#define NUMBER_MAX 1e60

G_DEFINE_QUARK(jescope_fleet_error, fleet_error)

const json_t *
fleet_rows(const json_t *answer, gsize columns, const char *what, GError **error)
{
    const json_t *rows = json_object_get(answer, "data");
    gboolean sound = json_is_array(rows);
    for (gsize i = 0; sound && i < json_array_size(rows); i++)
        sound = json_array_size(json_array_get(rows, i)) == columns;
    if (sound)
        return rows;
    g_set_error(
        error, FLEET_ERROR, FLEET_ERROR_ANSWER,
        "the store's answer about %s is not a table of %u columns; is it ClickHouse with the tables of jescope?", what,
        (guint)columns);
    return NULL;
}

json_t *
fleet_rows_of_text(const GString *text, gsize columns, const char *what, GError **error)
{
    g_autoptr(GError) cause = NULL;
    json_t *answer = document_parse(text->str, text->len, &cause);
    if (g_error_matches(cause, TARGET_ERROR, OUTCOME_TOO_LARGE)) {
        g_set_error(error, FLEET_ERROR, FLEET_ERROR_ANSWER, "the store's answer about %s holds too many values", what);
        return NULL;
    }
    json_t *rows = fleet_rows(answer, columns, what, error) != NULL ? json_object_get(answer, "data") : NULL;
    json_incref(rows);
    json_decref(answer);
    return rows;
}

guint64
fleet_unsigned(const json_t *row, gsize column)
{
    const json_t *value = json_array_get(row, column);
    if (json_is_string(value))
        return g_ascii_strtoull(json_string_value(value), NULL, 10);
    return (guint64)MAX(json_integer_value(value), 0);
}

gint64
fleet_time(const json_t *row, gsize column)
{
    guint64 time = fleet_unsigned(row, column);
    return time <= (guint64)BATCH_TIME_MAX ? (gint64)time : 0;
}

gdouble
fleet_number(const json_t *row, gsize column)
{
    const json_t *value = json_array_get(row, column);
    gdouble number = json_is_string(value) ? g_ascii_strtod(json_string_value(value), NULL) : json_number_value(value);
    return fabs(number) <= NUMBER_MAX ? number : 0;
}

const char *
fleet_text(const json_t *row, gsize column)
{
    const char *text = json_string_value(json_array_get(row, column));
    return text != NULL ? text : "";
}
