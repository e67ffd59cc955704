/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/headings.h"

#include "stats/keys.h"

#include <string.h>

static const struct {
    StatsScope scope;
    const char *row;
} kinds[ROW_KINDS] = {
    [ROW_BIN] = {STATS_SCOPE_BIN, "bins"},          [ROW_LARGE] = {STATS_SCOPE_LARGE, "large"},
    [ROW_HUGE] = {STATS_SCOPE_LARGE, "huge"},       [ROW_MUTEX] = {STATS_SCOPE_MUTEX, ""},
    [ROW_SUM_SMALL] = {STATS_SCOPE_ARENA, "small"}, [ROW_SUM_LARGE] = {STATS_SCOPE_ARENA, "large"},
    [ROW_SUM_HUGE] = {STATS_SCOPE_ARENA, "huge"},   [ROW_SUM_TOTAL] = {STATS_SCOPE_ARENA, "total"},
    [ROW_DIRTY] = {STATS_SCOPE_ARENA, "dirty"},     [ROW_MUZZY] = {STATS_SCOPE_ARENA, "muzzy"},
};

TextHeadings *
text_headings_new(void)
{
    return g_new0(TextHeadings, 1);
}

void
text_headings_free(TextHeadings *headings)
{
    if (headings == NULL)
        return;
    for (guint i = 0; i < ROW_KINDS; i++)
        g_free(headings->columns[i].line);
    g_free(headings);
}

static gint8
column_place(RowKind kind, const char *name, gsize length)
{
    char key[64];
    gsize row_length = strlen(kinds[kind].row);
    if (row_length + 1 + length > sizeof(key))
        return -1;
    memcpy(key, kinds[kind].row, row_length);
    key[row_length] = ':';
    memcpy(key + row_length + 1, name, length);
    int metric = keys_find(KEYS_TEXT, kinds[kind].scope, key, row_length + 1 + length);
    return metric < 0 ? -1 : (gint8)(metric - (int)stats_scope_first(kinds[kind].scope));
}

/* Leaves COLUMNS as they were if it fails: they still belong to the line that they were learned from. */
static gboolean
columns_learn(Columns *columns, RowKind kind, const char *line, gsize length, gsize at)
{
    Columns learned = {.length = length};
    for (;;) {
        while (at < length && line[at] == ' ')
            at++;
        if (at == length)
            break;
        gsize start = at;
        while (at < length && line[at] != ' ')
            at++;
        if (learned.count == COLUMNS_MAX || at > G_MAXUINT16)
            return FALSE;
        learned.place[learned.count] = column_place(kind, line + start, at - start);
        learned.end[learned.count++] = (guint16)at;
    }
    g_free(columns->line);
    learned.line = g_strndup(line, length);
    *columns = learned;
    return TRUE;
}

const Columns *
headings_get(TextHeadings *headings, RowKind kind, const char *line, gsize length, gsize at)
{
    Columns *columns = &headings->columns[kind];
    if (columns->line != NULL && columns->length == length && memcmp(columns->line, line, length) == 0)
        return columns;
    return columns_learn(columns, kind, line, length, at) ? columns : NULL;
}

gboolean
text_number(const char **at, const char *end, uint64_t *number)
{
    const char *p = *at;
    gboolean negative = p < end && *p == '-';
    p += negative;
    const char *digits = p;
    uint64_t value = 0;
    for (; p < end && (guchar)(*p - '0') <= 9; p++) {
        uint64_t next = value * 10 + (uint64_t)(*p - '0');
        /* Nineteen digits always fit; only the twentieth can overflow. */
        if (p - digits >= 19 && (p - digits > 19 || value > UINT64_MAX / 10 || next < value))
            return FALSE;
        value = next;
    }
    if (p == digits)
        return FALSE;
    if (p < end && *p == '.')
        for (p++; p < end && (guchar)(*p - '0') <= 9;)
            p++;
    *number = negative ? -value : value;
    *at = p;
    return TRUE;
}

/* The values of a row before the row is known to be complete. */
typedef struct {
    guint count;
    uint64_t present;
    uint64_t numbers[COLUMNS_MAX];
} Row;

static gboolean
is_absent(const char *p, const char *end)
{
    return end - p >= 3 && memcmp(p, "N/A", 3) == 0 && (end - p == 3 || p[3] == ' ');
}

/* Splits numbers at blanks. FALSE if there is anything else. */
static gboolean
row_split(Row *row, const char *p, const char *end)
{
    row->count = 0;
    row->present = 0;
    for (;;) {
        while (p < end && *p == ' ')
            p++;
        if (p == end)
            return TRUE;
        if (row->count == COLUMNS_MAX)
            return FALSE;
        if (is_absent(p, end)) {
            p += 3;
        } else {
            if (!text_number(&p, end, &row->numbers[row->count]) || (p < end && *p != ' '))
                return FALSE;
            row->present |= UINT64_C(1) << row->count;
        }
        row->count++;
    }
}

/* Splits numbers where the headings end, since a number that fills its column touches the previous one. */
static gboolean
row_cut(Row *row, const Columns *columns, const char *line, gsize at)
{
    row->present = 0;
    for (guint i = 0; i < columns->count; i++) {
        const char *p = line + at;
        const char *end = line + columns->end[i];
        while (p < end && *p == ' ')
            p++;
        if (!text_number(&p, end, &row->numbers[i]) || p != end)
            return FALSE;
        row->present |= UINT64_C(1) << i;
        at = columns->end[i];
    }
    row->count = columns->count;
    return TRUE;
}

/* Whether an unparsable line was a row of this table: its first word is a number that ends where the column ends. */
static gboolean
looks_like_row(const Columns *columns, const char *line, gsize length, gsize at)
{
    uint64_t number;
    const char *p = line + at;
    while (p < line + length && *p == ' ')
        p++;
    return columns->count > 0 && text_number(&p, line + length, &number) && p == line + columns->end[0];
}

static RowResult
row_read(Row *row, const Columns *columns, const char *line, gsize length, gsize at)
{
    gboolean numeric = row_split(row, line + at, line + length);
    if (numeric && row->count == columns->count)
        return ROW_TAKEN;
    if (numeric && row->count == 0)
        return ROW_NOT;
    if (length == columns->length && row->count < columns->count && row_cut(row, columns, line, at))
        return ROW_TAKEN;
    return numeric || looks_like_row(columns, line, length, at) ? ROW_DAMAGED : ROW_NOT;
}

RowResult
columns_read(const Columns *columns, const char *line, gsize length, gsize at, StatsValues *values)
{
    Row row;
    RowResult result = row_read(&row, columns, line, length, at);
    if (result != ROW_TAKEN)
        return result;
    for (guint i = 0; i < columns->count; i++) {
        int place = columns->place[i];
        if (place < 0 || (row.present & (UINT64_C(1) << i)) == 0)
            continue;
        values->present |= UINT64_C(1) << place;
        values->values[place] = row.numbers[i];
    }
    return ROW_TAKEN;
}
