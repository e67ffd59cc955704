/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/dwarf-file.h"

#include "symbolize/patience.h"

#include <dwarf.h>

static const char *const section_names[DWARF_N_SECTIONS] = {
    [DWARF_INFO] = ".debug_info", [DWARF_ABBREV] = ".debug_abbrev",     [DWARF_LINE] = ".debug_line",
    [DWARF_STR] = ".debug_str",   [DWARF_LINE_STR] = ".debug_line_str", [DWARF_STR_OFFSETS] = ".debug_str_offsets",
    [DWARF_ADDR] = ".debug_addr", [DWARF_RANGES] = ".debug_ranges",     [DWARF_RNGLISTS] = ".debug_rnglists",
};

/* A smaller unit cannot contain an entry; this also limits the number of units. */
#define MIN_HEADER 11

static gboolean
read_header(DwarfFile *file, guint64 offset, DwarfUnit *unit)
{
    DwarfCursor cursor = dwarf_file_cursor(file, DWARF_INFO, offset);
    const guint8 *start = cursor.at;
    *unit = (DwarfUnit){.file = file, .addresses = file, .offset = offset, .line = DWARF_NO_OFFSET};
    guint64 length = dwarf_cursor_unit_length(&cursor, &unit->offset_size);
    if (cursor.overrun || length > dwarf_cursor_left(&cursor))
        return FALSE;
    unit->end = offset + (guint64)(cursor.at - start) + length;
    unit->version = (guint16)dwarf_cursor_fixed(&cursor, 2);
    guint8 type = DW_UT_compile;
    if (unit->version >= 5) {
        type = (guint8)dwarf_cursor_fixed(&cursor, 1);
        unit->address_size = (guint8)dwarf_cursor_fixed(&cursor, 1);
        unit->abbrev = dwarf_cursor_fixed(&cursor, unit->offset_size);
    } else {
        unit->abbrev = dwarf_cursor_fixed(&cursor, unit->offset_size);
        unit->address_size = (guint8)dwarf_cursor_fixed(&cursor, 1);
    }
    if (type == DW_UT_skeleton || type == DW_UT_split_compile)
        unit->dwo_id = dwarf_cursor_fixed(&cursor, 8);
    else if (type == DW_UT_type || type == DW_UT_split_type)
        dwarf_cursor_skip(&cursor, 8 + (guint64)unit->offset_size);
    unit->root = offset + (guint64)(cursor.at - start);
    return !cursor.overrun && length >= MIN_HEADER - 4;
}

static gboolean
is_readable(const DwarfUnit *unit)
{
    return unit->version >= 2 && unit->version <= 5 && (unit->address_size == 4 || unit->address_size == 8);
}

/* The base of a table that begins after its header (DWARF 5, 7.26 to 7.28), for split units, which do not name one. */
static guint64
default_base(const DwarfUnit *unit, guint64 header)
{
    return unit->version >= 5 ? header + (unit->offset_size == 8 ? 8 : 0) : 0;
}

static void
note_root(DwarfUnit *unit, const DwarfAttribute *attribute)
{
    switch (attribute->name) {
    case DW_AT_stmt_list:
        unit->line = attribute->number;
        break;
    case DW_AT_language:
        unit->language = (guint16)attribute->number;
        break;
    case DW_AT_addr_base:
    case DW_AT_GNU_addr_base:
        unit->addr_base = attribute->number;
        break;
    case DW_AT_str_offsets_base:
        unit->str_offsets_base = attribute->number;
        break;
    case DW_AT_rnglists_base:
        unit->rnglists_base = attribute->number;
        break;
    case DW_AT_GNU_ranges_base:
        unit->ranges_base = attribute->number;
        break;
    case DW_AT_GNU_dwo_id:
        unit->dwo_id = attribute->number;
        break;
    default:
        break;
    }
}

/* Values that depend on the bases of note_root(). */
static void
note_root_indirect(DwarfUnit *unit, const DwarfAttribute *attribute)
{
    if (attribute->name == DW_AT_comp_dir)
        unit->directory = dwarf_attribute_string(unit, attribute);
    else if (attribute->name == DW_AT_dwo_name || attribute->name == DW_AT_GNU_dwo_name)
        unit->dwo_name = dwarf_attribute_string(unit, attribute);
    else if (attribute->name == DW_AT_low_pc)
        dwarf_attribute_address(unit, attribute, &unit->low_pc);
}

typedef void (*RootVisit)(const DwarfAttribute *attribute, gpointer data);

/* Visits the attributes of the root entry, for which one abbreviation is read, not the table. Returns its tag. */
static guint16
each_root_attribute(const DwarfUnit *unit, RootVisit visit, gpointer data)
{
    DwarfCursor entry = dwarf_file_cursor(unit->file, DWARF_INFO, unit->root);
    DwarfCursor table = dwarf_file_cursor(unit->file, DWARF_ABBREV, unit->abbrev);
    guint64 wanted = dwarf_cursor_uleb(&entry);
    while (!table.overrun && patience_spend(8)) {
        guint64 code = dwarf_cursor_uleb(&table);
        guint16 tag = (guint16)dwarf_cursor_uleb(&table);
        dwarf_cursor_skip(&table, 1);
        if (code == 0)
            return 0;
        gboolean found = code == wanted;
        for (;;) {
            DwarfSpec spec = dwarf_spec_read(&table);
            if (!patience_spend(8))
                return 0;
            if (table.overrun || (spec.name == 0 && spec.form == 0))
                break;
            DwarfAttribute attribute;
            if (found) {
                if (!dwarf_attribute_read(&entry, unit, &spec, &attribute) || entry.overrun)
                    return tag;
                visit(&attribute, data);
            }
        }
        if (found)
            return tag;
    }
    return 0;
}

static void
visit_direct(const DwarfAttribute *attribute, gpointer unit)
{
    note_root(unit, attribute);
}

static void
visit_indirect(const DwarfAttribute *attribute, gpointer unit)
{
    note_root_indirect(unit, attribute);
}

static void
read_root(DwarfUnit *unit)
{
    unit->str_offsets_base = default_base(unit, 8);
    unit->rnglists_base = default_base(unit, 12);
    unit->tag = each_root_attribute(unit, visit_direct, unit);
    each_root_attribute(unit, visit_indirect, unit);
}

static void
read_units(DwarfFile *file)
{
    for (guint64 offset = 0; offset < file->sections[DWARF_INFO].size && patience_spend(64);) {
        DwarfUnit unit;
        if (!read_header(file, offset, &unit))
            return; /* the start of the next one is unknown */
        offset = unit.end;
        if (is_readable(&unit)) {
            read_root(&unit);
            if (!patience_keep(2 * sizeof(unit))) /* the array grows by as much as it has */
                return;
            g_array_append_val(file->units, unit);
        }
    }
}

DwarfFile *
dwarf_file_from_sections(Image *image, const ImageSection sections[DWARF_N_SECTIONS])
{
    g_autoptr(DwarfFile) file = g_new0(DwarfFile, 1);
    file->image = image_ref(image);
    file->units = g_array_new(FALSE, FALSE, sizeof(DwarfUnit));
    memcpy(file->sections, sections, sizeof(file->sections));
    read_units(file);
    return file->units->len > 0 ? g_steal_pointer(&file) : NULL;
}

/* Files of the other byte order keep their symbol tables, which libelf converts. */
static gboolean
has_host_byte_order(const Image *image)
{
    const char *ident = elf_getident(image_elf(image), NULL);
    return ident != NULL && ident[EI_DATA] == (G_BYTE_ORDER == G_LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB);
}

DwarfFile *
dwarf_file_open(Image *image, const char *suffix)
{
    ImageSection sections[DWARF_N_SECTIONS] = {0};
    if (!has_host_byte_order(image))
        return NULL;
    image_join_patience(image);
    for (gsize i = 0; i < DWARF_N_SECTIONS; i++) {
        g_autofree char *name = g_strconcat(section_names[i], suffix, NULL);
        image_section(image, name, &sections[i]);
        if (i == DWARF_INFO && sections[i].size == 0)
            return NULL;
    }
    return dwarf_file_from_sections(image, sections);
}

void
dwarf_file_free(DwarfFile *file)
{
    if (file == NULL)
        return;
    dwarf_file_free(file->supplement);
    g_array_unref(file->units);
    image_unref(file->image);
    g_free(file);
}

const DwarfUnit *
dwarf_file_unit(const DwarfFile *file, guint64 offset)
{
    guint low = 0;
    guint high = file->units->len;
    while (low < high) {
        guint middle = low + (high - low) / 2;
        const DwarfUnit *unit = &g_array_index(file->units, DwarfUnit, middle);
        if (offset < unit->offset)
            high = middle;
        else if (offset >= unit->end)
            low = middle + 1;
        else
            return unit;
    }
    return NULL;
}

static void
root_place(const DwarfAttribute *attribute, gpointer place)
{
    dwarf_place_note(place, attribute);
}

gboolean
dwarf_unit_place(const DwarfUnit *unit, DwarfPlace *place)
{
    *place = (DwarfPlace){0};
    each_root_attribute(unit, root_place, place);
    return place->ranges.name != 0 || (place->low_pc.name != 0 && place->high_pc.name != 0);
}
