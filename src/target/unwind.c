/* SPDX-License-Identifier: Apache-2.0 */
#include "target/unwind.h"

#include <string.h>

#include "target/cfi-expression.h"

static gboolean
find_cfa(const CfiContext *context, const CfiRow *row, guint64 *cfa)
{
    if (row->cfa.kind == CFI_RULE_VALUE_EXPRESSION)
        return cfi_evaluate(context, &row->cfa, cfa);
    if (row->cfa.kind != CFI_RULE_REGISTER)
        return FALSE;
    *cfa = context->registers[row->cfa.number] + (guint64)row->offset;
    return TRUE;
}

static gboolean
find_value(const CfiContext *context, const CfiRule *rule, guint64 number, guint64 *value)
{
    guint64 address = *context->cfa + (guint64)rule->number;
    switch (rule->kind) {
    case CFI_RULE_SAME:
        *value = context->registers[number];
        return TRUE;
    case CFI_RULE_UNDEFINED:
        *value = 0;
        return TRUE;
    case CFI_RULE_VALUE:
        *value = address;
        return TRUE;
    case CFI_RULE_REGISTER:
        *value = rule->number < REGISTERS_DWARF ? context->registers[rule->number] : 0;
        return rule->number < REGISTERS_DWARF;
    case CFI_RULE_VALUE_EXPRESSION:
        return cfi_evaluate(context, rule, value);
    case CFI_RULE_AT_EXPRESSION:
        if (!cfi_evaluate(context, rule, &address))
            return FALSE;
        break;
    case CFI_RULE_AT:
        break;
    }
    return context->memory->read(context->memory->data, address, value, sizeof(*value));
}

void
unwind_begin(Unwind *unwind, const GeneralRegisters *general)
{
    registers_dwarf(general, unwind->values);
    unwind->pc = registers_pc(general);
    unwind->sp = registers_sp(general);
    unwind->interrupted = TRUE;
    unwind->work = CFI_WORK_MAX;
}

void
unwind_begin_at(Unwind *unwind, guint64 pc, guint64 sp)
{
    memset(unwind->values, 0, sizeof(unwind->values));
    unwind->values[REGISTERS_DWARF_SP] = sp;
    unwind->pc = pc;
    unwind->sp = sp;
    unwind->interrupted = TRUE;
    unwind->work = CFI_WORK_MAX;
}

/* Sets UNWIND's registers to the caller's. */
static gboolean
apply(Unwind *unwind, const CfiTable *table, const CfiRow *row, guint64 cfa)
{
    const CfiContext context = {
        .memory = &unwind->memory, .registers = unwind->values, .cfa = &cfa, .work = &unwind->work};
    guint64 values[REGISTERS_DWARF];
    for (guint64 i = 0; i < REGISTERS_DWARF; i++)
        if (!find_value(&context, &row->rules[i], i, &values[i]))
            return FALSE;
    unwind->pc = values[table->return_register];
    unwind->sp = row->rules[REGISTERS_DWARF_SP].kind == CFI_RULE_SAME ? cfa : values[REGISTERS_DWARF_SP];
    memcpy(unwind->values, values, sizeof(values));
    unwind->values[REGISTERS_DWARF_SP] = unwind->sp;
    unwind->interrupted = table->signal_frame;
    return TRUE;
}

UnwindStep
unwind_step(Unwind *unwind, guint64 limit, gboolean *signal_frame)
{
    g_autofree CfiTable *table = g_new0(CfiTable, 1);
    g_autofree CfiRow *row = g_new0(CfiRow, 1);
    const CfiContext context = {.memory = &unwind->memory, .registers = unwind->values, .work = &unwind->work};
    guint64 cfa;
    /* A call that does not return may be a function's last instruction, so the return address may be outside. */
    guint64 pc = unwind->pc - (unwind->interrupted ? 0 : 1);
    const guint64 before = unwind->sp;
    if (!cfi_table_find(&unwind->memory, pc, table) || !cfi_row_find(table, pc, &unwind->work, row))
        return UNWIND_UNKNOWN;
    *signal_frame = table->signal_frame;
    const CfiRule *back = &row->rules[table->return_register];
    if (back->kind == CFI_RULE_UNDEFINED)
        return UNWIND_END;
    /* Only the innermost function may still have its return address in a register. */
    gboolean leaf = back->kind == CFI_RULE_SAME;
    if ((leaf && !unwind->interrupted) || !find_cfa(&context, row, &cfa) || cfa > limit ||
        !apply(unwind, table, row, cfa))
        return UNWIND_UNKNOWN;
    return unwind->sp > before - (leaf ? 1 : 0) && unwind->sp <= limit ? UNWIND_FRAME : UNWIND_UNKNOWN;
}

gboolean
unwind_leave_handler(Unwind *unwind)
{
    g_autofree CfiTable *table = g_new0(CfiTable, 1);
    g_autofree CfiRow *row = g_new0(CfiRow, 1);
    const CfiContext context = {.memory = &unwind->memory, .registers = unwind->values, .work = &unwind->work};
    guint64 cfa;
    return cfi_table_find(&unwind->memory, unwind->pc, table) && table->signal_frame &&
           cfi_row_find(table, unwind->pc, &unwind->work, row) && find_cfa(&context, row, &cfa) &&
           apply(unwind, table, row, cfa);
}
