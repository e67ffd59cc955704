/* SPDX-License-Identifier: Apache-2.0 */
#include "target/unwind.h"

#include <elf.h>
#include <string.h>

/* How pointers are encoded: the Linux Standard Base, "DWARF extensions". */
enum {
    DW_EH_PE_absptr = 0x00,
    DW_EH_PE_udata2 = 0x02,
    DW_EH_PE_udata4 = 0x03,
    DW_EH_PE_udata8 = 0x04,
    DW_EH_PE_sdata2 = 0x0a,
    DW_EH_PE_sdata4 = 0x0b,
    DW_EH_PE_sdata8 = 0x0c,
    DW_EH_PE_pcrel = 0x10,
    DW_EH_PE_datarel = 0x30,
    DW_EH_PE_indirect = 0x80,
};

/* Instructions of unwind tables: DWARF 5 section 7.24. */
enum {
    DW_CFA_nop = 0x00,
    DW_CFA_set_loc = 0x01,
    DW_CFA_advance_loc1 = 0x02,
    DW_CFA_advance_loc2 = 0x03,
    DW_CFA_advance_loc4 = 0x04,
    DW_CFA_offset_extended = 0x05,
    DW_CFA_restore_extended = 0x06,
    DW_CFA_undefined = 0x07,
    DW_CFA_same_value = 0x08,
    DW_CFA_register = 0x09,
    DW_CFA_remember_state = 0x0a,
    DW_CFA_restore_state = 0x0b,
    DW_CFA_def_cfa = 0x0c,
    DW_CFA_def_cfa_register = 0x0d,
    DW_CFA_def_cfa_offset = 0x0e,
    DW_CFA_def_cfa_expression = 0x0f,
    DW_CFA_expression = 0x10,
    DW_CFA_offset_extended_sf = 0x11,
    DW_CFA_def_cfa_sf = 0x12,
    DW_CFA_def_cfa_offset_sf = 0x13,
    DW_CFA_val_offset = 0x14,
    DW_CFA_val_offset_sf = 0x15,
    DW_CFA_val_expression = 0x16,
    DW_CFA_GNU_args_size = 0x2e,
    DW_CFA_advance_loc = 0x40,
    DW_CFA_offset = 0x80,
    DW_CFA_restore = 0xc0,
};

/* Operations of expressions: DWARF 5 section 7.7.1. */
enum {
    DW_OP_deref = 0x06,
    DW_OP_const1u = 0x08,
    DW_OP_const8s = 0x0f,
    DW_OP_constu = 0x10,
    DW_OP_consts = 0x11,
    DW_OP_dup = 0x12,
    DW_OP_and = 0x1a,
    DW_OP_minus = 0x1c,
    DW_OP_mul = 0x1e,
    DW_OP_or = 0x21,
    DW_OP_plus = 0x22,
    DW_OP_plus_uconst = 0x23,
    DW_OP_shl = 0x24,
    DW_OP_shr = 0x25,
    DW_OP_xor = 0x27,
    DW_OP_eq = 0x29,
    DW_OP_ge = 0x2a,
    DW_OP_gt = 0x2b,
    DW_OP_le = 0x2c,
    DW_OP_lt = 0x2d,
    DW_OP_ne = 0x2e,
    DW_OP_lit0 = 0x30,
    DW_OP_lit31 = 0x4f,
    DW_OP_breg0 = 0x70,
    DW_OP_breg31 = 0x8f,
    DW_OP_nop = 0x96,
};

enum {
    HEADERS_MAX = 64,
    ENTRY_MAX = 16 * 1024, /* bytes of a CIE or FDE */
    SAVED_MAX = 8,         /* DW_CFA_remember_state */
    OPERANDS_MAX = 32,
    SEARCH_MAX = 32, /* halvings of a table */

    HDR_VERSION = 1,
    ENCODED_COUNT = DW_EH_PE_udata4,
    ENCODED_TABLE = DW_EH_PE_datarel | DW_EH_PE_sdata4,
};

typedef enum {
    RULE_SAME, /* no rule: the caller has the same value */
    RULE_UNDEFINED,
    RULE_AT,       /* at CFA + number */
    RULE_VALUE,    /* CFA + number itself */
    RULE_REGISTER, /* in register NUMBER */
    RULE_AT_EXPRESSION,
    RULE_VALUE_EXPRESSION,
} RuleKind;

/* Where a register of the caller's is. */
typedef struct {
    RuleKind kind;
    gint64 number;
    const guint8 *expression;
    gsize length;
} Rule;

typedef struct {
    Rule cfa; /* RULE_REGISTER with OFFSET, or RULE_VALUE_EXPRESSION */
    gint64 offset;
    Rule rules[REGISTERS_DWARF];
} Row;

typedef struct {
    guint8 bytes[ENTRY_MAX];
    gsize length;
    guint64 address; /* of bytes[0] */
} Entry;

/* A CIE and its FDE. */
typedef struct {
    Entry cie;
    Entry fde;
    guint64 code_factor;
    gint64 data_factor;
    guint64 return_register;
    guint8 encoding;
    gboolean augmented;
    gboolean signal_frame;
    guint64 start;
    gsize cie_program; /* where instructions begin */
    gsize fde_program;
} Table;

/* The part of an entry that is still to be read; BAD once something was not there. */
typedef struct {
    const Entry *entry;
    gsize at;
    gsize end;
    gboolean bad;
} Cursor;

static guint64
take_fixed(Cursor *cursor, gsize size)
{
    guint64 value = 0;
    if (cursor->bad || size > cursor->end - cursor->at) {
        cursor->bad = TRUE;
        return 0;
    }
    memcpy(&value, cursor->entry->bytes + cursor->at, size);
    cursor->at += size;
    return value;
}

static guint64
take_unsigned(Cursor *cursor)
{
    guint64 value = 0;
    for (guint shift = 0; shift < 64 && !cursor->bad; shift += 7) {
        guint64 byte = take_fixed(cursor, 1);
        value |= (byte & 0x7f) << shift;
        if ((byte & 0x80) == 0)
            return value;
    }
    cursor->bad = TRUE;
    return 0;
}

static gint64
take_signed(Cursor *cursor)
{
    guint64 value = 0;
    for (guint shift = 0; shift < 64 && !cursor->bad; shift += 7) {
        guint64 byte = take_fixed(cursor, 1);
        value |= (byte & 0x7f) << shift;
        if ((byte & 0x80) != 0)
            continue;
        if ((byte & 0x40) != 0 && shift + 7 < 64)
            value |= ~G_GUINT64_CONSTANT(0) << (shift + 7);
        return (gint64)value;
    }
    cursor->bad = TRUE;
    return 0;
}

static gint64
sign_extended(guint64 value, gsize size)
{
    guint shift = 64 - 8 * (guint)size;
    return (gint64)(value << shift) >> shift;
}

/* A pointer in one of the encodings that compilers use for code in .eh_frame. */
static guint64
take_pointer(Cursor *cursor, guint8 encoding)
{
    static const struct {
        guint8 size;
        gboolean is_signed;
    } formats[] = {
        [DW_EH_PE_absptr] = {8, FALSE}, [DW_EH_PE_udata2] = {2, FALSE}, [DW_EH_PE_udata4] = {4, FALSE},
        [DW_EH_PE_udata8] = {8, FALSE}, [DW_EH_PE_sdata2] = {2, TRUE},  [DW_EH_PE_sdata4] = {4, TRUE},
        [DW_EH_PE_sdata8] = {8, TRUE},
    };
    guint8 format = encoding & 0x0f;
    guint64 here = cursor->entry->address + cursor->at;
    if (format >= G_N_ELEMENTS(formats) || formats[format].size == 0) {
        cursor->bad = TRUE;
        return 0;
    }
    guint64 value = take_fixed(cursor, formats[format].size);
    if (formats[format].is_signed)
        value = (guint64)sign_extended(value, formats[format].size);
    switch (encoding & 0x70) {
    case 0:
        return value;
    case DW_EH_PE_pcrel:
        return value + here;
    default:
        cursor->bad = TRUE;
        return 0;
    }
}

/* A CIE or FDE at ADDRESS, without its length. */
static gboolean
read_entry(const Unwind *unwind, guint64 address, Entry *entry)
{
    guint32 length;
    if (!unwind->read(unwind->data, address, &length, sizeof(length)) || length < sizeof(guint32) ||
        length > sizeof(entry->bytes) || !unwind->read(unwind->data, address + sizeof(length), entry->bytes, length))
        return FALSE;
    entry->length = length;
    entry->address = address + sizeof(length);
    return TRUE;
}

static void
take_augmentation(Table *table, const char *letters, Cursor *cursor)
{
    table->augmented = letters[0] == 'z';
    if (!table->augmented) {
        cursor->bad |= letters[0] != '\0';
        return;
    }
    guint64 length = take_unsigned(cursor);
    gsize begin = cursor->at;
    for (const char *letter = letters + 1; *letter != '\0' && !cursor->bad; letter++)
        if (*letter == 'R')
            table->encoding = (guint8)take_fixed(cursor, 1);
        else if (*letter == 'L')
            take_fixed(cursor, 1);
        else if (*letter == 'P')
            take_pointer(cursor, (guint8)take_fixed(cursor, 1) & ~(guint8)DW_EH_PE_indirect);
        else if (*letter == 'S')
            table->signal_frame = TRUE;
        else
            break; /* the rest is not needed: LENGTH gives its end */
    if (length > cursor->end - begin)
        cursor->bad = TRUE;
    else
        cursor->at = begin + length;
}

static gboolean
parse_cie(Table *table)
{
    Cursor cursor = {.entry = &table->cie, .end = table->cie.length};
    char letters[8];
    if (take_fixed(&cursor, sizeof(guint32)) != 0)
        return FALSE;
    guint64 version = take_fixed(&cursor, 1);
    gsize n = 0;
    do
        letters[n] = (char)take_fixed(&cursor, 1);
    while (letters[n] != '\0' && ++n < sizeof(letters));
    if (n == sizeof(letters) || (version != 1 && version != 3))
        return FALSE;
    table->code_factor = take_unsigned(&cursor);
    table->data_factor = take_signed(&cursor);
    table->return_register = version == 1 ? take_fixed(&cursor, 1) : take_unsigned(&cursor);
    take_augmentation(table, letters, &cursor);
    table->cie_program = cursor.at;
    return !cursor.bad && table->return_register < REGISTERS_DWARF;
}

/* PC must be in the function of the FDE at ADDRESS. */
static gboolean
read_table(const Unwind *unwind, guint64 address, guint64 pc, Table *table)
{
    guint32 back;
    if (!read_entry(unwind, address, &table->fde))
        return FALSE;
    memcpy(&back, table->fde.bytes, sizeof(back));
    if (back == 0 || !read_entry(unwind, table->fde.address - back, &table->cie) || !parse_cie(table))
        return FALSE;
    Cursor cursor = {.entry = &table->fde, .at = sizeof(back), .end = table->fde.length};
    table->start = take_pointer(&cursor, table->encoding);
    guint64 size = take_pointer(&cursor, table->encoding & 0x0f);
    if (table->augmented) {
        guint64 length = take_unsigned(&cursor);
        cursor.bad |= length > cursor.end - cursor.at;
        cursor.at += cursor.bad ? 0 : length;
    }
    table->fde_program = cursor.at;
    return !cursor.bad && pc - table->start < size;
}

/* The address of the .eh_frame_hdr for code at PC; 0: none. */
static guint64
find_header(const Unwind *unwind, guint64 pc)
{
    Elf64_Ehdr header;
    Elf64_Phdr segments[HEADERS_MAX];
    const Mapping *mapping = address_space_find(unwind->space, pc);
    const Mapping *first =
        mapping != NULL && (mapping->flags & MAPPING_EXECUTE) != 0 ? address_space_first(unwind->space, mapping) : NULL;
    if (first == NULL || !unwind->read(unwind->data, first->start, &header, sizeof(header)) ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_phentsize != sizeof(*segments) || header.e_phnum > HEADERS_MAX ||
        !unwind->read(unwind->data, first->start + header.e_phoff, segments, header.e_phnum * sizeof(*segments)))
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

/* By the sorted table in .eh_frame_hdr. */
static gboolean
find_table(const Unwind *unwind, guint64 pc, Table *table)
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
    const guint64 address = find_header(unwind, pc);
    if (address == 0 || !unwind->read(unwind->data, address, &header, sizeof(header)) ||
        header.version != HDR_VERSION || header.encoded_count != ENCODED_COUNT ||
        header.encoded_table != ENCODED_TABLE || (header.encoded_pointer & 0x0f) != DW_EH_PE_sdata4)
        return FALSE;
    guint64 low = 0;
    guint64 high = header.count;
    for (guint i = 0; i < SEARCH_MAX && low < high; i++) {
        guint64 middle = low + (high - low) / 2;
        if (!unwind->read(unwind->data, address + sizeof(header) + middle * sizeof(pair), pair, sizeof(pair)))
            return FALSE;
        if ((gint64)pair[0] <= (gint64)(pc - address))
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && low == high &&
           unwind->read(unwind->data, address + sizeof(header) + (low - 1) * sizeof(pair), pair, sizeof(pair)) &&
           read_table(unwind, address + (guint64)(gint64)pair[1], pc, table);
}

/* The instructions of one CIE or FDE, up to the row for PC. */
typedef struct {
    const Table *table;
    Cursor cursor;
    Row *row;
    const Row *initial; /* the state for DW_CFA_restore; NULL: in the CIE itself */
    Row saved[SAVED_MAX];
    guint n_saved;
    guint64 location;
} Program;

static Rule *
rule_of(Program *program, guint64 number)
{
    if (number < REGISTERS_DWARF)
        return &program->row->rules[number];
    program->cursor.bad = TRUE; /* vector registers are in no call's way */
    return &program->row->rules[0];
}

static void
set_rule(Program *program, guint64 number, RuleKind kind, gint64 value)
{
    *rule_of(program, number) = (Rule){.kind = kind, .number = value};
}

static Rule
take_expression(Program *program, RuleKind kind)
{
    Cursor *cursor = &program->cursor;
    guint64 length = take_unsigned(cursor);
    if (cursor->bad || length > cursor->end - cursor->at) {
        cursor->bad = TRUE;
        return (Rule){0};
    }
    Rule rule = {.kind = kind, .expression = cursor->entry->bytes + cursor->at, .length = length};
    cursor->at += length;
    return rule;
}

static void
restore(Program *program, guint64 number)
{
    Rule *rule = rule_of(program, number);
    if (program->initial == NULL)
        program->cursor.bad = TRUE;
    else if (!program->cursor.bad)
        *rule = program->initial->rules[number];
}

static void
define_cfa(Program *program, guint64 number, gint64 offset)
{
    program->cursor.bad |= number >= REGISTERS_DWARF;
    program->row->cfa = (Rule){.kind = RULE_REGISTER, .number = (gint64)number};
    program->row->offset = offset;
}

/* Modulo 2^64, as addresses are: values in a table may be larger. */
static gint64
factored(const Program *program, guint64 number)
{
    return (gint64)(number * (guint64)program->table->data_factor);
}

static gint64
take_factored(Program *program)
{
    return factored(program, take_unsigned(&program->cursor));
}

static gint64
take_factored_signed(Program *program)
{
    return factored(program, (guint64)take_signed(&program->cursor));
}

static void
remember(Program *program)
{
    if (program->n_saved == SAVED_MAX)
        program->cursor.bad = TRUE;
    else
        program->saved[program->n_saved++] = *program->row;
}

static void
recall(Program *program)
{
    if (program->n_saved == 0)
        program->cursor.bad = TRUE;
    else
        *program->row = program->saved[--program->n_saved];
}

/* Of those without an operand in the opcode. */
static void
run_extended(Program *program, guint8 opcode)
{
    Cursor *cursor = &program->cursor;
    guint64 number;
    switch (opcode) {
    case DW_CFA_nop:
        return;
    case DW_CFA_set_loc:
        program->location = take_pointer(cursor, program->table->encoding);
        return;
    case DW_CFA_advance_loc1:
    case DW_CFA_advance_loc2:
    case DW_CFA_advance_loc4:
        program->location += take_fixed(cursor, 1u << (opcode - DW_CFA_advance_loc1)) * program->table->code_factor;
        return;
    case DW_CFA_offset_extended:
        number = take_unsigned(cursor);
        set_rule(program, number, RULE_AT, take_factored(program));
        return;
    case DW_CFA_offset_extended_sf:
        number = take_unsigned(cursor);
        set_rule(program, number, RULE_AT, take_factored_signed(program));
        return;
    case DW_CFA_val_offset:
        number = take_unsigned(cursor);
        set_rule(program, number, RULE_VALUE, take_factored(program));
        return;
    case DW_CFA_val_offset_sf:
        number = take_unsigned(cursor);
        set_rule(program, number, RULE_VALUE, take_factored_signed(program));
        return;
    case DW_CFA_restore_extended:
        restore(program, take_unsigned(cursor));
        return;
    case DW_CFA_undefined:
        set_rule(program, take_unsigned(cursor), RULE_UNDEFINED, 0);
        return;
    case DW_CFA_same_value:
        set_rule(program, take_unsigned(cursor), RULE_SAME, 0);
        return;
    case DW_CFA_register:
        number = take_unsigned(cursor);
        set_rule(program, number, RULE_REGISTER, (gint64)take_unsigned(cursor));
        return;
    case DW_CFA_remember_state:
        remember(program);
        return;
    case DW_CFA_restore_state:
        recall(program);
        return;
    case DW_CFA_def_cfa:
        number = take_unsigned(cursor);
        define_cfa(program, number, (gint64)take_unsigned(cursor));
        return;
    case DW_CFA_def_cfa_sf:
        number = take_unsigned(cursor);
        define_cfa(program, number, take_factored_signed(program));
        return;
    case DW_CFA_def_cfa_register:
        cursor->bad |= program->row->cfa.kind != RULE_REGISTER;
        define_cfa(program, take_unsigned(cursor), program->row->offset);
        return;
    case DW_CFA_def_cfa_offset:
        program->row->offset = (gint64)take_unsigned(cursor);
        return;
    case DW_CFA_def_cfa_offset_sf:
        program->row->offset = take_factored_signed(program);
        return;
    case DW_CFA_def_cfa_expression:
        program->row->cfa = take_expression(program, RULE_VALUE_EXPRESSION);
        return;
    case DW_CFA_expression:
    case DW_CFA_val_expression:
        number = take_unsigned(cursor);
        *rule_of(program, number) =
            take_expression(program, opcode == DW_CFA_expression ? RULE_AT_EXPRESSION : RULE_VALUE_EXPRESSION);
        return;
    case DW_CFA_GNU_args_size:
        take_unsigned(cursor);
        return;
    default: /* DW_CFA_AARCH64_negate_ra_state among them: signed return addresses are not followed */
        cursor->bad = TRUE;
    }
}

static void
run_instruction(Program *program)
{
    guint8 opcode = (guint8)take_fixed(&program->cursor, 1);
    guint8 operand = opcode & 0x3f;
    switch (opcode & 0xc0) {
    case DW_CFA_advance_loc:
        program->location += operand * program->table->code_factor;
        return;
    case DW_CFA_offset:
        set_rule(program, operand, RULE_AT, take_factored(program));
        return;
    case DW_CFA_restore:
        restore(program, operand);
        return;
    default:
        run_extended(program, opcode);
    }
}

/* From BEGIN to the end of ENTRY, or to where the row for PC is complete. */
static gboolean
run_program(Program *program, const Entry *entry, gsize begin, guint64 pc)
{
    program->cursor = (Cursor){.entry = entry, .at = begin, .end = entry->length};
    while (program->cursor.at < program->cursor.end && !program->cursor.bad) {
        Row before = *program->row;
        run_instruction(program);
        if (program->location > pc) {
            *program->row = before;
            return TRUE;
        }
    }
    return !program->cursor.bad;
}

static gboolean
find_row(const Table *table, guint64 pc, Row *row)
{
    Row initial;
    g_autofree Program *program = g_new0(Program, 1);
    *program = (Program){.table = table, .row = row, .location = table->start};
    *row = (Row){0};
    if (!run_program(program, &table->cie, table->cie_program, G_MAXUINT64))
        return FALSE;
    initial = *row;
    program->initial = &initial;
    return run_program(program, &table->fde, table->fde_program, pc);
}

/* The stack machine of DWARF 5 section 2.5, as far as unwind tables use it. */
typedef struct {
    const Unwind *unwind;
    guint64 operands[OPERANDS_MAX];
    guint n;
    Cursor cursor;
} Machine;

static void
push(Machine *machine, guint64 value)
{
    if (machine->n < OPERANDS_MAX)
        machine->operands[machine->n++] = value;
    else
        machine->cursor.bad = TRUE;
}

static guint64
pop(Machine *machine)
{
    if (machine->n > 0)
        return machine->operands[--machine->n];
    machine->cursor.bad = TRUE;
    return 0;
}

static void
dereference(Machine *machine)
{
    guint64 value = 0;
    if (!machine->unwind->read(machine->unwind->data, pop(machine), &value, sizeof(value)))
        machine->cursor.bad = TRUE;
    push(machine, value);
}

static guint64
combine(Machine *machine, guint8 opcode, guint64 a, guint64 b)
{
    switch (opcode) {
    case DW_OP_plus:
        return a + b;
    case DW_OP_minus:
        return a - b;
    case DW_OP_and:
        return a & b;
    case DW_OP_or:
        return a | b;
    case DW_OP_xor:
        return a ^ b;
    case DW_OP_mul:
        return a * b;
    case DW_OP_shl:
        return b < 64 ? a << b : 0;
    case DW_OP_shr:
        return b < 64 ? a >> b : 0;
    case DW_OP_eq:
        return a == b;
    case DW_OP_ne:
        return a != b;
    case DW_OP_ge:
        return (gint64)a >= (gint64)b;
    case DW_OP_gt:
        return (gint64)a > (gint64)b;
    case DW_OP_le:
        return (gint64)a <= (gint64)b;
    case DW_OP_lt:
        return (gint64)a < (gint64)b;
    default:
        machine->cursor.bad = TRUE;
        return 0;
    }
}

static void
push_register(Machine *machine, guint64 number)
{
    gint64 offset = take_signed(&machine->cursor);
    if (number < REGISTERS_DWARF)
        push(machine, machine->unwind->values[number] + (guint64)offset);
    else
        machine->cursor.bad = TRUE;
}

static void
run_operation(Machine *machine)
{
    Cursor *cursor = &machine->cursor;
    guint8 opcode = (guint8)take_fixed(cursor, 1);
    if (opcode >= DW_OP_lit0 && opcode <= DW_OP_lit31) {
        push(machine, opcode - (guint64)DW_OP_lit0);
    } else if (opcode >= DW_OP_breg0 && opcode <= DW_OP_breg31) {
        push_register(machine, opcode - (guint64)DW_OP_breg0);
    } else if (opcode >= DW_OP_const1u && opcode <= DW_OP_const8s) {
        gsize size = (gsize)1 << (opcode - DW_OP_const1u) / 2;
        guint64 value = take_fixed(cursor, size);
        push(machine, (opcode - DW_OP_const1u) % 2 == 0 ? value : (guint64)sign_extended(value, size));
    } else if (opcode == DW_OP_constu) {
        push(machine, take_unsigned(cursor));
    } else if (opcode == DW_OP_consts) {
        push(machine, (guint64)take_signed(cursor));
    } else if (opcode == DW_OP_plus_uconst) {
        push(machine, pop(machine) + take_unsigned(cursor));
    } else if (opcode == DW_OP_deref) {
        dereference(machine);
    } else if (opcode == DW_OP_dup) {
        guint64 value = pop(machine);
        push(machine, value);
        push(machine, value);
    } else if (opcode != DW_OP_nop) {
        guint64 b = pop(machine);
        push(machine, combine(machine, opcode, pop(machine), b));
    }
}

/* *VALUE: the result of RULE's expression, with CFA on the initial stack if known. */
static gboolean
evaluate(const Unwind *unwind, const Rule *rule, const guint64 *cfa, guint64 *value)
{
    Entry entry = {.length = rule->length};
    if (rule->length > sizeof(entry.bytes))
        return FALSE;
    memcpy(entry.bytes, rule->expression, rule->length);
    Machine machine = {.unwind = unwind, .cursor = {.entry = &entry, .end = rule->length}};
    if (cfa != NULL)
        push(&machine, *cfa);
    while (machine.cursor.at < machine.cursor.end && !machine.cursor.bad)
        run_operation(&machine);
    *value = pop(&machine);
    return !machine.cursor.bad;
}

static gboolean
find_cfa(const Unwind *unwind, const Row *row, guint64 *cfa)
{
    if (row->cfa.kind == RULE_VALUE_EXPRESSION)
        return evaluate(unwind, &row->cfa, NULL, cfa);
    if (row->cfa.kind != RULE_REGISTER)
        return FALSE;
    *cfa = unwind->values[row->cfa.number] + (guint64)row->offset;
    return TRUE;
}

static gboolean
find_value(const Unwind *unwind, const Rule *rule, guint64 number, guint64 cfa, guint64 *value)
{
    guint64 address = cfa + (guint64)rule->number;
    switch (rule->kind) {
    case RULE_SAME:
        *value = unwind->values[number];
        return TRUE;
    case RULE_UNDEFINED:
        *value = 0;
        return TRUE;
    case RULE_VALUE:
        *value = address;
        return TRUE;
    case RULE_REGISTER:
        *value = rule->number < REGISTERS_DWARF ? unwind->values[rule->number] : 0;
        return rule->number < REGISTERS_DWARF;
    case RULE_VALUE_EXPRESSION:
        return evaluate(unwind, rule, &cfa, value);
    case RULE_AT_EXPRESSION:
        if (!evaluate(unwind, rule, &cfa, &address))
            return FALSE;
        break;
    case RULE_AT:
        break;
    }
    return unwind->read(unwind->data, address, value, sizeof(*value));
}

void
unwind_begin(Unwind *unwind, const GeneralRegisters *general)
{
    registers_dwarf(general, unwind->values);
    unwind->pc = registers_pc(general);
    unwind->sp = registers_sp(general);
    unwind->interrupted = TRUE;
}

/* The caller's registers. */
static gboolean
apply(Unwind *unwind, const Table *table, const Row *row, guint64 cfa)
{
    guint64 values[REGISTERS_DWARF];
    for (guint64 i = 0; i < REGISTERS_DWARF; i++)
        if (!find_value(unwind, &row->rules[i], i, cfa, &values[i]))
            return FALSE;
    unwind->pc = values[table->return_register];
    unwind->sp = row->rules[REGISTERS_DWARF_SP].kind == RULE_SAME ? cfa : values[REGISTERS_DWARF_SP];
    memcpy(unwind->values, values, sizeof(values));
    unwind->values[REGISTERS_DWARF_SP] = unwind->sp;
    unwind->interrupted = table->signal_frame;
    return TRUE;
}

UnwindStep
unwind_step(Unwind *unwind, guint64 limit, gboolean *signal_frame)
{
    g_autofree Table *table = g_new0(Table, 1);
    g_autofree Row *row = g_new0(Row, 1);
    guint64 cfa;
    /* A call that does not return may be a function's last instruction. */
    guint64 pc = unwind->pc - (unwind->interrupted ? 0 : 1);
    const guint64 before = unwind->sp;
    if (!find_table(unwind, pc, table) || !find_row(table, pc, row))
        return UNWIND_UNKNOWN;
    *signal_frame = table->signal_frame;
    const Rule *back = &row->rules[table->return_register];
    if (back->kind == RULE_UNDEFINED)
        return UNWIND_END;
    /* Only the innermost function may have its return address in a register still. */
    gboolean leaf = back->kind == RULE_SAME;
    if ((leaf && !unwind->interrupted) || !find_cfa(unwind, row, &cfa) || cfa > limit ||
        !apply(unwind, table, row, cfa))
        return UNWIND_UNKNOWN;
    return unwind->sp > before - (leaf ? 1 : 0) && unwind->sp <= limit ? UNWIND_FRAME : UNWIND_UNKNOWN;
}
