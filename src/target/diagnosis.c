/* SPDX-License-Identifier: Apache-2.0 */
#include "target/diagnosis.h"

#include "confine/aside.h"
#include "jemalloc/version.h"
#include "routes/unprofiled.h"
#include "target/heap.h"
#include "target/memory-map.h"
#include "target/program-file.h"
#include "target/target.h"
#include "target/threads.h"
#include "target/user-name.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    YOUNG_SECONDS = 2,
    /* Bytes of a memory map that are searched for a jemalloc or the agent: twice the size of 65530 mappings, the
     * kernel's default limit. A process can make its map hundreds of megabytes long. */
    SEARCHED_MAX = 8 << 20,
};

char *
diagnosis_conf_variable(const char *prefix)
{
    char text[WIRE_TEXT_MAX + sizeof("MALLOC_CONF")];
    jemalloc_conf_variable(prefix, text, sizeof(text));
    return g_strdup(text);
}

char *
diagnosis_profiling(const WireHelloReply *hello)
{
    char text[FAILURE_WHY_MAX];
    if (!unprofiled_applies(hello))
        return NULL;
    unprofiled_describe(hello, text, sizeof(text));
    return g_strdup(text);
}

static gboolean
look_into(const char *path, ProgramJemallocs *jemallocs)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return FALSE;
    program_file_jemallocs(fd, jemallocs);
    close(fd);
    return TRUE;
}

char *
diagnosis_jemalloc_prefix(const char *path)
{
    ProgramJemallocs jemallocs;
    return look_into(path, &jemallocs) && jemallocs.n > 0 ? g_strdup(jemallocs.found[0].symbols.prefix) : NULL;
}

/* jemalloc uses the last of several settings. */
static gboolean
enables_profiling(const char *conf)
{
    gboolean asks = FALSE;
    g_auto(GStrv) pairs = g_strsplit(conf, ",", -1);
    for (char **pair = pairs; *pair != NULL; pair++)
        if (g_str_has_prefix(*pair, "prof:"))
            asks = strcmp(*pair, "prof:true") == 0;
    return asks;
}

static gboolean
is_prepared(pid_t pid)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/root/etc/malloc.conf", (int)pid);
    g_autofree char *link = g_file_read_link(path, NULL);
    g_autofree char *variable = process_variable_ending(pid, "MALLOC_CONF");
    return (variable != NULL && enables_profiling(variable)) || (link != NULL && enables_profiling(link));
}

static void
prepare_aside(gpointer pid, ChannelMessage *answer)
{
    *(guint8 *)answer->bytes = is_prepared(*(const pid_t *)pid);
}

gboolean
diagnosis_prepared(pid_t pid)
{
    uid_t user;
    guint8 prepared = FALSE;
    ChannelMessage answer = {.bytes = &prepared, .size = sizeof(prepared)};
    if (!process_may_delay(pid, &user))
        return is_prepared(pid);
    return aside_run(prepare_aside, &pid, user, &answer) == ASIDE_DONE && prepared != 0;
}

/* The objects of interest in a memory map. */
typedef struct {
    MemoryMapEnd end;
    gboolean jemalloc;
    gboolean agent;
} Objects;

static gboolean
note_object(char *line, gpointer data)
{
    Objects *objects = data;
    const char *name = strrchr(line, '/');
    if (name != NULL) {
        objects->jemalloc |= strstr(name, "jemalloc") != NULL;
        objects->agent |= strstr(name, "libjescope-agent.so") != NULL;
    }
    return !objects->jemalloc || !objects->agent;
}

static Objects
mapped_objects(const Process *process)
{
    Objects objects = {0};
    objects.end = memory_map_read(process->pid, SEARCHED_MAX, note_object, &objects);
    return objects;
}

static JemallocPresence
presence_of(const Process *process, const Objects *objects)
{
    g_autofree char *image = g_strdup_printf("/proc/%d/exe", (int)process_thread(process->pid));
    ProgramJemallocs linked = {0};
    if (objects->end == MEMORY_MAP_DENIED)
        return JEMALLOC_HIDDEN;
    /* A statically linked jemalloc is part of the executable. */
    if (objects->jemalloc || (look_into(image, &linked) && linked.n > 0))
        return JEMALLOC_PRESENT;
    return objects->end == MEMORY_MAP_TOO_LARGE || linked.unread ? JEMALLOC_BURIED : JEMALLOC_ABSENT;
}

MappedObjects
diagnosis_mapped(const Process *process)
{
    Objects objects = mapped_objects(process);
    return (MappedObjects){.jemalloc = presence_of(process, &objects), .agent = objects.agent};
}

gboolean
diagnosis_has_agent(const Process *process)
{
    return mapped_objects(process).agent;
}

/* A new thread still has the name of its creator. */
static gboolean
is_young(const Process *process)
{
    struct timespec since_boot;
    gint64 ticks = sysconf(_SC_CLK_TCK);
    if (clock_gettime(CLOCK_BOOTTIME, &since_boot) != 0 || ticks <= 0)
        return TRUE;
    return (gint64)since_boot.tv_sec - (gint64)process->start_time / ticks <= YOUNG_SECONDS;
}

pid_t
diagnosis_agent_thread(const Process *process)
{
    g_auto(ThreadWalk) walk;
    pid_t thread;
    thread_walk_begin(&walk, process->pid);
    while ((thread = thread_walk_next(&walk)) != 0) {
        g_autofree char *path = g_strdup_printf("/proc/%d/task/%d/comm", (int)process->pid, (int)thread);
        g_autofree char *name = NULL;
        if (g_file_get_contents(path, &name, NULL, NULL) && strcmp(name, "jescope\n") == 0)
            return thread;
    }
    return 0;
}

gboolean
diagnosis_agent_may_come(const Process *process)
{
    return diagnosis_has_agent(process) && (is_young(process) || diagnosis_agent_thread(process) != 0);
}

static void
set_not_ours(const Process *process, GError **error)
{
    g_autofree char *user = user_name(process->uids[1]);
    g_set_error(error, TARGET_ERROR, OUTCOME_PERMISSION, "%s (%d) belongs to user %s; run jescope as %s%s",
                process->name, (int)process->pid, user, user, process->uids[1] == 0 ? "" : " or as root");
}

void
diagnosis_set_no_agent(const Process *process, GError **error)
{
    int pid = (int)process->pid;
    if (process_has_ended(process)) {
        g_set_error(error, TARGET_ERROR, OUTCOME_GONE, "%s (%d) has ended (a zombie)", process->name, pid);
        return;
    }
    if (!process_is_ours(process)) {
        set_not_ours(process, error);
        return;
    }
    MappedObjects objects = diagnosis_mapped(process);
    if (objects.jemalloc == JEMALLOC_HIDDEN)
        g_set_error(error, TARGET_ERROR, OUTCOME_PERMISSION, "%s (%d) hides its memory map (it is privileged); %s",
                    process->name, pid,
                    geteuid() != 0 ? "run jescope as root"
                                   : "run jescope with CAP_SYS_PTRACE, outside of any container");
    else if (objects.jemalloc == JEMALLOC_BURIED)
        g_set_error(error, TARGET_ERROR, OUTCOME_NO_AGENT,
                    "%s (%d): no jemalloc in the first %d MiB of its memory map, or its program file cannot be read in "
                    "a few seconds; if it uses jemalloc, restart it under 'jescope run'",
                    process->name, pid, SEARCHED_MAX >> 20);
    else if (objects.agent && objects.jemalloc == JEMALLOC_PRESENT)
        g_set_error(error, TARGET_ERROR, OUTCOME_NO_AGENT,
                    "%s (%d) has the agent loaded, but it does not listen: it was stopped by 'jescope detach' "
                    "('jescope attach' starts it again) or excluded by JESCOPE=off or JESCOPE_ONLY, or its socket "
                    "directory cannot be written; restart it with JESCOPE_DEBUG=1 to see which",
                    process->name, pid);
    else if (objects.jemalloc == JEMALLOC_PRESENT)
        g_set_error(error, TARGET_ERROR, OUTCOME_NO_AGENT,
                    "%s (%d) uses jemalloc, but was started without jescope's agent; load it with 'jescope attach %d', "
                    "or restart it under 'jescope run'",
                    process->name, pid, pid);
    else
        diagnosis_set_no_jemalloc(process, error);
}

void
diagnosis_set_no_jemalloc(const Process *process, GError **error)
{
    g_autofree char *heap = heap_describe(process);
    g_set_error(error, TARGET_ERROR, OUTCOME_NO_JEMALLOC, "%s (%d) %s", process->name, (int)process->pid, heap);
}
