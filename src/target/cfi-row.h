/* SPDX-License-Identifier: Apache-2.0 */
/* One row of an unwind table: the locations of the caller's registers at an instruction of the function (DWARF 5,
 * section 6.4.1). */
#ifndef JESCOPE_TARGET_CFI_ROW_H
#define JESCOPE_TARGET_CFI_ROW_H

#include "target/cfi-table.h"
#include "target/registers.h"

typedef enum {
    CFI_RULE_SAME, /* no rule: the caller has the same value */
    CFI_RULE_UNDEFINED,
    CFI_RULE_AT,       /* at CFA + number */
    CFI_RULE_VALUE,    /* CFA + number itself */
    CFI_RULE_REGISTER, /* in register NUMBER */
    CFI_RULE_AT_EXPRESSION,
    CFI_RULE_VALUE_EXPRESSION,
} CfiRuleKind;

/* The location of one of the caller's registers. */
typedef struct {
    CfiRuleKind kind;
    gint64 number;
    const guint8 *expression;
    gsize length;
} CfiRule;

typedef struct {
    CfiRule cfa; /* CFI_RULE_REGISTER with OFFSET, or CFI_RULE_VALUE_EXPRESSION */
    gint64 offset;
    CfiRule rules[REGISTERS_DWARF];
} CfiRow;

/* Sets *ROW by running the instructions of TABLE up to PC. The expressions of the rules point into TABLE. WORK: as in
 * CfiCursor. FALSE if an instruction is unknown or invalid, or no work is left. */
gboolean cfi_row_find(const CfiTable *table, guint64 pc, guint *work, CfiRow *row);

#endif
