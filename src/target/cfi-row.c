/* SPDX-License-Identifier: Apache-2.0 */
#include "target/cfi-row.h"

/* Instructions of unwind tables (DWARF 5 section 7.24). */
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

enum {
    SAVED_MAX = 8, /* nested DW_CFA_remember_state */
};

/* The execution of the instructions of a CIE or FDE up to the row for PC. */
typedef struct {
    const CfiTable *table;
    guint *work;
    CfiCursor cursor;
    CfiRow *row;
    const CfiRow *initial; /* the state for DW_CFA_restore; NULL: in the CIE itself */
    CfiRow saved[SAVED_MAX];
    guint n_saved;
    guint64 location;
} Program;

static CfiRule *
rule_of(Program *program, guint64 number)
{
    if (number < REGISTERS_DWARF)
        return &program->row->rules[number];
    program->cursor.bad = TRUE; /* vector registers are not needed to unwind */
    return &program->row->rules[0];
}

static void
set_rule(Program *program, guint64 number, CfiRuleKind kind, gint64 value)
{
    *rule_of(program, number) = (CfiRule){.kind = kind, .number = value};
}

static CfiRule
take_expression(Program *program, CfiRuleKind kind)
{
    CfiCursor *cursor = &program->cursor;
    guint64 length = cfi_take_unsigned(cursor);
    if (cursor->bad || length > cursor->end - cursor->at) {
        cursor->bad = TRUE;
        return (CfiRule){0};
    }
    CfiRule rule = {.kind = kind, .expression = cursor->entry->bytes + cursor->at, .length = length};
    cursor->at += length;
    return rule;
}

static void
restore(Program *program, guint64 number)
{
    CfiRule *rule = rule_of(program, number);
    if (program->initial == NULL)
        program->cursor.bad = TRUE;
    else if (!program->cursor.bad)
        *rule = program->initial->rules[number];
}

static void
define_cfa(Program *program, guint64 number, gint64 offset)
{
    program->cursor.bad |= number >= REGISTERS_DWARF;
    program->row->cfa = (CfiRule){.kind = CFI_RULE_REGISTER, .number = (gint64)number};
    program->row->offset = offset;
}

/* Computes modulo 2^64, like addresses, since values in a table may be larger. */
static gint64
factored(const Program *program, guint64 number)
{
    return (gint64)(number * (guint64)program->table->data_factor);
}

static gint64
take_factored(Program *program)
{
    return factored(program, cfi_take_unsigned(&program->cursor));
}

static gint64
take_factored_signed(Program *program)
{
    return factored(program, (guint64)cfi_take_signed(&program->cursor));
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

/* Runs an instruction without an operand in its opcode. */
static void
run_extended(Program *program, guint8 opcode)
{
    CfiCursor *cursor = &program->cursor;
    guint64 number;
    switch (opcode) {
    case DW_CFA_nop:
        return;
    case DW_CFA_set_loc:
        program->location = cfi_take_pointer(cursor, program->table->encoding);
        return;
    case DW_CFA_advance_loc1:
    case DW_CFA_advance_loc2:
    case DW_CFA_advance_loc4:
        program->location += cfi_take_fixed(cursor, 1u << (opcode - DW_CFA_advance_loc1)) * program->table->code_factor;
        return;
    case DW_CFA_offset_extended:
        number = cfi_take_unsigned(cursor);
        set_rule(program, number, CFI_RULE_AT, take_factored(program));
        return;
    case DW_CFA_offset_extended_sf:
        number = cfi_take_unsigned(cursor);
        set_rule(program, number, CFI_RULE_AT, take_factored_signed(program));
        return;
    case DW_CFA_val_offset:
        number = cfi_take_unsigned(cursor);
        set_rule(program, number, CFI_RULE_VALUE, take_factored(program));
        return;
    case DW_CFA_val_offset_sf:
        number = cfi_take_unsigned(cursor);
        set_rule(program, number, CFI_RULE_VALUE, take_factored_signed(program));
        return;
    case DW_CFA_restore_extended:
        restore(program, cfi_take_unsigned(cursor));
        return;
    case DW_CFA_undefined:
        set_rule(program, cfi_take_unsigned(cursor), CFI_RULE_UNDEFINED, 0);
        return;
    case DW_CFA_same_value:
        set_rule(program, cfi_take_unsigned(cursor), CFI_RULE_SAME, 0);
        return;
    case DW_CFA_register:
        number = cfi_take_unsigned(cursor);
        set_rule(program, number, CFI_RULE_REGISTER, (gint64)cfi_take_unsigned(cursor));
        return;
    case DW_CFA_remember_state:
        remember(program);
        return;
    case DW_CFA_restore_state:
        recall(program);
        return;
    case DW_CFA_def_cfa:
        number = cfi_take_unsigned(cursor);
        define_cfa(program, number, (gint64)cfi_take_unsigned(cursor));
        return;
    case DW_CFA_def_cfa_sf:
        number = cfi_take_unsigned(cursor);
        define_cfa(program, number, take_factored_signed(program));
        return;
    case DW_CFA_def_cfa_register:
        cursor->bad |= program->row->cfa.kind != CFI_RULE_REGISTER;
        define_cfa(program, cfi_take_unsigned(cursor), program->row->offset);
        return;
    case DW_CFA_def_cfa_offset:
        program->row->offset = (gint64)cfi_take_unsigned(cursor);
        return;
    case DW_CFA_def_cfa_offset_sf:
        program->row->offset = take_factored_signed(program);
        return;
    case DW_CFA_def_cfa_expression:
        program->row->cfa = take_expression(program, CFI_RULE_VALUE_EXPRESSION);
        return;
    case DW_CFA_expression:
    case DW_CFA_val_expression:
        number = cfi_take_unsigned(cursor);
        *rule_of(program, number) =
            take_expression(program, opcode == DW_CFA_expression ? CFI_RULE_AT_EXPRESSION : CFI_RULE_VALUE_EXPRESSION);
        return;
    case DW_CFA_GNU_args_size:
        cfi_take_unsigned(cursor);
        return;
    default: /* including DW_CFA_AARCH64_negate_ra_state: signed return addresses are not supported */
        cursor->bad = TRUE;
    }
}

static void
run_instruction(Program *program)
{
    guint8 opcode = cfi_take_opcode(&program->cursor);
    guint8 operand = opcode & 0x3f;
    switch (opcode & 0xc0) {
    case DW_CFA_advance_loc:
        program->location += operand * program->table->code_factor;
        return;
    case DW_CFA_offset:
        set_rule(program, operand, CFI_RULE_AT, take_factored(program));
        return;
    case DW_CFA_restore:
        restore(program, operand);
        return;
    default:
        run_extended(program, opcode);
    }
}

/* Runs from BEGIN to the end of ENTRY, or until the row for PC is complete. */
static gboolean
run_program(Program *program, const CfiEntry *entry, gsize begin, guint64 pc)
{
    program->cursor = (CfiCursor){.entry = entry, .work = program->work, .at = begin, .end = entry->length};
    while (program->cursor.at < program->cursor.end && !program->cursor.bad) {
        CfiRow before = *program->row;
        run_instruction(program);
        if (program->location > pc) {
            *program->row = before;
            return TRUE;
        }
    }
    return !program->cursor.bad;
}

gboolean
cfi_row_find(const CfiTable *table, guint64 pc, guint *work, CfiRow *row)
{
    CfiRow initial;
    g_autofree Program *program = g_new0(Program, 1);
    *program = (Program){.table = table, .work = work, .row = row, .location = table->start};
    *row = (CfiRow){0};
    if (!run_program(program, &table->cie, table->cie_program, G_MAXUINT64))
        return FALSE;
    initial = *row;
    program->initial = &initial;
    return run_program(program, &table->fde, table->fde_program, pc);
}
