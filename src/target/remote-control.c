/* SPDX-License-Identifier: Apache-2.0 */
#include "target/remote-control.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

/* Memory for mallctl()'s arguments. */
typedef struct {
    char name[WIRE_CONTROL_NAME_MAX];
    guint64 old;
    guint64 old_size;
    guint64 new_value;
} Block;

_Static_assert(sizeof(Block) <= REMOTE_CONTROL_FREE, "the block lies before what is free");

/* Targets are little-endian, so every number is at the beginning of a 64-bit one. */
static const gsize sizes[] = {
    [WIRE_TYPE_NONE] = 0,  [WIRE_TYPE_BOOL] = 1, [WIRE_TYPE_UNSIGNED] = 4, [WIRE_TYPE_SIZE] = 8,
    [WIRE_TYPE_SSIZE] = 8, [WIRE_TYPE_U64] = 8,  [WIRE_TYPE_STRING] = 8,
};

static gboolean
call(Tracee *tracee, const RemoteJemalloc *jemalloc, Block *block, const guint64 *arguments, GError **error)
{
    guint64 address = tracee_scratch(tracee);
    guint64 result;
    if (!tracee_write(tracee, address, block, sizeof(*block), error) ||
        !tracee_call(tracee, jemalloc->mallctl, arguments, 5, &result, error) ||
        !tracee_read(tracee, address, block, sizeof(*block), error))
        return FALSE;
    errno = (int)(gint32)result;
    return TRUE;
}

void
remote_control_guard(Tracee *tracee, const RemoteJemalloc *jemalloc)
{
    const GArray *ranges = jemalloc->ranges;
    if (ranges == NULL)
        tracee_require_foreign_wait(tracee);
    for (guint i = 0; ranges != NULL && i < ranges->len; i++) {
        const FunctionRange *range = &g_array_index(ranges, FunctionRange, i);
        tracee_avoid(tracee, range->start, range->end);
    }
}

/* Whether the use of CONTROL may come to a cancellation point: writing may, as background_thread joins a thread.
 * Numbers are only read and refreshed. */
static gboolean
may_be_cancelled(const RemoteControl *control)
{
    return (control->access & REMOTE_WRITE) != 0 && strcmp(control->name, "epoch") != 0;
}

gboolean
remote_control(Tracee *tracee, const RemoteJemalloc *jemalloc, RemoteControl *control, GError **error)
{
    const gsize size = sizes[control->type];
    const guint64 address = tracee_scratch(tracee);
    Block block = {.old_size = size, .new_value = control->value};
    guint64 arguments[5] = {address};
    g_strlcpy(block.name, control->name, sizeof(block.name));
    if ((control->access & REMOTE_READ) != 0) {
        arguments[1] = address + offsetof(Block, old);
        arguments[2] = address + offsetof(Block, old_size);
    }
    if ((control->access & REMOTE_WRITE) != 0 && size > 0) {
        arguments[3] = address + offsetof(Block, new_value);
        arguments[4] = size;
    }
    if ((may_be_cancelled(control) && !tracee_disable_cancellation(tracee, error)) ||
        !call(tracee, jemalloc, &block, arguments, error))
        return FALSE;
    control->error = errno == 0 && block.old_size != size ? EINVAL : errno;
    if ((control->access & REMOTE_READ) != 0)
        control->value = block.old;
    return TRUE;
}

gboolean
remote_control_bytes(Tracee *tracee, const RemoteJemalloc *jemalloc, const char *name, void *bytes, gsize size,
                     int *failure, GError **error)
{
    const guint64 address = tracee_scratch(tracee);
    Block block = {.old_size = size};
    const guint64 arguments[5] = {address, address + REMOTE_CONTROL_FREE, address + offsetof(Block, old_size)};
    g_strlcpy(block.name, name, sizeof(block.name));
    if (!call(tracee, jemalloc, &block, arguments, error))
        return FALSE;
    *failure = errno == 0 && block.old_size != size ? EINVAL : errno;
    return *failure != 0 || tracee_read(tracee, arguments[1], bytes, size, error);
}

gboolean
remote_control_dump(Tracee *tracee, const RemoteJemalloc *jemalloc, guint64 file_name, int *failure, GError **error)
{
    const guint64 address = tracee_scratch(tracee);
    Block block = {.name = "prof.dump", .new_value = file_name};
    const guint64 arguments[5] = {address, 0, 0, address + offsetof(Block, new_value), sizeof(file_name)};
    if (!call(tracee, jemalloc, &block, arguments, error))
        return FALSE;
    *failure = errno;
    return TRUE;
}
