/* SPDX-License-Identifier: Apache-2.0 */
#include "history/forget.h"

static gboolean
run_with(History *history, Sql id, gint64 first, gint64 second, GError **error)
{
    sqlite3_stmt *statement = database_statement(history, id, error);
    database_bind(statement, first, second);
    return database_run(history, statement, error);
}

gboolean
forget_names(History *history, GError **error)
{
    return run_with(history, SQL_OWNERS_BEYOND, FORGET_NAMES_OF_USER, 0, error);
}

gboolean
forget_empty(History *history, GError **error)
{
    return run_with(history, SQL_TEXTS_EMPTY, HISTORY_SOURCE_IMPORT, 0, error) &&
           run_with(history, SQL_LIVES_EMPTY, HISTORY_SOURCE_IMPORT, FORGET_LIVES_OF_USER, error) &&
           run_with(history, SQL_DUMPS_LOST, 0, 0, error) && run_with(history, SQL_RECORDINGS_LOST, 0, 0, error) &&
           run_with(history, SQL_NOTES_BEYOND, FORGET_NOTES_OF_USER, 0, error) &&
           run_with(history, SQL_TARGETS_EMPTY, 0, 0, error) && forget_names(history, error);
}
