/* SPDX-License-Identifier: Apache-2.0 */
/* Text in SQL statements for ClickHouse. Every external value must pass through these functions. */
#ifndef JESCOPE_EXPORT_SQL_H
#define JESCOPE_EXPORT_SQL_H

#include <glib.h>

/* Appends TEXT as a string literal of ClickHouse, quotes included. Letters, digits and a few marks without a meaning
 * inside quotes are kept; every other byte is written as \xHH. */
void sql_append_text(GString *sql, const char *text);

/* Whether NAME is a valid unquoted name of a database or table: [a-zA-Z_][a-zA-Z0-9_]*, at most 64 bytes. */
gboolean sql_is_name(const char *name);

#endif
