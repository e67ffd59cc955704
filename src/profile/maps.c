/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/maps.h"
#include "profile/scan.h"

#include <string.h>
#include <sys/sysmacros.h>

#define DELETED " (deleted)"

/* A place in the line and what was expected there; at == NULL after a fault, and every further step is skipped. */
typedef struct {
    const char *at;
    const char *fault;
    const char *expected;
} Cursor;

static void
fail(Cursor *cursor, const char *at, const char *expected)
{
    cursor->fault = at;
    cursor->expected = expected;
    cursor->at = NULL;
}

static void
take_hex(Cursor *cursor, guint64 *value)
{
    if (cursor->at == NULL) {
        return;
    }
    const char *digits = cursor->at + (cursor->at[0] == '0' && cursor->at[1] == 'x' ? 2 : 0);
    const char *next = scan_hex(digits, value);
    if (next == NULL) {
        fail(cursor, cursor->at, "a hexadecimal number of at most 64 bits");
    } else {
        cursor->at = next;
    }
}

static void
take_decimal(Cursor *cursor, guint64 *value)
{
    if (cursor->at == NULL) {
        return;
    }
    const char *next = scan_decimal(cursor->at, value);
    if (next == NULL) {
        fail(cursor, cursor->at, "a decimal number of at most 64 bits");
    } else {
        cursor->at = next;
    }
}

static void
take_char(Cursor *cursor, char wanted, const char *expected)
{
    if (cursor->at == NULL) {
        return;
    }
    if (*cursor->at != wanted) {
        fail(cursor, cursor->at, expected);
    } else {
        cursor->at++;
    }
}

static void
take_blanks(Cursor *cursor)
{
    if (cursor->at != NULL) {
        cursor->at += strspn(cursor->at, " \t");
    }
}

/* A word up to the next blank; its length is returned. */
static gsize
take_word(Cursor *cursor, const char **word)
{
    if (cursor->at == NULL) {
        return 0;
    }
    gsize n = strcspn(cursor->at, " \t\n");
    if (n == 0) {
        fail(cursor, cursor->at, "another column");
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
    if (cursor->at == NULL) {
        return;
    }
    map->path = cursor->at;
    map->n_path = strcspn(cursor->at, "\n");
    cursor->at += map->n_path;
    if (*cursor->at != '\n') {
        fail(cursor, cursor->at, "a path without NUL");
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
    take_char(cursor, ' ', "a blank");
    take_hex(cursor, &map->file_offset);
    take_char(cursor, ' ', "a blank");
    take_hex(cursor, &major_number);
    take_char(cursor, ':', "':' within the device");
    take_hex(cursor, &minor_number);
    take_char(cursor, ' ', "a blank");
    take_decimal(cursor, &map->inode);
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
        if (column == ACCESS) {
            map->executable = memchr(word, 'x', n) != NULL;
        }
        take_blanks(cursor);
    }
    map->n_path = 0;
    if (cursor->at != NULL && *cursor->at == '/') {
        map->n_path = take_word(cursor, &map->path);
    }
}

/* START-END: PATH */
static void
parse_image(Cursor *cursor, MapsLine *map)
{
    map->executable = TRUE;
    take_blanks(cursor);
    take_path(cursor, map);
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
    if (map->n_path == 0 || *map->path != '/' || (map->n_path > 1 && map->path[1] == '/')) {
        map->flags |= PROFILE_OBJECT_ANONYMOUS;
    }
}

const char *
maps_line_parse(const char *line, MapsLine *map, const char **expected)
{
    Cursor cursor = {.at = line};
    MapsLine result = {.path = ""};

    take_hex(&cursor, &result.start);
    gboolean dashed = cursor.at != NULL && *cursor.at == '-';
    take_char(&cursor, dashed ? '-' : ' ', "'-' between two addresses");
    take_hex(&cursor, &result.limit);
    if (dashed && cursor.at != NULL && *cursor.at == ':') {
        take_char(&cursor, ':', "':'");
        parse_image(&cursor, &result);
    } else {
        take_char(&cursor, ' ', "a blank");
        (dashed ? parse_linux : parse_freebsd)(&cursor, &result);
    }
    if (cursor.at != NULL && result.limit < result.start) {
        fail(&cursor, line, "an end behind the start");
    }
    if (cursor.at == NULL) {
        *expected = cursor.expected;
        return cursor.fault;
    }
    classify(&result);
    *map = result;
    return NULL;
}
