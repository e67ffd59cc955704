/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluates the expressions of unwind tables: the stack machine of DWARF 5 section 2.5, as far as compilers use it. */
#ifndef JESCOPE_TARGET_CFI_EXPRESSION_H
#define JESCOPE_TARGET_CFI_EXPRESSION_H

#include "target/cfi-row.h"

/* The inputs of an expression. */
typedef struct {
    const CfiMemory *memory;
    const guint64 *registers; /* REGISTERS_DWARF values, by their DWARF numbers */
    const guint64 *cfa;       /* initially on the stack; NULL: unknown */
    guint *work;              /* as in CfiCursor */
} CfiContext;

/* Sets *VALUE to the result of RULE's expression. FALSE if it is not supported, reads inaccessible memory, or no work
 * is left. */
gboolean cfi_evaluate(const CfiContext *context, const CfiRule *rule, guint64 *value);

#endif
