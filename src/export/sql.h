/* SPDX-License-Identifier: Apache-2.0 */
/* Text in SQL statements for ClickHouse: every value from outside goes through here. */
#ifndef JESCOPE_EXPORT_SQL_H
#define JESCOPE_EXPORT_SQL_H

#include <glib.h>

/* Appends TEXT as a string literal of ClickHouse, quotes included. Only letters, digits and a few marks that mean
 * nothing within quotes stay as they are; every other byte is written as \xHH. */
void sql_append_text(GString *sql, const char *text);

/* Whether NAME can stand as the name of a database or table without quotes: [a-zA-Z_][a-zA-Z0-9_]*, at most 64. */
gboolean sql_is_name(const char *name);

#endif
