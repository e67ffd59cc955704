/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/dwarf-line.h"

#include "symbolize/patience.h"

#include <dwarf.h>

enum {
    DWARF_LONGEST_PATH = 4096,
    DWARF_MOST_ROWS = 1 << 20, /* of a table of directories or files; a program with more has no lines */
};

typedef struct {
    const char *name;
    guint64 directory;
} File;

struct DwarfLines {
    DwarfUnit unit; /* the unit, with the sizes in this header, which may differ and apply to its forms */
    guint16 version;
    guint8 minimum_length, maximum_operations;
    gint8 line_base;
    guint8 line_range;
    guint8 opcode_base;
    guint8 operands[256]; /* of each standard opcode */
    GArray *directories;  /* const char * */
    GArray *files;        /* File */
    DwarfCursor program;
};

void
dwarf_lines_free(DwarfLines *lines)
{
    g_array_unref(lines->directories);
    g_array_unref(lines->files);
    g_free(lines);
}

static gboolean
add(GArray *rows, gconstpointer row)
{
    return rows->len < DWARF_MOST_ROWS && patience_spend(16) && patience_append(rows, row);
}

/* Before version 5 [DWARF 4, 6.2.4]: both tables end with an empty name; files count from 1, directory 0 is the unit's.
 */
static gboolean
read_old_tables(DwarfLines *lines, DwarfCursor *cursor)
{
    const char *name = lines->unit.directory;
    g_array_append_val(lines->directories, name);
    while ((name = dwarf_cursor_string(cursor)) != NULL && name[0] != '\0')
        if (!add(lines->directories, &name))
            return FALSE;
    File file = {0};
    g_array_append_val(lines->files, file);
    while ((file.name = dwarf_cursor_string(cursor)) != NULL && file.name[0] != '\0') {
        file.directory = dwarf_cursor_uleb(cursor);
        dwarf_cursor_uleb(cursor); /* time */
        dwarf_cursor_uleb(cursor); /* size */
        if (!add(lines->files, &file))
            return FALSE;
    }
    return TRUE;
}

typedef struct {
    DwarfSpec columns[255];
    guint n;
} Format;

static void
read_format(DwarfCursor *cursor, Format *format)
{
    format->n = (guint)dwarf_cursor_fixed(cursor, 1);
    for (guint i = 0; i < format->n; i++) {
        format->columns[i] = (DwarfSpec){.name = (guint16)dwarf_cursor_uleb(cursor)};
        format->columns[i].form = (guint16)dwarf_cursor_uleb(cursor);
    }
}

/* FALSE also for a row without a byte, of which there could be any number. */
static gboolean
read_row(const DwarfLines *lines, DwarfCursor *cursor, const Format *format, File *file)
{
    const guint8 *start = cursor->at;
    *file = (File){0};
    for (guint i = 0; i < format->n; i++) {
        DwarfAttribute attribute;
        if (!patience_spend(8) || !dwarf_attribute_read(cursor, &lines->unit, &format->columns[i], &attribute))
            return FALSE;
        if (attribute.name == DW_LNCT_path)
            file->name = dwarf_attribute_string(&lines->unit, &attribute);
        else if (attribute.name == DW_LNCT_directory_index)
            file->directory = attribute.number;
    }
    return !cursor->overrun && cursor->at > start;
}

/* One of the two tables of version 5 [6.2.4.1]: its columns, then its rows. */
static gboolean
read_table(DwarfLines *lines, DwarfCursor *cursor, GArray *files)
{
    Format format;
    read_format(cursor, &format);
    guint64 n = dwarf_cursor_uleb(cursor);
    if (cursor->overrun || n > dwarf_cursor_left(cursor))
        return FALSE;
    for (guint64 i = 0; i < n; i++) {
        File file;
        if (!read_row(lines, cursor, &format, &file) || !add(files, &file))
            return FALSE;
    }
    return TRUE;
}

static gboolean
read_new_tables(DwarfLines *lines, DwarfCursor *cursor)
{
    g_autoptr(GArray) directories = g_array_new(FALSE, FALSE, sizeof(File));
    if (!read_table(lines, cursor, directories))
        return FALSE;
    for (guint i = 0; i < directories->len; i++)
        if (!add(lines->directories, &g_array_index(directories, File, i).name))
            return FALSE;
    return read_table(lines, cursor, lines->files);
}

static gboolean
read_header(DwarfLines *lines, DwarfCursor *cursor)
{
    guint64 length = dwarf_cursor_unit_length(cursor, &lines->unit.offset_size);
    if (cursor->overrun || length > dwarf_cursor_left(cursor))
        return FALSE;
    cursor->end = cursor->at + length;
    lines->version = (guint16)dwarf_cursor_fixed(cursor, 2);
    if (lines->version < 2 || lines->version > 5)
        return FALSE;
    if (lines->version >= 5)
        dwarf_cursor_skip(cursor, 2); /* sizes of an address, as in the unit, and of a segment selector */
    guint64 header = dwarf_cursor_fixed(cursor, lines->unit.offset_size);
    if (cursor->overrun || header > dwarf_cursor_left(cursor))
        return FALSE;
    lines->program = (DwarfCursor){.at = cursor->at + header, .end = cursor->end};
    cursor->end = cursor->at + header;
    lines->minimum_length = (guint8)dwarf_cursor_fixed(cursor, 1);
    lines->maximum_operations = lines->version >= 4 ? (guint8)dwarf_cursor_fixed(cursor, 1) : 1;
    dwarf_cursor_skip(cursor, 1); /* default_is_stmt */
    lines->line_base = (gint8)dwarf_cursor_fixed(cursor, 1);
    lines->line_range = (guint8)dwarf_cursor_fixed(cursor, 1);
    lines->opcode_base = (guint8)dwarf_cursor_fixed(cursor, 1);
    for (guint i = 1; i < lines->opcode_base; i++)
        lines->operands[i] = (guint8)dwarf_cursor_fixed(cursor, 1);
    return !cursor->overrun && lines->opcode_base > 0 && lines->line_range > 0;
}

DwarfLines *
dwarf_lines_new(const DwarfUnit *unit)
{
    if (unit->line == DWARF_NO_OFFSET)
        return NULL;
    g_autoptr(DwarfLines) lines = g_new0(DwarfLines, 1);
    lines->unit = *unit;
    lines->directories = g_array_new(FALSE, FALSE, sizeof(const char *));
    lines->files = g_array_new(FALSE, FALSE, sizeof(File));
    DwarfCursor cursor = dwarf_file_cursor(unit->file, DWARF_LINE, unit->line);
    if (!read_header(lines, &cursor))
        return NULL;
    gboolean readable = lines->version < 5 ? read_old_tables(lines, &cursor) : read_new_tables(lines, &cursor);
    return readable ? g_steal_pointer(&lines) : NULL;
}

/* The state machine [6.2.2] as far as needed, and the questions that it answers while running. */
typedef struct {
    const DwarfLines *lines;
    const guint64 *addresses;
    gsize n;
    guint64 lowest;
    DwarfRow *rows;
    gsize next; /* the first address at or after row_address */

    guint64 address, file, line, operation;
    gboolean in_sequence; /* row_* is a row of this sequence */
    gboolean discarded;
    guint64 row_address, row_file, row_line;
} Machine;

static void
reset(Machine *machine)
{
    machine->address = 0;
    machine->operation = 0;
    machine->file = 1;
    machine->line = 1;
    machine->in_sequence = FALSE;
}

static gsize
first_at_or_after(const Machine *machine, guint64 address)
{
    gsize low = 0;
    for (gsize high = machine->n; low < high;) {
        gsize middle = low + (high - low) / 2;
        if (machine->addresses[middle] < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The previous row extends to this address. Of several rows for one address the last one is used, of several sequences
 * the first. */
static void
emit_row(Machine *machine)
{
    if (!machine->in_sequence) {
        machine->discarded = machine->address < machine->lowest;
        machine->next = first_at_or_after(machine, machine->address);
    } else if (machine->address < machine->row_address) {
        machine->next = first_at_or_after(machine, machine->address);
    } else {
        for (; machine->next < machine->n && machine->addresses[machine->next] < machine->address; machine->next++) {
            if (!patience_spend(4))
                return;
            DwarfRow *row = &machine->rows[machine->next];
            if (!row->found && !machine->discarded)
                *row = (DwarfRow){(guint32)machine->row_file, (guint32)machine->row_line, TRUE};
        }
    }
    machine->in_sequence = TRUE;
    machine->row_address = machine->address;
    machine->row_file = machine->file;
    machine->row_line = machine->line;
}

static void
advance(Machine *machine, guint64 operations)
{
    const DwarfLines *lines = machine->lines;
    if (lines->maximum_operations <= 1) {
        machine->address += operations * lines->minimum_length;
        return;
    }
    guint64 total = machine->operation + operations;
    machine->address += total / lines->maximum_operations * lines->minimum_length;
    machine->operation = total % lines->maximum_operations;
}

static void
run_extended(Machine *machine, DwarfCursor *cursor)
{
    guint64 length = dwarf_cursor_uleb(cursor);
    DwarfCursor body = *cursor;
    dwarf_cursor_skip(cursor, length);
    body.end = cursor->at;
    switch (dwarf_cursor_fixed(&body, 1)) {
    case DW_LNE_end_sequence:
        emit_row(machine);
        reset(machine);
        break;
    case DW_LNE_set_address:
        machine->address = dwarf_cursor_fixed(&body, (guint)MIN(dwarf_cursor_left(&body), 8));
        machine->operation = 0;
        break;
    default: /* discriminators, and vendor extensions */
        break;
    }
}

static void
run_standard(Machine *machine, DwarfCursor *cursor, guint8 opcode)
{
    const DwarfLines *lines = machine->lines;
    switch (opcode) {
    case DW_LNS_copy:
        emit_row(machine);
        break;
    case DW_LNS_advance_pc:
        advance(machine, dwarf_cursor_uleb(cursor));
        break;
    case DW_LNS_advance_line:
        machine->line += (guint64)dwarf_cursor_sleb(cursor);
        break;
    case DW_LNS_set_file:
        machine->file = dwarf_cursor_uleb(cursor);
        break;
    case DW_LNS_const_add_pc:
        advance(machine, (guint64)(255 - lines->opcode_base) / lines->line_range);
        break;
    case DW_LNS_fixed_advance_pc:
        machine->address += dwarf_cursor_fixed(cursor, 2);
        machine->operation = 0;
        break;
    default: /* flags, columns, and unknown opcodes */
        for (guint i = 0; i < lines->operands[opcode] && patience_spend(4); i++)
            dwarf_cursor_uleb(cursor);
        break;
    }
}

static void
run_special(Machine *machine, guint8 opcode)
{
    const DwarfLines *lines = machine->lines;
    guint adjusted = (guint)opcode - lines->opcode_base;
    advance(machine, adjusted / lines->line_range);
    machine->line += (guint64)(gint64)(lines->line_base + (gint)(adjusted % lines->line_range));
    emit_row(machine);
}

void
dwarf_lines_run(const DwarfLines *lines, const guint64 *addresses, gsize n, guint64 lowest, DwarfRow *rows)
{
    Machine machine = {.lines = lines, .addresses = addresses, .n = n, .lowest = lowest, .rows = rows};
    DwarfCursor cursor = lines->program;
    reset(&machine);
    while (cursor.at < cursor.end && patience_spend(8)) {
        guint8 opcode = *cursor.at++;
        if (opcode >= lines->opcode_base)
            run_special(&machine, opcode);
        else if (opcode != 0)
            run_standard(&machine, &cursor, opcode);
        else
            run_extended(&machine, &cursor);
    }
}

char *
dwarf_lines_path(const DwarfLines *lines, guint64 index)
{
    if (index >= lines->files->len || g_array_index(lines->files, File, index).name == NULL)
        return NULL;
    const File *file = &g_array_index(lines->files, File, index);
    const char *directory = file->directory < lines->directories->len
                                ? g_array_index(lines->directories, const char *, file->directory)
                                : NULL;
    const char *base = lines->unit.directory;
    patience_spend(64);
    if (strnlen(file->name, DWARF_LONGEST_PATH) == DWARF_LONGEST_PATH ||
        (directory != NULL && strnlen(directory, DWARF_LONGEST_PATH) == DWARF_LONGEST_PATH))
        return NULL;
    if (g_path_is_absolute(file->name) || directory == NULL)
        return g_strdup(file->name);
    if (g_path_is_absolute(directory) || base == NULL)
        return g_build_filename(directory, file->name, NULL);
    return g_build_filename(base, directory, file->name, NULL);
}
