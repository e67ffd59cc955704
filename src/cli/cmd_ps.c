/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/size.h"
#include "cli/state.h"

#include "target/agent.h"
#include "target/diagnosis.h"
#include "target/discovery.h"
#include "target/obstacle.h"

#include <stdio.h>
#include <string.h>

enum {
    VERSION_WIDTH = 9,
};

/* A process that uses jemalloc. */
typedef struct {
    Process process;
    Target *target; /* NULL: no agent; then state is not set */
    gboolean asked; /* state is set */
    TargetState state;
    char *reach; /* if there is no state: "attach", or why not even that */
} Row;

static gboolean as_json;

static const GOptionEntry options[] = {
    {.long_name = "json", .arg_data = &as_json, .description = "print JSON"},
    {0},
};

static void
row_free(gpointer data)
{
    Row *row = data;
    target_free(row->target);
    g_free(row->reach);
    g_free(row);
}

/* One target that does not answer must not hold up the list. */
static void
ask(Row *row, const char *path)
{
    if (row->process.state == 'T' || row->process.state == 't') {
        row->reach = g_strdup("stopped");
        return;
    }
    AgentAddress address = {
        .path = path, .process = &row->process, .deadlines = {.connect = 1000, .answer = 1000, .output = 1000}};
    g_autoptr(GError) error = NULL;
    row->target = agent_open(&address, &error);
    row->asked = row->target != NULL && state_read(row->target, &row->state, &error);
    if (!row->asked)
        row->reach = g_strdup(g_error_matches(error, TARGET_ERROR, TARGET_ERROR_SILENT) ? "silent" : "unreachable");
}

/* As far as can be told without stopping it; an agent that was told to keep away is left alone. */
static gboolean
attachable(const Process *process)
{
    return !diagnosis_has_agent(process) && obstacle_may_attach(process);
}

/* NULL: does not use jemalloc, or not ours, or it ended meanwhile. */
static Row *
row_of(const Process *process)
{
    if (!process_is_ours(process) || process->state == 'Z')
        return NULL;
    g_autofree char *path = discovery_socket(process);
    if (path == NULL && diagnosis_jemalloc(process) != JEMALLOC_PRESENT)
        return NULL;
    Row *row = g_new0(Row, 1);
    row->process = *process;
    if (path != NULL)
        ask(row, path);
    else
        row->reach = g_strdup(attachable(process) ? target_via_name(TARGET_VIA_ATTACH) : "no agent");
    if (!row->asked && !process_alive(process->pid, process->start_time)) {
        row_free(row);
        return NULL;
    }
    return row;
}

static GPtrArray *
collect_rows(void)
{
    GPtrArray *rows = g_ptr_array_new_with_free_func(row_free);
    g_autoptr(GArray) processes = process_list();
    for (guint i = 0; i < processes->len; i++) {
        Row *row = row_of(&g_array_index(processes, Process, i));
        if (row != NULL)
            g_ptr_array_add(rows, row);
    }
    return rows;
}

static json_t *
row_json(const Row *row)
{
    json_t *object = row->asked ? state_json(&row->state, row->target)
                                : json_pack("{s:i, s:s, s:i}", "pid", (int)row->process.pid, "name", row->process.name,
                                            "uid", (int)row->process.uids[1]);
    json_object_set_new(object, "reach", json_string(row->asked ? "agent" : row->reach));
    return object;
}

static char *
format_memory(const Row *row, MemoryFigure figure)
{
    guint64 bytes = row->asked ? row->state.memory[figure] : MEMORY_UNKNOWN;
    return bytes == MEMORY_UNKNOWN ? g_strdup("-") : size_format(bytes);
}

static void
print_row(const Row *row)
{
    g_autofree char *user = process_user_name(row->process.uids[1]);
    g_autofree char *allocated = format_memory(row, MEMORY_ALLOCATED);
    g_autofree char *resident = format_memory(row, MEMORY_RESIDENT);
    /* "5.3.0-0-g54eaed1d8b56b1aa528be3bdd1877e59c56fa90c": the number is enough here. */
    g_autofree char *version = g_strdup(row->asked ? row->state.hello.jemalloc_version : "-");
    version[strcspn(version, "-") != 0 ? strcspn(version, "-") : strlen(version)] = '\0';
    printf("%7d %-10s %-*s %10s %10s %-9s %-11s %s\n", (int)row->process.pid, user, VERSION_WIDTH, version, allocated,
           resident, row->asked ? state_profiling_word(&row->state) : "-", row->asked ? "agent" : row->reach,
           row->process.name);
}

static void
print_table(GPtrArray *rows)
{
    if (rows->len == 0) {
        fputs("jescope: no process of yours uses jemalloc; start one with 'jescope run'\n", stderr);
        return;
    }
    printf("%7s %-10s %-*s %10s %10s %-9s %-11s %s\n", "PID", "USER", VERSION_WIDTH, "JEMALLOC", "ALLOCATED",
           "RESIDENT", "PROFILING", "REACH", "NAME");
    g_ptr_array_foreach(rows, (GFunc)(void (*)(void))print_row, NULL);
}

static int
run(char **operands, GError **error)
{
    discovery_remove_dead();
    g_autoptr(GPtrArray) rows = collect_rows();
    if (!as_json) {
        print_table(rows);
        return STATUS_DONE;
    }
    json_t *list = json_array();
    for (guint i = 0; i < rows->len; i++)
        json_array_append_new(list, row_json(rows->pdata[i]));
    state_print_json(list);
    return STATUS_DONE;
}

const Command cmd_ps = {
    .name = "ps",
    .synopsis = "",
    .summary = "list the processes that use jemalloc",
    .description =
        "Lists every process of yours (of everybody for root) that uses jemalloc, also those in containers: its "
        "version, what is allocated and resident, whether profiling is off (not possible), ready or active, and how "
        "it can be reached: through its agent, by attaching to it (which is not done for this list), or why not.",
    .options = options,
    .operand = OPERAND_NONE,
    .run = run,
};
