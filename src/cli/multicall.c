/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/multicall.h"

#include <stddef.h>
#include <string.h>

/* src/cli/meson.build makes a link for each. */
static const Multicall tools[] = {
    {"extract-jem-stats", extract_jem_stats_main},
    {"extract-jem-stats.sh", extract_jem_stats_main},
    {"get-jem-stats", get_jem_stats_main},
    {"get-jem-stats.sh", get_jem_stats_main},
    {"jemabs", jemabs_main},
    {"jemdel", jemdel_main},
    {"jemeff", jemeff_main},
};

const Multicall *
multicall_find(const char *program)
{
    const char *slash = strrchr(program, '/');
    const char *name = slash != NULL ? slash + 1 : program;
    for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++)
        if (strcmp(name, tools[i].name) == 0)
            return &tools[i];
    return NULL;
}
