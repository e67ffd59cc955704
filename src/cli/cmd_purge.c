/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/size.h"
#include "cli/state.h"
#include "cli/via.h"

#include <stdio.h>

/* MALLCTL_ARENAS_ALL of jemalloc 5; before, the number of arenas stood for all of them. */
static const char purge_all[] = "arena.4096.purge";

static gboolean
purge(Target *target, GError **error)
{
    g_autoptr(GError) cause = NULL;
    if (target_write(target, purge_all, WIRE_TYPE_NONE, 0, &cause))
        return TRUE;
    ControlValue arenas;
    if (!g_error_matches(cause, TARGET_ERROR, TARGET_ERROR_CONTROL)) {
        g_propagate_error(error, g_steal_pointer(&cause));
        return FALSE;
    }
    if (!target_read(target, "arenas.narenas", WIRE_TYPE_UNSIGNED, &arenas, error))
        return FALSE;
    g_autofree char *control = g_strdup_printf("arena.%u.purge", (unsigned)arenas.value);
    return target_write(target, control, WIRE_TYPE_NONE, 0, error);
}

static const GOptionEntry options[] = {
    VIA_OPTION,
    {0},
};

static int
run(char **operands, GError **error)
{
    g_autoptr(Target) target = via_open(operands[0], error);
    guint64 before;
    guint64 after;
    if (target == NULL || !state_read_memory(target, MEMORY_RESIDENT, &before, error) || !purge(target, error) ||
        !state_read_memory(target, MEMORY_RESIDENT, &after, error))
        return STATUS_FAILED;
    if (before == MEMORY_UNKNOWN || after == MEMORY_UNKNOWN) {
        printf("%s: unused pages are returned to the kernel\n", target_label(target));
        return STATUS_DONE;
    }
    g_autofree char *from = size_format(before);
    g_autofree char *to = size_format(after);
    printf("%s: resident %s before, %s after\n", target_label(target), from, to);
    return STATUS_DONE;
}

const Command cmd_purge = {
    .name = "purge",
    .synopsis = "TARGET",
    .summary = "return unused pages to the kernel",
    .description =
        "Lets TARGET's jemalloc return all unused dirty pages to the kernel at once and shows what that changed.",
    .options = options,
    .operand = OPERAND_TARGET,
    .operands_min = 1,
    .operands_max = 1,
    .run = run,
};
