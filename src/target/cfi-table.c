/* SPDX-License-Identifier: Apache-2.0 */
#include "target/cfi-table.h"

#include <elf.h>
#include <string.h>

#include "target/registers.h"

enum {
    HEADERS_MAX = 64,
    SEARCH_MAX = 32, /* steps of a binary search */

    HDR_VERSION = 1,
    ENCODED_COUNT = DW_EH_PE_udata4,
    ENCODED_TABLE = DW_EH_PE_datarel | DW_EH_PE_sdata4,
};

/* Reads the CIE or FDE at ADDRESS, without its length. */
static gboolean
read_entry(const CfiMemory *memory, guint64 address, CfiEntry *entry)
{
    guint32 length;
    if (!memory->read(memory->data, address, &length, sizeof(length)) || length < sizeof(guint32) ||
        length > sizeof(entry->bytes) || !memory->read(memory->data, address + sizeof(length), entry->bytes, length))
        return FALSE;
    entry->length = length;
    entry->address = address + sizeof(length);
    return TRUE;
}

static void
take_augmentation(CfiTable *table, const char *letters, CfiCursor *cursor)
{
    table->augmented = letters[0] == 'z';
    if (!table->augmented) {
        cursor->bad |= letters[0] != '\0';
        return;
    }
    guint64 length = cfi_take_unsigned(cursor);
    gsize begin = cursor->at;
    for (const char *letter = letters + 1; *letter != '\0' && !cursor->bad; letter++)
        if (*letter == 'R')
            table->encoding = (guint8)cfi_take_fixed(cursor, 1);
        else if (*letter == 'L')
            cfi_take_fixed(cursor, 1);
        else if (*letter == 'P')
            cfi_take_pointer(cursor, (guint8)cfi_take_fixed(cursor, 1) & ~(guint8)DW_EH_PE_indirect);
        else if (*letter == 'S')
            table->signal_frame = TRUE;
        else
            break; /* the rest is not needed: LENGTH is its end */
    if (length > cursor->end - begin)
        cursor->bad = TRUE;
    else
        cursor->at = begin + length;
}

static gboolean
parse_cie(CfiTable *table)
{
    CfiCursor cursor = {.entry = &table->cie, .end = table->cie.length};
    char letters[8];
    if (cfi_take_fixed(&cursor, sizeof(guint32)) != 0)
        return FALSE;
    guint64 version = cfi_take_fixed(&cursor, 1);
    gsize n = 0;
    do
        letters[n] = (char)cfi_take_fixed(&cursor, 1);
    while (letters[n] != '\0' && ++n < sizeof(letters));
    if (n == sizeof(letters) || (version != 1 && version != 3))
        return FALSE;
    table->code_factor = cfi_take_unsigned(&cursor);
    table->data_factor = cfi_take_signed(&cursor);
    table->return_register = version == 1 ? cfi_take_fixed(&cursor, 1) : cfi_take_unsigned(&cursor);
    take_augmentation(table, letters, &cursor);
    table->cie_program = cursor.at;
    return !cursor.bad && table->return_register < REGISTERS_DWARF;
}

/* Reads the FDE at ADDRESS, whose function must contain PC, and its CIE. */
static gboolean
read_table(const CfiMemory *memory, guint64 address, guint64 pc, CfiTable *table)
{
    guint32 back;
    if (!read_entry(memory, address, &table->fde))
        return FALSE;
    memcpy(&back, table->fde.bytes, sizeof(back));
    if (back == 0 || !read_entry(memory, table->fde.address - back, &table->cie) || !parse_cie(table))
        return FALSE;
    CfiCursor cursor = {.entry = &table->fde, .at = sizeof(back), .end = table->fde.length};
    table->start = cfi_take_pointer(&cursor, table->encoding);
    guint64 size = cfi_take_pointer(&cursor, table->encoding & 0x0f);
    if (table->augmented) {
        guint64 length = cfi_take_unsigned(&cursor);
        cursor.bad |= length > cursor.end - cursor.at;
        cursor.at += cursor.bad ? 0 : length;
    }
    table->fde_program = cursor.at;
    return !cursor.bad && pc - table->start < size;
}

/* The address of the .eh_frame_hdr for code at PC; 0: none. */
static guint64
find_header(const CfiMemory *memory, guint64 pc)
{
    Elf64_Ehdr header;
    Elf64_Phdr segments[HEADERS_MAX];
    const Mapping *mapping = address_space_find(memory->space, pc);
    const Mapping *first =
        mapping != NULL && (mapping->flags & MAPPING_EXECUTE) != 0 ? address_space_first(memory->space, mapping) : NULL;
    if (first == NULL || !memory->read(memory->data, first->start, &header, sizeof(header)) ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_phentsize != sizeof(*segments) || header.e_phnum > HEADERS_MAX ||
        !memory->read(memory->data, first->start + header.e_phoff, segments, header.e_phnum * sizeof(*segments)))
        return 0;
    guint64 found = 0;
    guint64 bias = 0;
    gboolean loadable = FALSE;
    for (guint i = 0; i < header.e_phnum; i++) {
        if (segments[i].p_type == PT_LOAD && !loadable) {
            loadable = TRUE;
            bias = first->start - (segments[i].p_vaddr - segments[i].p_offset);
        }
        if (segments[i].p_type == PT_GNU_EH_FRAME)
            found = segments[i].p_vaddr;
    }
    return loadable && found != 0 ? bias + found : 0;
}

/* Searches the sorted table in .eh_frame_hdr. */
gboolean
cfi_table_find(const CfiMemory *memory, guint64 pc, CfiTable *table)
{
    struct {
        guint8 version;
        guint8 encoded_pointer;
        guint8 encoded_count;
        guint8 encoded_table;
        gint32 pointer;
        guint32 count;
    } header;
    gint32 pair[2];
    const guint64 address = find_header(memory, pc);
    if (address == 0 || !memory->read(memory->data, address, &header, sizeof(header)) ||
        header.version != HDR_VERSION || header.encoded_count != ENCODED_COUNT ||
        header.encoded_table != ENCODED_TABLE || (header.encoded_pointer & 0x0f) != DW_EH_PE_sdata4)
        return FALSE;
    guint64 low = 0;
    guint64 high = header.count;
    for (guint i = 0; i < SEARCH_MAX && low < high; i++) {
        guint64 middle = low + (high - low) / 2;
        if (!memory->read(memory->data, address + sizeof(header) + middle * sizeof(pair), pair, sizeof(pair)))
            return FALSE;
        if ((gint64)pair[0] <= (gint64)(pc - address))
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && low == high &&
           memory->read(memory->data, address + sizeof(header) + (low - 1) * sizeof(pair), pair, sizeof(pair)) &&
           read_table(memory, address + (guint64)(gint64)pair[1], pc, table);
}
