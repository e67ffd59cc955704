/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Abbreviations, attribute values and ranges of a unit of debug information, DWARF 2 to 5.
 *
 * Why not libdw's own decoder: docs/decisions/0004-dwarf-decoded-by-us.md. Offsets are into .debug_info unless noted
 * otherwise.
 */
#ifndef JESCOPE_SYMBOLIZE_DWARF_ATTRIBUTE_H
#define JESCOPE_SYMBOLIZE_DWARF_ATTRIBUTE_H

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
    DwarfFile *supplement; /* owned: the file named by .gnu_debugaltlink, or NULL */
};

/* The attributes of a unit's root entry. Bases are offsets into their sections. */
struct DwarfUnit {
    const DwarfFile *file;
    const DwarfFile
        *addresses; /* the file with the unit's .debug_addr and .debug_ranges: for a split unit, the skeleton's file */
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

/* A cursor over section from offset to its end; empty if offset is outside. */
DwarfCursor dwarf_file_cursor(const DwarfFile *file, DwarfSection section, guint64 offset);

/* The string at offset of section, or NULL. */
/* Longer strings count as absent. */
#define DWARF_LONGEST_TEXT (64 * 1024)

const char *dwarf_file_string(const DwarfFile *file, DwarfSection section, guint64 offset);

/* One abbreviation: the layout of an entry. */
typedef struct {
    guint16 name;
    guint16 form;
    gint64 constant; /* DW_FORM_implicit_const */
} DwarfSpec;

typedef struct {
    guint64 code;
    guint32 first; /* into specs */
    guint32 n;
    guint32 size; /* of an entry's attributes if all have a fixed size, else DWARF_VARIABLE */
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

/* One attribute's raw value: a number, or the beginning of a string or block. */
typedef struct {
    guint16 name;
    guint16 form;
    guint64 number;
    const char *text; /* DW_FORM_string */
} DwarfAttribute;

/* Reads one value and moves the cursor past it. FALSE: an unknown form, after which nothing can be read. */
gboolean dwarf_attribute_read(DwarfCursor *cursor, const DwarfUnit *unit, const DwarfSpec *spec,
                              DwarfAttribute *attribute);

/* Skips the attributes of an entry, after its code; FALSE if they cannot be read. */
gboolean dwarf_entry_skip(DwarfCursor *cursor, const DwarfUnit *unit, const DwarfAbbrevs *abbrevs,
                          const DwarfAbbrev *abbrev);

/* Interpret a value by its form. NULL, FALSE: not of this kind, or out of range. */
const char *dwarf_attribute_string(const DwarfUnit *unit, const DwarfAttribute *attribute);
gboolean dwarf_attribute_address(const DwarfUnit *unit, const DwarfAttribute *attribute, guint64 *address);

/* The entry of a reference: *offset in .debug_info of *file. */
gboolean dwarf_attribute_reference(const DwarfUnit *unit, const DwarfAttribute *attribute, const DwarfFile **file,
                                   guint64 *offset);

/* Calls visit for each non-empty range of DW_AT_ranges. */
typedef void (*DwarfRangeVisit)(guint64 start, guint64 limit, gpointer data);
void dwarf_ranges_each(const DwarfUnit *unit, const DwarfAttribute *attribute, DwarfRangeVisit visit, gpointer data);

/* The code ranges of one entry, from its attributes. Zero-initialise, pass each attribute, then visit. */
typedef struct {
    DwarfAttribute low_pc, high_pc, ranges; /* name 0: absent */
} DwarfPlace;

void dwarf_place_note(DwarfPlace *place, const DwarfAttribute *attribute);
void dwarf_place_each(const DwarfPlace *place, const DwarfUnit *unit, DwarfRangeVisit visit, gpointer data);

#endif
