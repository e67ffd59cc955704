/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers in brackets are chapters of DWARF 5. */
#include "symbolize/dwarf-attribute.h"

#include "symbolize/patience.h"

#include <dwarf.h>

DwarfCursor
dwarf_file_cursor(const DwarfFile *file, DwarfSection section, guint64 offset)
{
    const ImageSection *bytes = &file->sections[section];
    if (offset >= bytes->size)
        return (DwarfCursor){.overrun = TRUE};
    return (DwarfCursor){.at = bytes->data + offset, .end = bytes->data + bytes->size};
}

const char *
dwarf_file_string(const DwarfFile *file, DwarfSection section, guint64 offset)
{
    const char *text = image_text_at(&file->sections[section], offset, DWARF_LONGEST_TEXT);
    patience_spend(text != NULL ? 16 : DWARF_LONGEST_TEXT >> 4);
    return text;
}

/* The number of bytes of a form; the remaining forms are variable. */
#define SIZE_VARIABLE 0xff
#define SIZE_ADDRESS  0xfe
#define SIZE_OFFSET   0xfd
#define SIZE_REF_ADDR 0xfc /* an address in DWARF 2, an offset in later versions */
#define SIZE_UNKNOWN  0xfb

/* [7.5.6], and the GNU forms from before version 5. */
static guint8
form_size(guint16 form)
{
    static const guint8 sizes[] = {
        [0] = SIZE_UNKNOWN,
        [DW_FORM_addr] = SIZE_ADDRESS,
        [0x02] = SIZE_UNKNOWN,
        [DW_FORM_block2] = SIZE_VARIABLE,
        [DW_FORM_block4] = SIZE_VARIABLE,
        [DW_FORM_data2] = 2,
        [DW_FORM_data4] = 4,
        [DW_FORM_data8] = 8,
        [DW_FORM_string] = SIZE_VARIABLE,
        [DW_FORM_block] = SIZE_VARIABLE,
        [DW_FORM_block1] = SIZE_VARIABLE,
        [DW_FORM_data1] = 1,
        [DW_FORM_flag] = 1,
        [DW_FORM_sdata] = SIZE_VARIABLE,
        [DW_FORM_strp] = SIZE_OFFSET,
        [DW_FORM_udata] = SIZE_VARIABLE,
        [DW_FORM_ref_addr] = SIZE_REF_ADDR,
        [DW_FORM_ref1] = 1,
        [DW_FORM_ref2] = 2,
        [DW_FORM_ref4] = 4,
        [DW_FORM_ref8] = 8,
        [DW_FORM_ref_udata] = SIZE_VARIABLE,
        [DW_FORM_indirect] = SIZE_VARIABLE,
        [DW_FORM_sec_offset] = SIZE_OFFSET,
        [DW_FORM_exprloc] = SIZE_VARIABLE,
        [DW_FORM_flag_present] = 0,
        [DW_FORM_strx] = SIZE_VARIABLE,
        [DW_FORM_addrx] = SIZE_VARIABLE,
        [DW_FORM_ref_sup4] = 4,
        [DW_FORM_strp_sup] = SIZE_OFFSET,
        [DW_FORM_data16] = 16,
        [DW_FORM_line_strp] = SIZE_OFFSET,
        [DW_FORM_ref_sig8] = 8,
        [DW_FORM_implicit_const] = 0,
        [DW_FORM_loclistx] = SIZE_VARIABLE,
        [DW_FORM_rnglistx] = SIZE_VARIABLE,
        [DW_FORM_ref_sup8] = 8,
        [DW_FORM_strx1] = 1,
        [DW_FORM_strx2] = 2,
        [DW_FORM_strx3] = 3,
        [DW_FORM_strx4] = 4,
        [DW_FORM_addrx1] = 1,
        [DW_FORM_addrx2] = 2,
        [DW_FORM_addrx3] = 3,
        [DW_FORM_addrx4] = 4,
    };
    if (form < G_N_ELEMENTS(sizes))
        return sizes[form];
    switch (form) {
    case DW_FORM_GNU_addr_index:
    case DW_FORM_GNU_str_index:
        return SIZE_VARIABLE;
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_GNU_strp_alt:
        return SIZE_OFFSET;
    default:
        return SIZE_UNKNOWN;
    }
}

static guint
real_size(const DwarfUnit *unit, guint8 size)
{
    switch (size) {
    case SIZE_ADDRESS:
        return unit->address_size;
    case SIZE_OFFSET:
        return unit->offset_size;
    case SIZE_REF_ADDR:
        return unit->version <= 2 ? unit->address_size : unit->offset_size;
    default:
        return size;
    }
}

DwarfSpec
dwarf_spec_read(DwarfCursor *cursor)
{
    DwarfSpec spec = {.name = (guint16)dwarf_cursor_uleb(cursor)};
    spec.form = (guint16)dwarf_cursor_uleb(cursor);
    spec.constant = spec.form == DW_FORM_implicit_const ? dwarf_cursor_sleb(cursor) : 0;
    return spec;
}

static gboolean
read_abbrev(DwarfAbbrevs *abbrevs, const DwarfUnit *unit, DwarfCursor *cursor)
{
    DwarfAbbrev abbrev = {.first = abbrevs->specs->len};
    abbrev.code = dwarf_cursor_uleb(cursor);
    abbrev.tag = (guint16)dwarf_cursor_uleb(cursor);
    abbrev.has_children = dwarf_cursor_fixed(cursor, 1) != 0;
    if (abbrev.code == 0)
        return FALSE;
    for (;;) {
        DwarfSpec spec = dwarf_spec_read(cursor);
        if (cursor->overrun || !patience_spend(8))
            return FALSE;
        if (spec.name == 0 && spec.form == 0)
            break;
        guint8 size = form_size(spec.form);
        gboolean fixed = size != SIZE_VARIABLE && size != SIZE_UNKNOWN && abbrev.size < G_MAXUINT16;
        abbrev.size = fixed ? abbrev.size + real_size(unit, size) : DWARF_VARIABLE;
        if (!patience_append(abbrevs->specs, &spec))
            return FALSE;
    }
    abbrev.n = abbrevs->specs->len - abbrev.first;
    return patience_append(abbrevs->abbrevs, &abbrev);
}

static gint
compare_code(gconstpointer a, gconstpointer b)
{
    const DwarfAbbrev *x = a;
    const DwarfAbbrev *y = b;
    return x->code < y->code ? -1 : x->code > y->code;
}

DwarfAbbrevs *
dwarf_abbrevs_new(const DwarfUnit *unit)
{
    DwarfAbbrevs *abbrevs = g_new0(DwarfAbbrevs, 1);
    abbrevs->abbrevs = g_array_new(FALSE, FALSE, sizeof(DwarfAbbrev));
    abbrevs->specs = g_array_new(FALSE, FALSE, sizeof(DwarfSpec));
    DwarfCursor cursor = dwarf_file_cursor(unit->file, DWARF_ABBREV, unit->abbrev);
    while (read_abbrev(abbrevs, unit, &cursor)) {
    }
    patience_sort(abbrevs->abbrevs, compare_code);
    return abbrevs;
}

void
dwarf_abbrevs_free(DwarfAbbrevs *abbrevs)
{
    g_array_unref(abbrevs->abbrevs);
    g_array_unref(abbrevs->specs);
    g_free(abbrevs);
}

const DwarfAbbrev *
dwarf_abbrevs_find(const DwarfAbbrevs *abbrevs, guint64 code)
{
    const DwarfAbbrev *all = (const DwarfAbbrev *)(gconstpointer)abbrevs->abbrevs->data;
    gsize n = abbrevs->abbrevs->len;
    /* All compilers number from 1 without gaps. */
    if (code >= 1 && code <= n && all[code - 1].code == code)
        return &all[code - 1];
    gsize low = 0;
    for (gsize high = n; low < high;) {
        gsize middle = low + (high - low) / 2;
        if (all[middle].code < code)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && all[low].code == code ? &all[low] : NULL;
}

static gboolean
read_variable(DwarfCursor *cursor, DwarfAttribute *attribute)
{
    switch (attribute->form) {
    case DW_FORM_block1:
        dwarf_cursor_skip(cursor, dwarf_cursor_fixed(cursor, 1));
        return TRUE;
    case DW_FORM_block2:
        dwarf_cursor_skip(cursor, dwarf_cursor_fixed(cursor, 2));
        return TRUE;
    case DW_FORM_block4:
        dwarf_cursor_skip(cursor, dwarf_cursor_fixed(cursor, 4));
        return TRUE;
    case DW_FORM_block:
    case DW_FORM_exprloc:
        dwarf_cursor_skip(cursor, dwarf_cursor_uleb(cursor));
        return TRUE;
    case DW_FORM_string:
        attribute->text = dwarf_cursor_string(cursor);
        return TRUE;
    case DW_FORM_sdata:
        attribute->number = (guint64)dwarf_cursor_sleb(cursor);
        return TRUE;
    case DW_FORM_indirect: /* within another one, which no producer writes: a chain may be as long as its section */
        return FALSE;
    default:
        attribute->number = dwarf_cursor_uleb(cursor);
        return TRUE;
    }
}

gboolean
dwarf_attribute_read(DwarfCursor *cursor, const DwarfUnit *unit, const DwarfSpec *spec, DwarfAttribute *attribute)
{
    *attribute = (DwarfAttribute){.name = spec->name, .form = spec->form, .number = (guint64)spec->constant};
    if (attribute->form == DW_FORM_indirect)
        attribute->form = (guint16)dwarf_cursor_uleb(cursor);
    guint8 size = form_size(attribute->form);
    switch (size) {
    case SIZE_UNKNOWN:
        return FALSE;
    case SIZE_VARIABLE:
        return read_variable(cursor, attribute);
    case 16:
        dwarf_cursor_skip(cursor, 16);
        return TRUE;
    case 0:
        return TRUE;
    default:
        attribute->number = dwarf_cursor_fixed(cursor, real_size(unit, size));
        return TRUE;
    }
}

gboolean
dwarf_entry_skip(DwarfCursor *cursor, const DwarfUnit *unit, const DwarfAbbrevs *abbrevs, const DwarfAbbrev *abbrev)
{
    if (abbrev->size != DWARF_VARIABLE) {
        dwarf_cursor_skip(cursor, abbrev->size);
        return !cursor->overrun;
    }
    const DwarfSpec *specs = &g_array_index(abbrevs->specs, DwarfSpec, abbrev->first);
    for (guint i = 0; i < abbrev->n && patience_spend(4); i++) {
        DwarfAttribute attribute;
        if (!dwarf_attribute_read(cursor, unit, &specs[i], &attribute))
            return FALSE;
    }
    return !cursor->overrun;
}

/* The element at index of a table of size-byte numbers at base of section. */
static gboolean
read_element(const DwarfFile *file, DwarfSection section, guint64 base, guint64 index, guint size, guint64 *value)
{
    guint64 total = file->sections[section].size;
    if (base > total || index > (total - base) / size)
        return FALSE;
    DwarfCursor cursor = dwarf_file_cursor(file, section, base + index * size);
    guint64 read = dwarf_cursor_fixed(&cursor, size);
    if (cursor.overrun)
        return FALSE;
    *value = read;
    return TRUE;
}

const char *
dwarf_attribute_string(const DwarfUnit *unit, const DwarfAttribute *attribute)
{
    const DwarfFile *file = unit->file;
    guint64 offset;
    switch (attribute->form) {
    case DW_FORM_string:
        return attribute->text != NULL && strnlen(attribute->text, DWARF_LONGEST_TEXT) < DWARF_LONGEST_TEXT
                   ? attribute->text
                   : NULL;
    case DW_FORM_strp:
        return dwarf_file_string(file, DWARF_STR, attribute->number);
    case DW_FORM_line_strp:
        return dwarf_file_string(file, DWARF_LINE_STR, attribute->number);
    case DW_FORM_GNU_strp_alt:
    case DW_FORM_strp_sup:
        return file->supplement != NULL ? dwarf_file_string(file->supplement, DWARF_STR, attribute->number) : NULL;
    case DW_FORM_strx:
    case DW_FORM_strx1:
    case DW_FORM_strx2:
    case DW_FORM_strx3:
    case DW_FORM_strx4:
    case DW_FORM_GNU_str_index:
        return read_element(file, DWARF_STR_OFFSETS, unit->str_offsets_base, attribute->number, unit->offset_size,
                            &offset)
                   ? dwarf_file_string(file, DWARF_STR, offset)
                   : NULL;
    default:
        return NULL;
    }
}

gboolean
dwarf_attribute_address(const DwarfUnit *unit, const DwarfAttribute *attribute, guint64 *address)
{
    switch (attribute->form) {
    case DW_FORM_addr:
        *address = attribute->number;
        return TRUE;
    case DW_FORM_addrx:
    case DW_FORM_addrx1:
    case DW_FORM_addrx2:
    case DW_FORM_addrx3:
    case DW_FORM_addrx4:
    case DW_FORM_GNU_addr_index:
        return read_element(unit->addresses, DWARF_ADDR, unit->addr_base, attribute->number, unit->address_size,
                            address);
    default:
        return FALSE;
    }
}

gboolean
dwarf_attribute_reference(const DwarfUnit *unit, const DwarfAttribute *attribute, const DwarfFile **file,
                          guint64 *offset)
{
    const DwarfFile *target = unit->file;
    guint64 base = 0;
    switch (attribute->form) {
    case DW_FORM_ref1:
    case DW_FORM_ref2:
    case DW_FORM_ref4:
    case DW_FORM_ref8:
    case DW_FORM_ref_udata:
        base = unit->offset;
        break;
    case DW_FORM_ref_addr:
        break;
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_ref_sup4:
    case DW_FORM_ref_sup8:
        target = unit->file->supplement;
        break;
    default:
        return FALSE;
    }
    if (target == NULL || attribute->number > target->sections[DWARF_INFO].size)
        return FALSE;
    *file = target;
    *offset = base + attribute->number;
    return TRUE;
}

typedef struct {
    const DwarfUnit *unit;
    DwarfCursor cursor;
    guint64 base;
    DwarfRangeVisit visit;
    gpointer data;
} RangeReader;

static void
emit(const RangeReader *reader, guint64 start, guint64 limit)
{
    if (start < limit)
        reader->visit(start, limit, reader->data);
}

/* .debug_ranges of DWARF 3 and 4. */
static void
read_ranges(RangeReader *reader)
{
    guint size = reader->unit->address_size;
    guint64 all_ones = size == 8 ? G_MAXUINT64 : G_MAXUINT32;
    while (!reader->cursor.overrun && patience_spend(16)) {
        guint64 start = dwarf_cursor_fixed(&reader->cursor, size);
        guint64 limit = dwarf_cursor_fixed(&reader->cursor, size);
        if (start == 0 && limit == 0)
            return;
        if (start == all_ones)
            reader->base = limit;
        else if (!reader->cursor.overrun)
            emit(reader, reader->base + start, reader->base + limit);
    }
}

static guint64
indexed_address(RangeReader *reader)
{
    const DwarfAttribute indexed = {.form = DW_FORM_addrx, .number = dwarf_cursor_uleb(&reader->cursor)};
    guint64 address = 0;
    dwarf_attribute_address(reader->unit, &indexed, &address);
    return address;
}

/* One entry of .debug_rnglists [7.25]; FALSE at the end of the list. */
static gboolean
read_range_entry(RangeReader *reader)
{
    DwarfCursor *cursor = &reader->cursor;
    guint size = reader->unit->address_size;
    guint64 start;
    switch (dwarf_cursor_fixed(cursor, 1)) {
    case DW_RLE_base_addressx:
        reader->base = indexed_address(reader);
        return TRUE;
    case DW_RLE_startx_endx:
        start = indexed_address(reader);
        emit(reader, start, indexed_address(reader));
        return TRUE;
    case DW_RLE_startx_length:
        start = indexed_address(reader);
        emit(reader, start, start + dwarf_cursor_uleb(cursor));
        return TRUE;
    case DW_RLE_offset_pair:
        start = reader->base + dwarf_cursor_uleb(cursor);
        emit(reader, start, reader->base + dwarf_cursor_uleb(cursor));
        return TRUE;
    case DW_RLE_base_address:
        reader->base = dwarf_cursor_fixed(cursor, size);
        return TRUE;
    case DW_RLE_start_end:
        start = dwarf_cursor_fixed(cursor, size);
        emit(reader, start, dwarf_cursor_fixed(cursor, size));
        return TRUE;
    case DW_RLE_start_length:
        start = dwarf_cursor_fixed(cursor, size);
        emit(reader, start, start + dwarf_cursor_uleb(cursor));
        return TRUE;
    default:
        return FALSE;
    }
}

/* The start of the list. A split unit of version 5 has its own .debug_rnglists; of version 4 it uses the skeleton's
 * ranges. */
static gboolean
list_offset(const DwarfUnit *unit, const DwarfAttribute *attribute, guint64 *offset)
{
    if (attribute->form == DW_FORM_rnglistx) {
        guint64 relative;
        if (!read_element(unit->file, DWARF_RNGLISTS, unit->rnglists_base, attribute->number, unit->offset_size,
                          &relative))
            return FALSE;
        *offset = unit->rnglists_base + relative;
        return TRUE;
    }
    *offset = attribute->number + (unit->version < 5 && unit->split ? unit->ranges_base : 0);
    return TRUE;
}

void
dwarf_ranges_each(const DwarfUnit *unit, const DwarfAttribute *attribute, DwarfRangeVisit visit, gpointer data)
{
    guint64 offset;
    if (!list_offset(unit, attribute, &offset))
        return;
    RangeReader reader = {.unit = unit, .base = unit->low_pc, .visit = visit, .data = data};
    if (unit->version < 5) {
        reader.cursor = dwarf_file_cursor(unit->addresses, DWARF_RANGES, offset);
        read_ranges(&reader);
        return;
    }
    reader.cursor = dwarf_file_cursor(unit->file, DWARF_RNGLISTS, offset);
    while (!reader.cursor.overrun && patience_spend(16) && read_range_entry(&reader)) {
    }
}

void
dwarf_place_note(DwarfPlace *place, const DwarfAttribute *attribute)
{
    switch (attribute->name) {
    case DW_AT_low_pc:
        place->low_pc = *attribute;
        break;
    case DW_AT_high_pc:
        place->high_pc = *attribute;
        break;
    case DW_AT_ranges:
        place->ranges = *attribute;
        break;
    default:
        break;
    }
}

void
dwarf_place_each(const DwarfPlace *place, const DwarfUnit *unit, DwarfRangeVisit visit, gpointer data)
{
    if (place->ranges.name != 0) {
        dwarf_ranges_each(unit, &place->ranges, visit, data);
        return;
    }
    guint64 start;
    if (place->low_pc.name == 0 || place->high_pc.name == 0 || !dwarf_attribute_address(unit, &place->low_pc, &start))
        return;
    guint64 limit;
    if (!dwarf_attribute_address(unit, &place->high_pc, &limit))
        limit = start + place->high_pc.number; /* a length since version 4 */
    if (start < limit)
        visit(start, limit, data);
}
