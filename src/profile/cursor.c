/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/cursor.h"

#include "profile/scan.h"

void
cursor_fail(Cursor *cursor, const char *at, const char *expected)
{
    cursor->fault = at;
    cursor->expected = expected;
    cursor->at = NULL;
}

void
cursor_take_char(Cursor *cursor, char wanted, const char *expected)
{
    if (cursor->at == NULL)
        return;
    if (*cursor->at != wanted)
        cursor_fail(cursor, cursor->at, expected);
    else
        cursor->at++;
}

/* NEXT: the position after the number, or NULL. */
static guint64
advance(Cursor *cursor, const char *next, guint64 value, const char *expected)
{
    if (next == NULL) {
        cursor_fail(cursor, cursor->at, expected);
        return 0;
    }
    cursor->at = next;
    return value;
}

guint64
cursor_take_decimal(Cursor *cursor, const char *expected)
{
    guint64 value = 0;

    if (cursor->at == NULL)
        return 0;
    const char *next = scan_decimal(cursor->at, &value);
    return advance(cursor, next, value, expected);
}

guint64
cursor_take_hex(Cursor *cursor, const char *expected)
{
    guint64 value = 0;

    if (cursor->at == NULL)
        return 0;
    const char *next = scan_hex(cursor->at, &value);
    return advance(cursor, next, value, expected);
}
