/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sampler-cfi.h"

#include <string.h>

enum {
    PAGE = 4096, /* the smallest possible: larger pages are checked more often */
    DEPTH = 4,   /* of the stack of remembered rows */
    STEPS_MAX = 4096,
    RECORD_MAX = 1 << 16, /* bytes of an FDE or CIE whose row is kept */
    /* DW_EH_PE_*: how a pointer is encoded */
    PE_ABSPTR = 0x00,
    PE_UDATA2 = 0x02,
    PE_UDATA4 = 0x03,
    PE_UDATA8 = 0x04,
    PE_SDATA2 = 0x0a,
    PE_SDATA4 = 0x0b,
    PE_SDATA8 = 0x0c,
    PE_FORM = 0x0f,
    PE_PCREL = 0x10,
    PE_BASE = 0x70,
    PE_INDIRECT = 0x80,
    PE_OMIT = 0xff,
    HEADER_TABLE = 0x3b, /* datarel | sdata4: the only encoding of a table that linkers write */
    HEADER_ENTRY = 8,
/* DWARF's numbers of registers */
#if defined(__x86_64__)
    DWARF_SP = 7,
    DWARF_RETURN = 16,
    FRAME_REGISTER = 1, /* of saved: rbp */
#else
    DWARF_SP = 31,
    DWARF_RETURN = 30,
    FRAME_REGISTER = 10, /* x29 */
#endif
    NO_REGISTER = -1,
};

/* A position in memory from which bytes are read. */
typedef struct {
    uintptr_t at;
    uintptr_t end;
    uintptr_t readable_to;
    CfiMemory *memory;
    bool failed;
} Reader;

static Reader
read_from(uintptr_t at, uintptr_t end, CfiMemory *memory)
{
    return (Reader){.at = at, .end = end, .readable_to = at, .memory = memory};
}

static bool
is_readable(CfiMemory *memory, uintptr_t address)
{
    const uintptr_t page = address / PAGE;
    uintptr_t *known = &memory->pages[page % CFI_PAGES];
    if (page == 0 || (*known != page && !memory->is_readable(address)))
        return false;
    *known = page;
    return true;
}

static bool
has(Reader *reader, size_t n)
{
    if (reader->failed || reader->end < reader->at || reader->end - reader->at < n)
        return !(reader->failed = true);
    while (reader->readable_to < reader->at + n) {
        if (!is_readable(reader->memory, reader->readable_to))
            return !(reader->failed = true);
        reader->readable_to = (reader->readable_to | (PAGE - 1)) + 1;
    }
    return true;
}

static inline uint64_t
take(Reader *reader, size_t n)
{
    uint64_t value = 0;
    if (has(reader, n)) {
        __builtin_memcpy(&value, (const void *)reader->at, n); /* inlined, though other functions are not */
        reader->at += n;
    }
    return value;
}

static uint64_t
take_uleb(Reader *reader)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const uint64_t byte = take(reader, 1);
        value |= (byte & 0x7f) << shift;
        if ((byte & 0x80) == 0)
            return value;
    }
    reader->failed = true;
    return 0;
}

static int64_t
take_sleb(Reader *reader)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const uint64_t byte = take(reader, 1);
        value |= (byte & 0x7f) << shift;
        if ((byte & 0x80) == 0) {
            if ((byte & 0x40) != 0 && shift + 7 < 64)
                value |= ~UINT64_C(0) << (shift + 7);
            return (int64_t)value;
        }
    }
    reader->failed = true;
    return 0;
}

static uintptr_t
take_pointer(Reader *reader, unsigned encoding)
{
    const uintptr_t place = reader->at;
    uint64_t value;
    switch (encoding & PE_FORM) {
    case PE_ABSPTR:
    case PE_UDATA8:
    case PE_SDATA8:
        value = take(reader, 8);
        break;
    case PE_UDATA2:
        value = take(reader, 2);
        break;
    case PE_SDATA2:
        value = (uint64_t)(int16_t)take(reader, 2);
        break;
    case PE_UDATA4:
        value = take(reader, 4);
        break;
    case PE_SDATA4:
        value = (uint64_t)(int32_t)take(reader, 4);
        break;
    default:
        reader->failed = true;
        return 0;
    }
    switch (encoding & PE_BASE) {
    case 0:
        return value;
    case PE_PCREL:
        return value + place;
    default:
        reader->failed = true;
        return 0;
    }
}

/* ---- the header, the FDE and its CIE ---- */

typedef struct {
    uintptr_t begin; /* of the code */
    uintptr_t fde;
} Entry;

static bool
open_table(CfiMemory *memory, uintptr_t header)
{
    if (memory->table.header == header)
        return true;
    Reader reader = read_from(header, UINTPTR_MAX, memory);
    const uint64_t version = take(&reader, 1);
    const unsigned frame_encoding = (unsigned)take(&reader, 1);
    const unsigned count_encoding = (unsigned)take(&reader, 1);
    const unsigned table_encoding = (unsigned)take(&reader, 1);
    if (reader.failed || version != 1 || frame_encoding == PE_OMIT || count_encoding == PE_OMIT ||
        table_encoding != HEADER_TABLE)
        return false;
    take_pointer(&reader, frame_encoding);
    const uint64_t n = take_pointer(&reader, count_encoding);
    if (reader.failed || n == 0 || n > UINT32_MAX)
        return false;
    memory->table = (CfiTable){.header = header, .entries = reader.at, .n = n};
    return true;
}

static bool
read_entry(CfiMemory *memory, uint64_t i, Entry *entry)
{
    const CfiTable *table = &memory->table;
    Reader reader = read_from(table->entries + i * HEADER_ENTRY, UINTPTR_MAX, memory);
    entry->begin = table->header + (uintptr_t)(int32_t)take(&reader, 4);
    entry->fde = table->header + (uintptr_t)(int32_t)take(&reader, 4);
    return !reader.failed;
}

/* The last entry that begins at or before PC. */
static bool
find_entry(CfiMemory *memory, uintptr_t pc, uint64_t *at, Entry *entry)
{
    uint64_t high = memory->table.n;
    *at = 0;
    while (high - *at > 1) {
        const uint64_t middle = *at + (high - *at) / 2;
        if (!read_entry(memory, middle, entry))
            return false;
        if (entry->begin <= pc)
            *at = middle;
        else
            high = middle;
    }
    return read_entry(memory, *at, entry) && entry->begin <= pc;
}

typedef struct {
    uint64_t code_factor;
    int64_t data_factor;
    unsigned encoding; /* of addresses */
    bool has_data;     /* "z": augmentation data has a length */
    bool is_signal;
    Reader instructions;
} Cie;

/* The record at AT without its length; 64-bit records do not occur in .eh_frame. */
static Reader
open_record(uintptr_t at, CfiMemory *memory)
{
    Reader reader = read_from(at, UINTPTR_MAX, memory);
    const uint64_t length = take(&reader, 4);
    if (length == 0 || length == UINT32_MAX)
        reader.failed = true;
    reader.end = reader.at + length;
    return reader;
}

static void
read_augmentation(Cie *cie, Reader *letters, Reader *reader)
{
    for (uint64_t letter; (letter = take(letters, 1)) != 0 && !letters->failed;) {
        switch (letter) {
        case 'R':
            cie->encoding = (unsigned)take(reader, 1);
            break;
        case 'P':
            take_pointer(reader, (unsigned)take(reader, 1) & ~(unsigned)PE_INDIRECT);
            break;
        case 'L':
            take(reader, 1);
            break;
        case 'S':
            cie->is_signal = true;
            break;
        case 'B': /* AArch64: return addresses are signed with the other key */
            break;
        default:
            reader->failed = true;
            return;
        }
    }
}

static bool
read_cie(uintptr_t at, CfiMemory *memory, Cie *cie)
{
    Reader reader = open_record(at, memory);
    *cie = (Cie){.encoding = PE_ABSPTR};
    if (take(&reader, 4) != 0)
        return false;
    const uint64_t version = take(&reader, 1);
    if (version != 1 && version != 3)
        return false;
    Reader letters = reader;
    while (take(&reader, 1) != 0)
        ;
    cie->code_factor = take_uleb(&reader);
    cie->data_factor = take_sleb(&reader);
    const uint64_t return_register = version == 1 ? take(&reader, 1) : take_uleb(&reader);
    if (reader.failed || return_register != DWARF_RETURN)
        return false;
    const uint64_t first = take(&letters, 1);
    if (first == 'z') {
        const uint64_t length = take_uleb(&reader);
        Reader data = reader;
        data.end = reader.at + length;
        cie->has_data = true;
        read_augmentation(cie, &letters, &data);
        if (data.failed || length > reader.end - reader.at)
            return false;
        reader.at += length;
    } else if (first != 0) {
        return false;
    }
    cie->instructions = reader;
    return !reader.failed;
}

/* ---- the instructions ---- */

typedef struct {
    const Cie *cie;
    UnwindRow row;
    UnwindRow initial;
    UnwindRow remembered[DEPTH];
    unsigned depth;
    uintptr_t at; /* the address that the row is for */
    uintptr_t pc; /* the address that is searched */
} Machine;

static int
place_of(uint64_t dwarf)
{
#if defined(__x86_64__)
    static const int8_t places[17] = {-1, -1, -1, 0, -1, -1, 1, -1, -1, -1, -1, -1, 2, 3, 4, 5, -1};
    return dwarf < 17 ? places[dwarf] : NO_REGISTER;
#else
    return dwarf >= 19 && dwarf <= 30 && UNWIND_SAVED > 1 ? (int)dwarf - 19 : NO_REGISTER;
#endif
}

static int16_t
short_offset(int64_t offset)
{
    return offset > INT16_MIN && offset < INT16_MAX ? (int16_t)offset : UNWIND_LOST;
}

static void
set_saved(Machine *machine, uint64_t dwarf, int64_t offset, bool by_register)
{
    const int place = place_of(dwarf);
    if (dwarf == DWARF_RETURN)
        machine->row.return_offset = by_register ? UNWIND_LOST : short_offset(offset);
    if (place == NO_REGISTER)
        return;
    machine->row.offsets[place] = short_offset(offset);
    machine->row.by_register = (uint16_t)(machine->row.by_register & ~(1u << place));
    machine->row.by_register = (uint16_t)(machine->row.by_register | (by_register ? 1u << place : 0));
}

static void
restore_saved(Machine *machine, uint64_t dwarf)
{
    const int place = place_of(dwarf);
    if (dwarf == DWARF_RETURN)
        machine->row.return_offset = machine->initial.return_offset;
    if (place != NO_REGISTER)
        set_saved(machine, dwarf, machine->initial.offsets[place], false);
}

static void
set_cfa(Machine *machine, uint64_t dwarf, int64_t offset)
{
    const int place = place_of(dwarf);
    machine->row.cfa_kind = UNWIND_REGISTER;
    machine->row.cfa_offset = (int32_t)offset;
    if (dwarf == DWARF_SP)
        machine->row.cfa_register = UNWIND_SP;
    else if (place != NO_REGISTER)
        machine->row.cfa_register = (uint8_t)place;
    else
        machine->row.cfa_kind = UNWIND_END; /* in a prologue, where nothing is called */
}

enum { OP_DEREF = 0x06, OP_BREG0 = 0x70, OP_BREG31 = 0x8f };

/* The number of the register of a DW_OP_bregN, and its offset. */
static bool
take_breg(Reader *reader, uint64_t *dwarf, int64_t *offset)
{
    const uint64_t operation = take(reader, 1);
    *offset = take_sleb(reader);
    *dwarf = operation - OP_BREG0;
    return !reader->failed && operation >= OP_BREG0 && operation <= OP_BREG31;
}

#if defined(__x86_64__)
/* rsp + 8 + ((rip & 15) >= N) * 8: of every lazily bound procedure linkage table. */
static bool
is_plt(Reader block, unsigned *first_byte)
{
    static const uint8_t begin[] = {0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a};
    static const uint8_t end[] = {0x2a, 0x33, 0x24, 0x22};
    for (size_t i = 0; i < sizeof(begin); i++)
        if (take(&block, 1) != begin[i])
            return false;
    *first_byte = (unsigned)take(&block, 1) - 0x30; /* DW_OP_litN */
    for (size_t i = 0; i < sizeof(end); i++)
        if (take(&block, 1) != end[i])
            return false;
    return !block.failed && block.at == block.end && *first_byte < 16;
}
#endif

static void
set_cfa_expression(Machine *machine, Reader block)
{
    uint64_t dwarf;
    int64_t offset;
    machine->row.cfa_kind = UNWIND_END;
#if defined(__x86_64__)
    unsigned first_byte;
    if (is_plt(block, &first_byte)) {
        machine->row.cfa_kind = UNWIND_PLT;
        machine->row.cfa_register = (uint8_t)first_byte;
        return;
    }
#endif
    if (!take_breg(&block, &dwarf, &offset))
        return;
    set_cfa(machine, dwarf, offset);
    if (machine->row.cfa_kind == UNWIND_REGISTER && block.at != block.end)
        machine->row.cfa_kind = take(&block, 1) == OP_DEREF && block.at == block.end ? UNWIND_DEREF : UNWIND_END;
}

static void
set_expression(Machine *machine, uint64_t dwarf, Reader block)
{
    uint64_t base;
    int64_t offset;
    const bool simple = take_breg(&block, &base, &offset) && block.at == block.end && place_of(base) == FRAME_REGISTER;
    set_saved(machine, dwarf, simple ? offset : UNWIND_LOST, simple);
}

static Reader
take_block(Reader *reader)
{
    const uint64_t length = take_uleb(reader);
    Reader block = *reader;
    if (reader->failed || length > reader->end - reader->at) {
        reader->failed = block.failed = true;
        return block;
    }
    block.end = reader->at + length;
    reader->at += length;
    return block;
}

static void
remember(Machine *machine, Reader *reader)
{
    if (machine->depth == DEPTH)
        reader->failed = true;
    else
        machine->remembered[machine->depth++] = machine->row;
}

static void
recall(Machine *machine, Reader *reader)
{
    if (machine->depth == 0)
        reader->failed = true;
    else
        machine->row = machine->remembered[--machine->depth];
}

/* An operand in units of the data alignment factor. Damaged tables may overflow; the product wraps then. */
static int64_t
scaled(const Machine *machine, uint64_t operand)
{
    return (int64_t)(operand * (uint64_t)machine->cie->data_factor);
}

/* The rule of a register (6.4.2.3 of DWARF 5). */
static void
run_register_rule(Machine *machine, Reader *reader, unsigned opcode)
{
    uint64_t dwarf;
    switch (opcode) {
    case 0x05: /* offset_extended */
        dwarf = take_uleb(reader);
        set_saved(machine, dwarf, scaled(machine, take_uleb(reader)), false);
        break;
    case 0x11: /* offset_extended_sf */
        dwarf = take_uleb(reader);
        set_saved(machine, dwarf, scaled(machine, (uint64_t)take_sleb(reader)), false);
        break;
    case 0x2f: /* GNU_negative_offset_extended */
        dwarf = take_uleb(reader);
        set_saved(machine, dwarf, scaled(machine, -take_uleb(reader)), false);
        break;
    case 0x06: /* restore_extended */
        restore_saved(machine, take_uleb(reader));
        break;
    case 0x07: /* undefined */
        set_saved(machine, take_uleb(reader), UNWIND_LOST, false);
        break;
    case 0x08: /* same_value */
        set_saved(machine, take_uleb(reader), UNWIND_SAME, false);
        break;
    case 0x09: /* register */
    case 0x14: /* val_offset */
        dwarf = take_uleb(reader);
        take_uleb(reader);
        set_saved(machine, dwarf, UNWIND_LOST, false);
        break;
    case 0x15: /* val_offset_sf */
        dwarf = take_uleb(reader);
        take_sleb(reader);
        set_saved(machine, dwarf, UNWIND_LOST, false);
        break;
    case 0x10: /* expression */
        dwarf = take_uleb(reader);
        set_expression(machine, dwarf, take_block(reader));
        break;
    case 0x16: /* val_expression */
        dwarf = take_uleb(reader);
        take_block(reader);
        set_saved(machine, dwarf, UNWIND_LOST, false);
        break;
    default:
        reader->failed = true;
        break;
    }
}

/* The definition of the CFA (6.4.2.2). */
static void
run_cfa_definition(Machine *machine, Reader *reader, unsigned opcode)
{
    uint64_t dwarf;
    switch (opcode) {
    case 0x0c: /* def_cfa */
        dwarf = take_uleb(reader);
        set_cfa(machine, dwarf, (int64_t)take_uleb(reader));
        break;
    case 0x12: /* def_cfa_sf */
        dwarf = take_uleb(reader);
        set_cfa(machine, dwarf, scaled(machine, (uint64_t)take_sleb(reader)));
        break;
    case 0x0d: /* def_cfa_register */
        set_cfa(machine, take_uleb(reader), machine->row.cfa_offset);
        break;
    case 0x0e: /* def_cfa_offset */
        machine->row.cfa_offset = (int32_t)take_uleb(reader);
        break;
    case 0x13: /* def_cfa_offset_sf */
        machine->row.cfa_offset = (int32_t)scaled(machine, (uint64_t)take_sleb(reader));
        break;
    case 0x0f: /* def_cfa_expression */
        set_cfa_expression(machine, take_block(reader));
        break;
    default:
        run_register_rule(machine, reader, opcode);
        break;
    }
}

/* DW_CFA_* whose operands are not in the opcode itself: locations, the stack of rows, padding, and the above. */
static void
run_extended(Machine *machine, Reader *reader, unsigned opcode)
{
    switch (opcode) {
    case 0x00: /* nop */
    case 0x2d: /* AARCH64_negate_ra_state */
        break;
    case 0x01: /* set_loc */
        machine->at = take_pointer(reader, machine->cie->encoding);
        break;
    case 0x02: /* advance_loc1 */
    case 0x03: /* advance_loc2 */
        machine->at += take(reader, opcode - 1) * machine->cie->code_factor;
        break;
    case 0x04: /* advance_loc4 */
        machine->at += take(reader, 4) * machine->cie->code_factor;
        break;
    case 0x0a: /* remember_state */
        remember(machine, reader);
        break;
    case 0x0b: /* restore_state */
        recall(machine, reader);
        break;
    case 0x2e: /* GNU_args_size */
        take_uleb(reader);
        break;
    default:
        run_cfa_definition(machine, reader, opcode);
        break;
    }
}

/* Executes instructions until the row for the pc is complete. */
static bool
run(Machine *machine, Reader reader)
{
    for (unsigned steps = 0; reader.at < reader.end && !reader.failed && steps < STEPS_MAX; steps++) {
        const Reader before = reader;
        const UnwindRow row = machine->row;
        const unsigned opcode = (unsigned)take(&reader, 1);
        const unsigned operand = opcode & 0x3f;
        switch (opcode >> 6) {
        case 1: /* advance_loc */
            machine->at += operand * machine->cie->code_factor;
            break;
        case 2: /* offset */
            set_saved(machine, operand, scaled(machine, take_uleb(&reader)), false);
            break;
        case 3: /* restore */
            restore_saved(machine, operand);
            break;
        default:
            run_extended(machine, &reader, operand);
            break;
        }
        if (machine->at > machine->pc) {
            machine->row = row;
            return !before.failed;
        }
    }
    return !reader.failed && reader.at >= reader.end;
}

static UnwindRow
no_row(void)
{
    UnwindRow row = {.cfa_kind = UNWIND_END, .return_offset = UNWIND_LOST};
    for (size_t i = 0; i < UNWIND_SAVED; i++)
        row.offsets[i] = UNWIND_SAME;
    return row;
}

bool
cfi_find_row(uintptr_t header, uintptr_t pc, CfiMemory *memory, UnwindRow *row)
{
    Cie cie;
    Entry entry;
    uint64_t at;
    if (!open_table(memory, header) || !find_entry(memory, pc, &at, &entry))
        return false;
    Reader fde = open_record(entry.fde, memory);
    if (fde.failed)
        return false;
    const uintptr_t cie_at = fde.at;
    const uint64_t distance = take(&fde, 4);
    if (fde.failed || distance == 0 || !read_cie(cie_at - distance, memory, &cie))
        return false;
    const uintptr_t begin = take_pointer(&fde, cie.encoding);
    const uintptr_t size = take_pointer(&fde, cie.encoding & PE_FORM);
    if (fde.failed || pc - begin >= size)
        return false;
    if (cie.has_data) {
        const uint64_t length = take_uleb(&fde);
        if (fde.failed || length > fde.end - fde.at)
            return false;
        fde.at += length;
    }
    Machine machine = {.cie = &cie, .row = no_row(), .at = begin, .pc = UINTPTR_MAX};
    if (cie.is_signal) {
        *row = machine.row;
        row->cfa_kind = UNWIND_SIGNAL;
        return true;
    }
    if (!run(&machine, cie.instructions))
        return false;
    machine.initial = machine.row;
    machine.pc = pc;
    if (!run(&machine, fde))
        return false;
    *row = machine.row;
    return true;
}

/* ---- recognising a row ---- */

static uint64_t
mix(uint64_t sum, uint64_t value)
{
    const uint64_t mixed = (sum ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return mixed ^ mixed >> 29;
}

static bool
add_record(uint64_t *sum, Reader record)
{
    const size_t size = record.end - record.at;
    if (size > RECORD_MAX || !has(&record, size))
        return false;
    while (record.end - record.at >= 8)
        *sum = mix(*sum, take(&record, 8));
    while (record.at < record.end)
        *sum = mix(*sum, take(&record, 1));
    return true;
}

static bool
sum_up(CfiMemory *memory, const Entry *entry, uint32_t *checksum)
{
    const Reader fde = open_record(entry->fde, memory);
    Reader start = fde;
    const uintptr_t cie = fde.at - take(&start, 4);
    uint64_t sum = mix(mix(0, entry->begin), entry->fde);
    if (start.failed || !add_record(&sum, fde) || !add_record(&sum, open_record(cie, memory)))
        return false;
    *checksum = (uint32_t)(sum >> 32);
    return true;
}

bool
cfi_find_origin(uintptr_t header, uintptr_t pc, CfiMemory *memory, UnwindOrigin *origin)
{
    Entry entry;
    uint64_t at;
    if (!open_table(memory, header) || !find_entry(memory, pc, &at, &entry) || at == UNWIND_LASTING)
        return false;
    origin->entry = (uint32_t)at;
    return sum_up(memory, &entry, &origin->checksum);
}

bool
cfi_has_origin(uintptr_t header, CfiMemory *memory, const UnwindOrigin *origin)
{
    Entry entry;
    uint32_t checksum;
    return open_table(memory, header) && origin->entry < memory->table.n && read_entry(memory, origin->entry, &entry) &&
           sum_up(memory, &entry, &checksum) && checksum == origin->checksum;
}
