/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a stopped thread may call jemalloc (docs/attach.md has the argument). */
#ifndef JESCOPE_TARGET_SAFE_POINT_H
#define JESCOPE_TARGET_SAFE_POINT_H

#include "target/address-space.h"
#include "target/c-library.h"
#include "target/registers.h"

typedef struct _SafePoints SafePoints;

typedef enum {
    SAFE_POINT_HERE,
    SAFE_POINT_NONE,
} SafePointVerdict;

/* SPACE must outlive it. */
SafePoints *safe_points_new(const AddressSpace *space, const RemoteCode *code, const CLibrary *library);
void safe_points_free(SafePoints *points);

/* No stack may hold an address from START to END, which are jemalloc's, but that of a thread that waits in a system
 * call which jemalloc never makes. */
void safe_points_avoid(SafePoints *points, guint64 start, guint64 end);

/* As tracee_require_foreign_wait(). */
void safe_points_require_foreign_wait(SafePoints *points);

/* *TOP: the first address on its stack, going down, that nobody uses. */
SafePointVerdict safe_points_judge(SafePoints *points, pid_t thread, const Registers *registers, guint64 *top);

#endif
