/* SPDX-License-Identifier: Apache-2.0 */
#include "target/cfi-expression.h"

#include <string.h>

/* Operations of expressions (DWARF 5 section 7.7.1). */
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
    OPERANDS_MAX = 32,
};

typedef struct {
    const CfiContext *context;
    guint64 operands[OPERANDS_MAX];
    guint n;
    CfiCursor cursor;
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
    if (!machine->context->memory->read(machine->context->memory->data, pop(machine), &value, sizeof(value)))
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
    gint64 offset = cfi_take_signed(&machine->cursor);
    if (number < REGISTERS_DWARF)
        push(machine, machine->context->registers[number] + (guint64)offset);
    else
        machine->cursor.bad = TRUE;
}

static void
run_operation(Machine *machine)
{
    CfiCursor *cursor = &machine->cursor;
    guint8 opcode = cfi_take_opcode(cursor);
    if (cursor->bad)
        return;
    if (opcode >= DW_OP_lit0 && opcode <= DW_OP_lit31) {
        push(machine, opcode - (guint64)DW_OP_lit0);
    } else if (opcode >= DW_OP_breg0 && opcode <= DW_OP_breg31) {
        push_register(machine, opcode - (guint64)DW_OP_breg0);
    } else if (opcode >= DW_OP_const1u && opcode <= DW_OP_const8s) {
        gsize size = (gsize)1 << (opcode - DW_OP_const1u) / 2;
        guint64 value = cfi_take_fixed(cursor, size);
        push(machine, (opcode - DW_OP_const1u) % 2 == 0 ? value : (guint64)cfi_sign_extend(value, size));
    } else if (opcode == DW_OP_constu) {
        push(machine, cfi_take_unsigned(cursor));
    } else if (opcode == DW_OP_consts) {
        push(machine, (guint64)cfi_take_signed(cursor));
    } else if (opcode == DW_OP_plus_uconst) {
        push(machine, pop(machine) + cfi_take_unsigned(cursor));
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

gboolean
cfi_evaluate(const CfiContext *context, const CfiRule *rule, guint64 *value)
{
    CfiEntry entry = {.length = rule->length};
    if (rule->length > sizeof(entry.bytes))
        return FALSE;
    memcpy(entry.bytes, rule->expression, rule->length);
    Machine machine = {.context = context, .cursor = {.entry = &entry, .work = context->work, .end = rule->length}};
    if (context->cfa != NULL)
        push(&machine, *context->cfa);
    while (machine.cursor.at < machine.cursor.end && !machine.cursor.bad)
        run_operation(&machine);
    *value = pop(&machine);
    return !machine.cursor.bad;
}
