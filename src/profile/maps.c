/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/maps.h"
#include "profile/cursor.h"

#include <string.h>
#include <sys/sysmacros.h>

#define DELETED " (deleted)"

static guint64
take_hex(Cursor *cursor)
{
    const char *at = cursor->at;

    if (at != NULL && at[0] == '0' && at[1] == 'x')
        cursor->at += 2;
    guint64 value = cursor_take_hex(cursor, "a hexadecimal number of at most 64 bits");
    if (cursor->at == NULL && at != NULL)
        cursor->fault = at;
    return value;
}

static void
take_blanks(Cursor *cursor)
{
    if (cursor->at != NULL)
        cursor->at += strspn(cursor->at, " \t");
}

/* A word up to the next blank; its length is returned. */
static gsize
take_word(Cursor *cursor, const char **word)
{
    if (cursor->at == NULL)
        return 0;
    gsize n = strcspn(cursor->at, " \t\n");
    if (n == 0) {
        cursor_fail(cursor, cursor->at, "another column");
        return 0;
    }
    *word = cursor->at;
    cursor->at += n;
    return n;
}

/* The rest of the line is the path, blanks included. */
static void
take_path(Cursor *cursor, MapsLine *map)
{
    if (cursor->at == NULL)
        return;
    map->path = cursor->at;
    map->n_path = strcspn(cursor->at, "\n");
    cursor->at += map->n_path;
    if (*cursor->at != '\n') {
        cursor_fail(cursor, cursor->at, "a path without NUL");
        return;
    }
    gsize n_deleted = strlen(DELETED);
    if (map->n_path > n_deleted && memcmp(cursor->at - n_deleted, DELETED, n_deleted) == 0) {
        map->n_path -= n_deleted;
        map->flags |= PROFILE_OBJECT_DELETED;
    }
}

/* START-END PERMS OFFSET MAJOR:MINOR INODE [PATH] */
static void
parse_linux(Cursor *cursor, MapsLine *map)
{
    const char *permissions = NULL;
    guint64 major_number = 0;
    guint64 minor_number = 0;
    gsize n = take_word(cursor, &permissions);

    map->executable = n >= 3 && permissions[2] == 'x';
    cursor_take_char(cursor, ' ', "a blank");
    map->file_offset = take_hex(cursor);
    cursor_take_char(cursor, ' ', "a blank");
    major_number = take_hex(cursor);
    cursor_take_char(cursor, ':', "':' within the device");
    minor_number = take_hex(cursor);
    cursor_take_char(cursor, ' ', "a blank");
    map->inode = cursor_take_decimal(cursor, "a decimal number of at most 64 bits");
    take_blanks(cursor);
    take_path(cursor, map);
    map->device = makedev((unsigned)major_number, (unsigned)minor_number);
}

/* START END RESIDENT PRIVATE OBJECT ACCESS REFERENCES SHADOWS FLAGS COW NEEDS-COPY TYPE [PATH CHARGED UID] */
static void
parse_freebsd(Cursor *cursor, MapsLine *map)
{
    enum { ACCESS = 5, TYPE = 11, PATH = 12, FIRST = 2 };
    const char *word = "";

    for (int column = FIRST; column <= TYPE; column++) {
        gsize n = take_word(cursor, &word);
        if (column == ACCESS)
            map->executable = memchr(word, 'x', n) != NULL;
        take_blanks(cursor);
    }
    map->n_path = 0;
    if (cursor->at != NULL && *cursor->at == '/')
        map->n_path = take_word(cursor, &map->path);
}

static void
classify(MapsLine *map)
{
    static const char *const vdso[] = {"[vdso]", "[vsyscall]"};

    for (gsize i = 0; i < G_N_ELEMENTS(vdso); i++) {
        if (map->n_path == strlen(vdso[i]) && memcmp(map->path, vdso[i], map->n_path) == 0) {
            map->flags |= PROFILE_OBJECT_VDSO;
            return;
        }
    }
    if (map->n_path == 0 || *map->path != '/' || (map->n_path > 1 && map->path[1] == '/'))
        map->flags |= PROFILE_OBJECT_ANONYMOUS;
}

const char *
maps_line_parse(const char *line, MapsLine *map, const char **expected)
{
    Cursor cursor = {.at = line};
    MapsLine result = {.path = ""};

    result.start = take_hex(&cursor);
    gboolean dashed = cursor.at != NULL && *cursor.at == '-';
    cursor_take_char(&cursor, dashed ? '-' : ' ', "'-' between two addresses");
    result.limit = take_hex(&cursor);
    if (dashed && cursor.at != NULL && *cursor.at == ':') { /* START-END: PATH */
        cursor_take_char(&cursor, ':', "':'");
        result.executable = TRUE;
        take_blanks(&cursor);
        take_path(&cursor, &result);
    } else {
        cursor_take_char(&cursor, ' ', "a blank");
        (dashed ? parse_linux : parse_freebsd)(&cursor, &result);
    }
    if (cursor.at != NULL && result.limit < result.start)
        cursor_fail(&cursor, line, "an end after the start");
    if (cursor.at == NULL) {
        *expected = cursor.expected;
        return cursor.fault;
    }
    classify(&result);
    *map = result;
    return NULL;
}
