/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/size.h"
#include "cli/state.h"
#include "cli/via.h"
#include "jemalloc/controls.h"

#include <stdio.h>

static gboolean
purge_arena(Target *target, guint64 arena, GError **error)
{
    g_autofree char *control = g_strdup_printf("arena.%" G_GUINT64_FORMAT ".purge", arena);
    return target_write(target, control, WIRE_TYPE_NONE, 0, error);
}

static gboolean
purge(Target *target, GError **error)
{
    g_autoptr(GError) cause = NULL;
    if (purge_arena(target, CONTROL_ALL_ARENAS, &cause))
        return TRUE;
    WireCtlReply arenas;
    if (!g_error_matches(cause, TARGET_ERROR, OUTCOME_CONTROL_FAILED)) {
        g_propagate_error(error, g_steal_pointer(&cause));
        return FALSE;
    }
    return target_read(target, "arenas.narenas", WIRE_TYPE_UNSIGNED, &arenas, error) &&
           purge_arena(target, arenas.value, error);
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
    if (target == NULL || !state_read_resident(target, &before, error) || !purge(target, error) ||
        !state_read_resident(target, &after, error))
        return STATUS_FAILED;
    if (before == STATUS_UNKNOWN || after == STATUS_UNKNOWN) {
        printf("%s: unused pages are returned to the kernel\n", target_label(target));
        return STATUS_DONE;
    }
    g_autofree char *from = size_format(before);
    g_autofree char *to = size_format(after);
    printf("%s: resident %s before, %s after\n", target_label(target), from, to);
    return STATUS_DONE;
}

static const Example examples[] = {
    {"jescope purge redis-server", "return unused pages to the kernel now"},
    {0},
};

const Command cmd_purge = {
    .name = "purge",
    .synopsis = "TARGET",
    .summary = "return unused pages to the kernel",
    .description = "Lets TARGET's jemalloc return all unused dirty pages to the kernel at once and shows the change.",
    .examples = examples,
    .options = options,
    .operand = OPERAND_TARGET,
    .operands_min = 1,
    .operands_max = 1,
    .run = run,
};
