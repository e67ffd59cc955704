/* SPDX-License-Identifier: Apache-2.0 */
#include "target/holdings.h"

#include "target/memory-map.h"
#include "target/open-files.h"
#include "target/process-change.h"
#include "target/socket-memory.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
    TIME_US = 2 * G_USEC_PER_SEC,
    STATUS_MAX_BYTES = 1 << 20, /* lists of groups and processors may be long */
    CHILDREN_MAX = 256,
    CHILDREN_MAX_BYTES = CHILDREN_MAX * 12, /* their pids with blanks */
};

static const struct {
    const char *word;
    gsize field;
    guint64 unit;
} status_words[] = {
    {"VmPTE:", offsetof(Holdings, page_tables), 1024},
    {"VmSwap:", offsetof(Holdings, swap), 1024},
    {"Threads:", offsetof(Holdings, threads), 1},
};

static gboolean
take_status(char *line, gpointer data)
{
    for (gsize i = 0; i < G_N_ELEMENTS(status_words); i++)
        if (g_str_has_prefix(line, status_words[i].word))
            G_STRUCT_MEMBER(guint64, data, status_words[i].field) =
                g_ascii_strtoull(line + strlen(status_words[i].word), NULL, 10) * status_words[i].unit;
    return TRUE;
}

static void
read_open_files(pid_t pid, gint64 until_us, Holdings *holdings)
{
    OpenFiles files;
    if (!open_files_read(pid, until_us, &files))
        return;
    holdings->tmpfs = files.tmpfs;
    holdings->pipes = files.pipes;
    holdings->sockets = socket_memory_read(pid, files.sockets, until_us);
    open_files_clear(&files);
}

static gboolean
take_private(char *line, gpointer data)
{
    if (g_str_has_prefix(line, "Private_Dirty:"))
        *(guint64 *)data += g_ascii_strtoull(line + strlen("Private_Dirty:"), NULL, 10) * 1024;
    return TRUE;
}

typedef struct {
    const Process *found;
    ProcessProgram program;
} Parent;

static void
add_child(const Parent *parent, pid_t child, Holdings *holdings)
{
    Process process;
    ProcessProgram program;
    if (process_look(child, &process) && process_change_has_no_more(&process, parent->found) &&
        process_program(child, &program) && process_program_is_of_file(&program, &parent->program))
        memory_map_read_file(&process, REACH_ROLLUP, STATUS_MAX_BYTES, take_private, &holdings->children);
}

/* /proc/PID/task/THREAD/children lists the children that each thread has created: "12 13 ". */
static void
read_children(const Process *found, gint64 until_us, Holdings *holdings)
{
    Parent parent = {.found = found};
    const pid_t pid = found->pid;
    const gboolean known = process_program(pid, &parent.program);
    g_autofree char *path = g_strdup_printf("/proc/%d/task", (int)pid);
    g_autoptr(GDir) threads = known ? g_dir_open(path, 0, NULL) : NULL;
    const char *thread;
    guint n = 0;
    while (threads != NULL && (thread = g_dir_read_name(threads)) != NULL && g_get_monotonic_time() < until_us) {
        g_autofree char *file = g_build_filename("task", thread, "children", NULL);
        g_autofree char *text = process_text(pid, file, CHILDREN_MAX_BYTES, NULL);
        if (text == NULL)
            continue;
        if (holdings->children == G_MAXUINT64)
            holdings->children = 0;
        for (char *at = text; *at != '\0' && n < CHILDREN_MAX && g_get_monotonic_time() < until_us; n++)
            add_child(&parent, (pid_t)strtol(at, &at, 10), holdings), at += strspn(at, " ");
    }
}

void
holdings_read(const Process *found, Holdings *holdings)
{
    const pid_t pid = found->pid;
    gint64 until_us = g_get_monotonic_time() + TIME_US;
    memset(holdings, 0xff, sizeof(*holdings));
    memory_map_read_list(pid, "status", STATUS_MAX_BYTES, take_status, holdings);
    read_open_files(pid, until_us, holdings);
    read_children(found, until_us, holdings);
}
