/* SPDX-License-Identifier: Apache-2.0 */
#include "history/section.h"

#include "confine/keyed-hash.h"
#include "history/history.h"
#include "history/varint.h"

#include <string.h>
#include <zstd.h>

enum {
    FORMAT_PLAIN = 0,
    FORMAT_ZSTD = 1,

    COLUMN_HOLES = 1 << 0,  /* preceded by a bitmap of the rows with a value */
    COLUMN_SECOND = 1 << 1, /* differences of differences */
    COLUMN_KNOWN = COLUMN_HOLES | COLUMN_SECOND,

    PAYLOAD_MAX = 1 << 28,
    COLUMN_BYTES_MIN = 5, /* minimum size of a column's entry in the directory */
};

typedef struct {
    SectionKey key;
    guint64 *values;  /* one per row; NULL: not decoded */
    guint64 *present; /* one bit per row; allocated with values */
    const guint8 *body;
    gsize body_length;
} Column;

struct Section {
    guint rows;
    guint capacity; /* rows that every decoded column has space for */
    guint next;     /* column where the next key is expected */
    GArray *columns;
    GHashTable *index; /* SectionKey * -> column + 1; built when NEXT is first wrong */
    guint8 *payload;   /* encoded columns of a section that was read */
};

static gsize
bitmap_words(guint rows)
{
    return (rows + 63) / 64;
}

static Column *
column_at(const Section *section, guint index)
{
    return &g_array_index(section->columns, Column, index);
}

static inline gboolean
column_has(const Column *column, guint row)
{
    return column->present[row / 64] >> row % 64 & 1;
}

int
section_key_compare(const SectionKey *a, const SectionKey *b)
{
    if (a->owner != b->owner)
        return a->owner < b->owner ? -1 : 1;
    if (a->scope != b->scope)
        return a->scope < b->scope ? -1 : 1;
    if (a->item != b->item)
        return a->item < b->item ? -1 : 1;
    return (a->metric > b->metric) - (a->metric < b->metric);
}

/* The writer of a log chooses the sizes of classes. */
static guint
key_hash(gconstpointer key)
{
    return keyed_hash_bytes(key, sizeof(SectionKey));
}

static gboolean
key_equal(gconstpointer a, gconstpointer b)
{
    return section_key_compare(a, b) == 0;
}

static void
clear_column(gpointer data)
{
    Column *column = data;
    g_free(column->values);
    g_free(column->present);
}

Section *
section_new(void)
{
    Section *section = g_new0(Section, 1);
    section->columns = g_array_new(FALSE, TRUE, sizeof(Column));
    g_array_set_clear_func(section->columns, clear_column);
    return section;
}

void
section_free(Section *section)
{
    if (section == NULL)
        return;
    g_array_unref(section->columns);
    g_clear_pointer(&section->index, g_hash_table_unref);
    g_free(section->payload);
    g_free(section);
}

guint
section_rows(const Section *section)
{
    return section->rows;
}

guint
section_columns(const Section *section)
{
    return section->columns->len;
}

const SectionKey *
section_key(const Section *section, guint index)
{
    return &column_at(section, index)->key;
}

static void
column_reserve(Column *column, guint from, guint to)
{
    column->values = g_renew(guint64, column->values, to);
    memset(column->values + from, 0, (to - from) * sizeof(*column->values));
    gsize words_from = bitmap_words(from), words_to = bitmap_words(to);
    column->present = g_renew(guint64, column->present, words_to);
    memset(column->present + words_from, 0, (words_to - words_from) * sizeof(*column->present));
}

void
section_add_row(Section *section)
{
    g_assert(section->rows < SECTION_ROWS_MAX);
    if (section->rows == section->capacity) {
        guint capacity = section->capacity == 0 ? 1 : MAX(section->capacity * 2, 16); /* many have one row */
        for (guint i = 0; i < section->columns->len; i++)
            column_reserve(column_at(section, i), section->capacity, capacity);
        section->capacity = capacity;
    }
    section->rows++;
    section->next = 0;
}

static void
index_column(Section *section, guint column)
{
    g_hash_table_insert(section->index, g_memdup2(section_key(section, column), sizeof(SectionKey)),
                        GUINT_TO_POINTER(column + 1));
}

static guint
append_column(Section *section, const SectionKey *key)
{
    Column column = {.key = *key};
    column_reserve(&column, 0, section->capacity);
    g_array_append_val(section->columns, column);
    guint last = section->columns->len - 1;
    if (section->index != NULL)
        index_column(section, last);
    return last;
}

/* Whether KEY comes after all others, if these ascend. In the first row most keys do, and no index is needed to know
 * that they are new. Two classes of one size have the same key. */
static gboolean
ascends(const Section *section, const SectionKey *key)
{
    const guint n = section->columns->len;
    return section->next == n && (n == 0 || section_key_compare(section_key(section, n - 1), key) < 0);
}

static guint
column_for(Section *section, const SectionKey *key)
{
    if (section->next < section->columns->len && key_equal(section_key(section, section->next), key))
        return section->next;
    if (section->rows == 1 && section->index == NULL && ascends(section, key))
        return append_column(section, key);
    if (section->index == NULL) {
        section->index = g_hash_table_new_full(key_hash, key_equal, g_free, NULL);
        for (guint i = 0; i < section->columns->len; i++)
            index_column(section, i);
    }
    guint found = GPOINTER_TO_UINT(g_hash_table_lookup(section->index, key));
    return found != 0 ? found - 1 : append_column(section, key);
}

void
section_set(Section *section, const SectionKey *key, guint64 value)
{
    guint at = column_for(section, key);
    section->next = at + 1;
    Column *column = column_at(section, at);
    guint row = section->rows - 1;
    column->values[row] = value;
    column->present[row / 64] |= G_GUINT64_CONSTANT(1) << row % 64;
}

gboolean
section_has_column(const Section *section, guint index)
{
    return column_at(section, index)->values != NULL;
}

gboolean
section_get(const Section *section, guint index, guint row, guint64 *value)
{
    const Column *column = column_at(section, index);
    if (!column_has(column, row))
        return FALSE;
    *value = column->values[row];
    return TRUE;
}

void
section_copy_row(Section *section, const Section *from, guint row)
{
    section_add_row(section);
    for (guint i = 0; i < from->columns->len; i++) {
        guint64 value;
        if (section_get(from, i, row, &value))
            section_set(section, section_key(from, i), value);
    }
}

static gboolean
column_full(const Section *section, const Column *column)
{
    for (guint row = 0; row < section->rows; row += 64) {
        guint64 all = section->rows - row >= 64 ? G_MAXUINT64 : (G_GUINT64_CONSTANT(1) << (section->rows - row)) - 1;
        if ((column->present[row / 64] & all) != all)
            return FALSE;
    }
    return TRUE;
}

static void
append_bitmap(GByteArray *out, const Section *section, const Column *column)
{
    for (guint row = 0; row < section->rows; row += 8) {
        guint8 byte = (guint8)(column->present[row / 64] >> row % 64);
        g_byte_array_append(out, &byte, 1);
    }
}

/* Zero differences are written as 0 and the number of further ones, so that a constant value takes two bytes per
 * block. */
static void
append_run(GByteArray *out, guint *zeros)
{
    if (*zeros == 0)
        return;
    varint_append(out, 0);
    varint_append(out, *zeros - 1);
    *zeros = 0;
}

static void
append_differences(GByteArray *out, const Section *section, const Column *column, gboolean second)
{
    guint64 before = 0, slope = 0;
    guint zeros = 0, count = 0;
    for (guint row = 0; row < section->rows; row++) {
        if (!column_has(column, row))
            continue;
        guint64 value = column->values[row];
        guint64 difference = value - before - slope;
        if (second && count++ > 0)
            slope = value - before;
        before = value;
        if (difference == 0) {
            zeros++;
            continue;
        }
        append_run(out, &zeros);
        varint_append(out, varint_zigzag(difference));
    }
    append_run(out, &zeros);
}

static void
append_body(GByteArray *out, const Section *section, const Column *column, gboolean second)
{
    gboolean full = column_full(section, column);
    guint8 flags = (guint8)((full ? 0 : COLUMN_HOLES) | (second ? COLUMN_SECOND : 0));
    g_byte_array_append(out, &flags, 1);
    if (!full)
        append_bitmap(out, section, column);
    append_differences(out, section, column, second);
}

/* Tries first and second differences: which is shorter depends on the metric and the load. Counters with a steady rate
 * are shorter in second differences. */
static GByteArray *
encode_column(const Section *section, const Column *column)
{
    GByteArray *first = g_byte_array_new();
    append_body(first, section, column, FALSE);
    if (section->rows < 3)
        return first;
    GByteArray *second = g_byte_array_new();
    append_body(second, section, column, TRUE);
    if (second->len < first->len) {
        g_byte_array_unref(first);
        return second;
    }
    g_byte_array_unref(second);
    return first;
}

static void
append_key(GByteArray *out, const SectionKey *key, const SectionKey *before)
{
    gboolean same_owner = key->owner == before->owner;
    gboolean same_scope = same_owner && key->scope == before->scope;
    gboolean same_item = same_scope && key->item == before->item;
    varint_append(out, key->owner - before->owner);
    varint_append(out, (guint64)(key->scope - (same_owner ? before->scope : 0)));
    varint_append(out, key->item - (same_scope ? before->item : 0));
    varint_append(out, (guint64)(key->metric - (same_item ? before->metric : 0)));
}

static int
compare_columns(gconstpointer a, gconstpointer b)
{
    const Column *const *left = a, *const *right = b;
    return section_key_compare(&(*left)->key, &(*right)->key);
}

static GPtrArray *
sorted_columns(const Section *section)
{
    GPtrArray *sorted = g_ptr_array_sized_new(section->columns->len);
    gboolean in_order = TRUE;
    for (guint i = 0; i < section->columns->len; i++) {
        g_ptr_array_add(sorted, column_at(section, i));
        in_order =
            in_order && (i == 0 || section_key_compare(section_key(section, i - 1), section_key(section, i)) < 0);
    }
    if (!in_order)
        g_ptr_array_sort(sorted, compare_columns);
    return sorted;
}

static GByteArray *
encode_payload(const Section *section)
{
    g_autoptr(GPtrArray) sorted = sorted_columns(section);
    g_autoptr(GByteArray) bodies = g_byte_array_new();
    GByteArray *payload = g_byte_array_new();
    varint_append(payload, section->rows);
    varint_append(payload, sorted->len);
    SectionKey before = {0};
    for (guint i = 0; i < sorted->len; i++) {
        const Column *column = sorted->pdata[i];
        g_autoptr(GByteArray) body = encode_column(section, column);
        append_key(payload, &column->key, &before);
        varint_append(payload, body->len);
        g_byte_array_append(bodies, body->data, body->len);
        before = column->key;
    }
    g_byte_array_append(payload, bodies->data, bodies->len);
    return payload;
}

GBytes *
section_encode(const Section *section, int level)
{
    g_autoptr(GByteArray) payload = encode_payload(section);
    g_autoptr(GByteArray) out = g_byte_array_new();
    guint8 format = FORMAT_ZSTD;
    g_byte_array_append(out, &format, 1);
    varint_append(out, payload->len);
    guint head = out->len;
    gsize room = ZSTD_compressBound(payload->len);
    g_byte_array_set_size(out, (guint)(head + room));
    gsize packed = ZSTD_compress(out->data + head, room, payload->data, payload->len, level);
    if (ZSTD_isError(packed) || packed >= payload->len) {
        out->data[0] = FORMAT_PLAIN;
        g_byte_array_set_size(out, head);
        g_byte_array_append(out, payload->data, payload->len);
    } else {
        g_byte_array_set_size(out, (guint)(head + packed));
    }
    return g_byte_array_free_to_bytes(g_steal_pointer(&out));
}

static gboolean
damaged(GError **error, const char *what)
{
    g_set_error(error, HISTORY_ERROR, HISTORY_ERROR_DAMAGED, "damaged block: %s", what);
    return FALSE;
}

static gboolean
unpack(const guint8 *bytes, gsize length, guint8 **payload, gsize *payload_length, GError **error)
{
    Varint in = {.at = bytes, .end = bytes + length};
    guint64 size;
    if (length < 2 || bytes[0] > FORMAT_ZSTD)
        return damaged(error, "unknown format");
    in.at++;
    if (!varint_read(&in, &size) || size == 0 || size > PAYLOAD_MAX)
        return damaged(error, "impossible size");
    gsize left = (gsize)(in.end - in.at);
    if (bytes[0] == FORMAT_PLAIN) {
        if (left != size)
            return damaged(error, "cut short");
        *payload = g_memdup2(in.at, size);
    } else {
        /* The frame header must have the same size before it is allocated. */
        if (ZSTD_getFrameContentSize(in.at, left) != size)
            return damaged(error, "sizes disagree");
        guint8 *room = g_try_malloc(size);
        if (room == NULL || ZSTD_decompress(room, size, in.at, left) != size) {
            g_free(room);
            return damaged(error, "does not decompress");
        }
        *payload = room;
    }
    *payload_length = size;
    return TRUE;
}

static gboolean
read_key(Varint *in, const SectionKey *before, SectionKey *key)
{
    guint64 owner, scope, item, metric;
    if (!varint_read(in, &owner) || !varint_read(in, &scope) || !varint_read(in, &item) || !varint_read(in, &metric))
        return FALSE;
    if (owner > G_MAXUINT16 || scope > G_MAXUINT8 || metric > G_MAXUINT16)
        return FALSE;
    gboolean same_owner = owner == 0, same_scope = same_owner && scope == 0, same_item = same_scope && item == 0;
    metric += same_item ? before->metric : 0;
    scope += same_owner ? before->scope : 0;
    if (metric > G_MAXUINT16 || scope > G_MAXUINT8)
        return FALSE;
    *key = (SectionKey){
        .owner = (guint32)(before->owner + owner),
        .scope = (guint16)scope,
        .metric = (guint16)metric,
        .item = item + (same_scope ? before->item : 0),
    };
    return TRUE;
}

static gboolean
read_directory(Section *section, Varint *in, guint count)
{
    SectionKey before = {0};
    for (guint i = 0; i < count; i++) {
        Column column = {0};
        guint64 length;
        if (!read_key(in, &before, &column.key) || !varint_read(in, &length) || length > PAYLOAD_MAX)
            return FALSE;
        if (i > 0 && section_key_compare(&before, &column.key) >= 0)
            return FALSE;
        column.body_length = length;
        g_array_append_val(section->columns, column);
        before = column.key;
    }
    return TRUE;
}

static gboolean
place_bodies(Section *section, const Varint *in)
{
    const guint8 *at = in->at;
    for (guint i = 0; i < section->columns->len; i++) {
        Column *column = column_at(section, i);
        if (column->body_length > (gsize)(in->end - at))
            return FALSE;
        column->body = at;
        at += column->body_length;
    }
    return at == in->end;
}

Section *
section_decode(const void *bytes, gsize length, GError **error)
{
    g_autoptr(Section) section = section_new();
    gsize payload_length;
    if (!unpack(bytes, length, &section->payload, &payload_length, error))
        return NULL;
    Varint in = {.at = section->payload, .end = section->payload + payload_length};
    guint64 rows, count;
    if (!varint_read(&in, &rows) || rows == 0 || rows > SECTION_ROWS_MAX || !varint_read(&in, &count) ||
        count > payload_length / COLUMN_BYTES_MIN || count * rows > SECTION_CELLS_MAX) {
        damaged(error, "impossible counts");
        return NULL;
    }
    section->rows = (guint)rows;
    section->capacity = (guint)rows;
    if (!read_directory(section, &in, (guint)count) || !place_bodies(section, &in)) {
        damaged(error, "its directory makes no sense");
        return NULL;
    }
    return g_steal_pointer(&section);
}

static gboolean
read_bitmap(const Section *section, Column *column, Varint *in)
{
    gsize bytes = (section->rows + 7) / 8;
    if ((gsize)(in->end - in->at) < bytes)
        return FALSE;
    for (gsize i = 0; i < bytes; i++)
        column->present[i / 8] |= (guint64)in->at[i] << i % 8 * 8;
    in->at += bytes;
    return TRUE;
}

static gboolean
next_difference(Varint *in, guint64 *zeros, guint64 *difference)
{
    *difference = 0;
    if (*zeros > 0) {
        --*zeros;
        return TRUE;
    }
    guint64 token;
    if (!varint_read(in, &token))
        return FALSE;
    if (token == 0)
        return varint_read(in, zeros);
    *difference = varint_unzigzag(token);
    return TRUE;
}

static gboolean
read_differences(const Section *section, Column *column, Varint *in, gboolean second)
{
    guint64 before = 0, slope = 0, zeros = 0;
    guint count = 0;
    for (guint row = 0; row < section->rows; row++) {
        if (!column_has(column, row))
            continue;
        guint64 difference;
        if (!next_difference(in, &zeros, &difference))
            return FALSE;
        guint64 value = before + slope + difference;
        if (second && count++ > 0)
            slope = value - before;
        before = value;
        column->values[row] = value;
    }
    return zeros == 0 && in->at == in->end;
}

gboolean
section_load_column(Section *section, guint index, GError **error)
{
    Column *column = column_at(section, index);
    if (column->values != NULL)
        return TRUE;
    Varint in = {.at = column->body, .end = column->body + column->body_length};
    if (in.at == in.end || (*in.at & ~COLUMN_KNOWN) != 0)
        return damaged(error, "a column of unknown form");
    guint8 flags = *in.at++;
    column_reserve(column, 0, section->capacity);
    gboolean whole = TRUE;
    if (flags & COLUMN_HOLES)
        whole = read_bitmap(section, column, &in);
    else
        memset(column->present, 0xff, bitmap_words(section->rows) * sizeof(*column->present));
    if (whole && read_differences(section, column, &in, (flags & COLUMN_SECOND) != 0))
        return TRUE;
    g_clear_pointer(&column->values, g_free);
    g_clear_pointer(&column->present, g_free);
    return damaged(error, "a column does not add up");
}

gboolean
section_load(Section *section, GError **error)
{
    for (guint i = 0; i < section->columns->len; i++)
        if (!section_load_column(section, i, error))
            return FALSE;
    return TRUE;
}
