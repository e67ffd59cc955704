/* SPDX-License-Identifier: Apache-2.0 */
#include "target/process-memory.h"

#include "target/reach-open.h"

#include <stddef.h>
#include <string.h>

static const struct {
    const char *word;
    size_t field;
} rollup_words[] = {
    {"Rss:", offsetof(ProcessMemory, rss)},
    {"Pss:", offsetof(ProcessMemory, pss)},
    {"Swap:", offsetof(ProcessMemory, swap)},
    {"Anonymous:", offsetof(ProcessMemory, anonymous)},
    {"LazyFree:", offsetof(ProcessMemory, lazy_free)},
    {"AnonHugePages:", offsetof(ProcessMemory, huge)},
};

static void
read_line(const char *line, ProcessMemory *memory)
{
    for (size_t i = 0; i < G_N_ELEMENTS(rollup_words); i++)
        if (g_str_has_prefix(line, rollup_words[i].word))
            *(guint64 *)((char *)memory + rollup_words[i].field) =
                g_ascii_strtoull(line + strlen(rollup_words[i].word), NULL, 10) * 1024;
}

static void
read_rollup(const char *proc, const Process *found, ProcessMemory *memory)
{
    g_autofree char *path = g_strdup_printf("%s/%d/smaps_rollup", proc, (int)found->pid);
    g_autofree char *text = NULL;
    if (strcmp(proc, "/proc") == 0)
        text = reach_read(found, REACH_ROLLUP);
    else
        g_file_get_contents(path, &text, NULL, NULL);
    g_auto(GStrv) lines = g_strsplit(text != NULL ? text : "", "\n", -1);
    for (char **line = lines; *line != NULL; line++)
        read_line(*line, memory);
}

void
process_memory_read(const char *proc, const char *cgroups, const Process *found, ProcessMemory *memory)
{
    memset(memory, 0xff, sizeof(*memory));
    read_rollup(proc, found, memory);
    cgroup_memory_read(proc, cgroups, (int)found->pid, &memory->group);
    cgroup_charges_read(proc, cgroups, (int)found->pid, &memory->charges);
}
