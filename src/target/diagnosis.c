/* SPDX-License-Identifier: Apache-2.0 */
#include "target/diagnosis.h"

#include "target/target.h"

#include "jemalloc/elf_symbols.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    SCRATCH_BYTES = 64 * 1024,
    YOUNG_SECONDS = 2,
};

char *
diagnosis_conf_variable(const char *prefix)
{
    g_autofree char *upper = g_ascii_strup(prefix, -1);
    return g_strconcat(upper, "MALLOC_CONF", NULL);
}

char *
diagnosis_profiling(const WireHelloReply *hello)
{
    if ((hello->flags & WIRE_FLAG_CONFIG_PROF) == 0)
        return g_strdup_printf("its jemalloc %s was built without profiling; use one configured with --enable-prof",
                               hello->jemalloc_version);
    if ((hello->flags & WIRE_FLAG_OPT_PROF) != 0)
        return NULL;
    g_autofree char *variable = diagnosis_conf_variable(hello->prefix);
    return g_strdup_printf("jemalloc was started without prof:true; restart it under 'jescope run', or set "
                           "%s=prof:true,prof_active:false",
                           variable);
}

char *
diagnosis_jemalloc_prefix(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    ElfFile file;
    ElfJemalloc found[ELF_FOUND_MAX];
    g_autofree void *scratch = g_malloc(SCRATCH_BYTES);
    gboolean has = elf_file_init(&file, fd, scratch, SCRATCH_BYTES) && elf_find_jemalloc(&file, found) > 0;
    close(fd);
    return has ? g_strdup(found[0].prefix) : NULL;
}

/* The objects of interest in a memory map. */
typedef struct {
    gboolean readable;
    gboolean jemalloc;
    gboolean agent;
} Objects;

static Objects
mapped_objects(const Process *process)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/maps", (int)process->pid);
    g_autofree char *maps = NULL;
    Objects objects = {.readable = g_file_get_contents(path, &maps, NULL, NULL)};
    g_auto(GStrv) lines = g_strsplit(objects.readable ? maps : "", "\n", -1);
    for (char **line = lines; *line != NULL; line++) {
        const char *name = strrchr(*line, '/');
        if (name == NULL)
            continue;
        objects.jemalloc |= strstr(name, "jemalloc") != NULL;
        objects.agent |= strstr(name, "libjescope-agent.so") != NULL;
    }
    return objects;
}

/* Statically linked jemalloc has no object of its own. */
static gboolean
is_in_image(const Process *process)
{
    g_autofree char *image = g_strdup_printf("/proc/%d/exe", (int)process->pid);
    g_autofree char *prefix = diagnosis_jemalloc_prefix(image);
    return prefix != NULL;
}

JemallocPresence
diagnosis_jemalloc(const Process *process)
{
    Objects objects = mapped_objects(process);
    if (!objects.readable)
        return JEMALLOC_HIDDEN;
    return objects.jemalloc || is_in_image(process) ? JEMALLOC_PRESENT : JEMALLOC_ABSENT;
}

gboolean
diagnosis_has_agent(const Process *process)
{
    return mapped_objects(process).agent;
}

/* A thread that has just been made still goes by its maker's name. */
static gboolean
is_young(const Process *process)
{
    struct timespec since_boot;
    gint64 ticks = sysconf(_SC_CLK_TCK);
    if (clock_gettime(CLOCK_BOOTTIME, &since_boot) != 0 || ticks <= 0)
        return TRUE;
    return (gint64)since_boot.tv_sec - (gint64)process->start_time / ticks <= YOUNG_SECONDS;
}

static gboolean
has_agent_thread(const Process *process)
{
    g_autofree char *tasks = g_strdup_printf("/proc/%d/task", (int)process->pid);
    g_autoptr(GDir) threads = g_dir_open(tasks, 0, NULL);
    const char *thread;
    while (threads != NULL && (thread = g_dir_read_name(threads)) != NULL) {
        g_autofree char *path = g_build_filename(tasks, thread, "comm", NULL);
        g_autofree char *name = NULL;
        if (g_file_get_contents(path, &name, NULL, NULL) && strcmp(name, "jescope\n") == 0)
            return TRUE;
    }
    return FALSE;
}

gboolean
diagnosis_agent_may_come(const Process *process)
{
    return diagnosis_has_agent(process) && (is_young(process) || has_agent_thread(process));
}

static void
set_not_ours(const Process *process, GError **error)
{
    g_autofree char *user = process_user_name(process->uids[1]);
    g_set_error(error, TARGET_ERROR, TARGET_ERROR_PERMISSION, "%s (%d) belongs to user %s; run jescope as %s%s",
                process->name, (int)process->pid, user, user, process->uids[1] == 0 ? "" : " or as root");
}

void
diagnosis_set_no_agent(const Process *process, GError **error)
{
    int pid = (int)process->pid;
    if (process->state == 'Z' || process->state == 'X') {
        g_set_error(error, TARGET_ERROR, TARGET_ERROR_GONE, "%s (%d) has ended (a zombie)", process->name, pid);
        return;
    }
    if (!process_is_ours(process)) {
        set_not_ours(process, error);
        return;
    }
    Objects objects = mapped_objects(process);
    objects.jemalloc = objects.jemalloc || is_in_image(process);
    if (!objects.readable)
        g_set_error(error, TARGET_ERROR, TARGET_ERROR_PERMISSION, "%s (%d) hides its memory map (it is privileged); %s",
                    process->name, pid,
                    geteuid() != 0 ? "run jescope as root"
                                   : "run jescope with CAP_SYS_PTRACE, outside of any container");
    else if (objects.agent && objects.jemalloc)
        g_set_error(error, TARGET_ERROR, TARGET_ERROR_NO_AGENT,
                    "%s (%d) has the agent loaded, but it does not listen: 'jescope detach' ended it ('jescope attach' "
                    "calls it "
                    "back), JESCOPE=off or JESCOPE_ONLY excludes it, or its socket directory cannot be written; "
                    "restart it with "
                    "JESCOPE_DEBUG=1 to see which",
                    process->name, pid);
    else if (objects.jemalloc)
        g_set_error(
            error, TARGET_ERROR, TARGET_ERROR_NO_AGENT,
            "%s (%d) uses jemalloc, but was started without jescope's agent; bring it in with 'jescope attach %d', "
            "or restart it under 'jescope run'",
            process->name, pid, pid);
    else
        g_set_error(error, TARGET_ERROR, TARGET_ERROR_NO_JEMALLOC,
                    "%s (%d) does not use jemalloc; restart it under 'jescope run', which brings one", process->name,
                    pid);
}
