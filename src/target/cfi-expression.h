/* SPDX-License-Identifier: Apache-2.0 */
/* The expressions of unwind tables: the stack machine of DWARF 5 section 2.5, as far as they use it. */
#ifndef JESCOPE_TARGET_CFI_EXPRESSION_H
#define JESCOPE_TARGET_CFI_EXPRESSION_H

#include "target/cfi-row.h"

/* What an expression works on. */
typedef struct {
    const CfiMemory *memory;
    const guint64 *registers; /* REGISTERS_DWARF values, by their DWARF numbers */
    const guint64 *cfa;       /* on the stack at the beginning; NULL: unknown */
} CfiContext;

/* *VALUE: the result of RULE's expression. FALSE: it is not understood, or it reads memory that cannot be read. */
gboolean cfi_evaluate(const CfiContext *context, const CfiRule *rule, guint64 *value);

#endif
