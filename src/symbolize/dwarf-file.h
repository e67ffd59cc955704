/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The debug information of one file as DWARF 2 to 5 lays it out: sections, units, abbreviations, attribute values.
 *
 * Why not libdw's own decoder: docs/decisions/0004-dwarf-decoded-by-us.md. All of this is thread-safe once
 * dwarf_file_open() has returned. Offsets are into .debug_info unless said otherwise.
 */
#ifndef JESCOPE_SYMBOLIZE_DWARF_FILE_H
#define JESCOPE_SYMBOLIZE_DWARF_FILE_H

#include "symbolize/dwarf-cursor.h"
#include "symbolize/image.h"

typedef enum {
    DWARF_INFO,
    DWARF_ABBREV,
    DWARF_LINE,
    DWARF_STR,
    DWARF_LINE_STR,
    DWARF_STR_OFFSETS,
    DWARF_ADDR,
    DWARF_RANGES,
    DWARF_RNGLISTS,
    DWARF_N_SECTIONS
} DwarfSection;

typedef struct DwarfFile DwarfFile;
typedef struct DwarfUnit DwarfUnit;

struct DwarfFile {
    Image *image; /* owned */
    ImageSection sections[DWARF_N_SECTIONS];
    GArray *units;         /* DwarfUnit, by offset */
    DwarfFile *supplement; /* owned: what .gnu_debugaltlink names, or NULL */
};

/* What a root entry says of its unit. Bases are offsets into their sections. */
struct DwarfUnit {
    const DwarfFile *file;
    const DwarfFile
        *addresses;      /* whose .debug_addr, .debug_ranges the unit means: of a split unit, the skeleton's file */
    guint64 offset, end; /* of the unit with its header */
    guint64 root;        /* of its first entry */
    guint64 abbrev;      /* offset into .debug_abbrev */
    guint64 dwo_id;
    guint64 low_pc;
    guint64 addr_base, str_offsets_base, rnglists_base, ranges_base;
    guint64 line; /* offset into .debug_line, DWARF_NO_OFFSET: none */
    const char *directory, *dwo_name;
    guint16 version;
    guint16 tag; /* of the root entry */
    guint16 language;
    guint8 address_size, offset_size;
    gboolean split;
};

#define DWARF_NO_OFFSET G_MAXUINT64

/* Reads sections and unit headers; NULL if image has no usable .debug_info. suffix: "" or ".dwo". Takes a reference. */
DwarfFile *dwarf_file_open(Image *image, const char *suffix);

/* The same for sections that are given, such as one unit's share of a .dwp. */
DwarfFile *dwarf_file_from_sections(Image *image, const ImageSection sections[DWARF_N_SECTIONS]);

void dwarf_file_free(DwarfFile *file);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DwarfFile, dwarf_file_free)

/* The unit that offset lies in, or NULL. */
const DwarfUnit *dwarf_file_unit(const DwarfFile *file, guint64 offset);

/* A cursor over section from offset to its end; empty if offset lies outside. */
DwarfCursor dwarf_file_cursor(const DwarfFile *file, DwarfSection section, guint64 offset);

/* The string at offset of section, or NULL. */
const char *dwarf_file_string(const DwarfFile *file, DwarfSection section, guint64 offset);

/* One abbreviation: the shape of an entry. */
typedef struct {
    guint16 name;
    guint16 form;
    gint64 constant; /* DW_FORM_implicit_const */
} DwarfSpec;

typedef struct {
    guint64 code;
    guint32 first; /* into specs */
    guint32 n;
    guint32 size; /* of an entry's attributes where all have a fixed size, else DWARF_VARIABLE */
    guint16 tag;
    gboolean has_children;
} DwarfAbbrev;

/* The next specification of an abbreviation; name and form are 0 at its end. */
DwarfSpec dwarf_spec_read(DwarfCursor *cursor);

#define DWARF_VARIABLE G_MAXUINT32

typedef struct {
    GArray *abbrevs; /* DwarfAbbrev, by code */
    GArray *specs;   /* DwarfSpec */
} DwarfAbbrevs;

/* The abbreviations of unit; damaged ones end the table. Never NULL. */
DwarfAbbrevs *dwarf_abbrevs_new(const DwarfUnit *unit);
void dwarf_abbrevs_free(DwarfAbbrevs *abbrevs);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DwarfAbbrevs, dwarf_abbrevs_free)

const DwarfAbbrev *dwarf_abbrevs_find(const DwarfAbbrevs *abbrevs, guint64 code);

/* The bytes of one attribute's value: a number as it stands there, or where a string or block begins. */
typedef struct {
    guint16 name;
    guint16 form;
    guint64 number;
    const char *text; /* DW_FORM_string */
} DwarfAttribute;

/* Reads one value and leaves the cursor behind it. FALSE: a form we do not know, after which nothing can be read. */
gboolean dwarf_attribute_read(DwarfCursor *cursor, const DwarfUnit *unit, const DwarfSpec *spec,
                              DwarfAttribute *attribute);

/* Steps over the attributes of an entry, behind its code; FALSE where they cannot be read. */
gboolean dwarf_entry_skip(DwarfCursor *cursor, const DwarfUnit *unit, const DwarfAbbrevs *abbrevs,
                          const DwarfAbbrev *abbrev);

/* What a value means by its form. NULL, FALSE: it has no such meaning, or points nowhere. */
const char *dwarf_attribute_string(const DwarfUnit *unit, const DwarfAttribute *attribute);
gboolean dwarf_attribute_address(const DwarfUnit *unit, const DwarfAttribute *attribute, guint64 *address);

/* The entry that a reference names: *file is the file whose .debug_info *offset counts in. */
gboolean dwarf_attribute_reference(const DwarfUnit *unit, const DwarfAttribute *attribute, const DwarfFile **file,
                                   guint64 *offset);

/* Calls visit for each non-empty range of DW_AT_ranges. */
typedef void (*DwarfRangeVisit)(guint64 start, guint64 limit, gpointer data);
void dwarf_ranges_each(const DwarfUnit *unit, const DwarfAttribute *attribute, DwarfRangeVisit visit, gpointer data);

/* Where code lies, from the attributes of one entry. Zero-initialise, note each attribute, then visit. */
typedef struct {
    DwarfAttribute low_pc, high_pc, ranges; /* name 0: not there */
} DwarfPlace;

void dwarf_place_note(DwarfPlace *place, const DwarfAttribute *attribute);
void dwarf_place_each(const DwarfPlace *place, const DwarfUnit *unit, DwarfRangeVisit visit, gpointer data);

/* The place of the whole unit; FALSE: its root does not say. */
gboolean dwarf_unit_place(const DwarfUnit *unit, DwarfPlace *place);

#endif
