/* SPDX-License-Identifier: Apache-2.0 */
#include "target/heap.h"

#include "target/memory-map.h"
#include "target/program-file.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum {
    ANCESTORS_MAX =
        8, /* maximum number of shells and wrappers between a program and the 'jescope run' that started it */
    MAP_SEARCHED_MAX = 8 << 20,
};

static const struct {
    const char *part; /* part of its library's name */
    const char *name;
} allocators[] = {
    {"/libtcmalloc", "tcmalloc"}, {"/libmimalloc", "mimalloc"}, {"/libsnmalloc", "snmalloc"},
    {"/librpmalloc", "rpmalloc"}, {"/libhoard", "Hoard"},       {"/libtbbmalloc", "TBB's malloc"},
    {"/libscudo", "scudo"},
};

unsigned
heap_traits(const char *path)
{
    ProgramTraits traits;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    program_file_traits(fd, &traits);
    close(fd);
    return (traits.exports_malloc ? HEAP_EXPORTS_MALLOC : 0u) | (traits.has_mark ? HEAP_STRIPPED_JEMALLOC : 0u) |
           (traits.unread ? HEAP_UNREAD : 0u);
}

typedef struct {
    const char *name; /* name of the allocator; NULL: unknown */
    char *file;
} Library;

static gboolean
note_allocator(char *line, gpointer data)
{
    Library *library = data;
    const char *file = strrchr(line, '/');
    for (gsize i = 0; file != NULL && i < G_N_ELEMENTS(allocators); i++)
        if (g_str_has_prefix(file, allocators[i].part)) {
            library->name = allocators[i].name;
            library->file = g_strdup(file + 1);
            return FALSE;
        }
    return TRUE;
}

/* Whether the dynamic loader ignores the environment (AT_SECURE). */
static gboolean
is_privileged(const Process *process)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/auxv", (int)process->pid);
    g_autofree char *bytes = NULL;
    gsize size = 0;
    if (!g_file_get_contents(path, &bytes, &size, NULL))
        return FALSE;
    for (gsize at = 0; at + sizeof(Elf64_auxv_t) <= size; at += sizeof(Elf64_auxv_t)) {
        Elf64_auxv_t entry;
        memcpy(&entry, bytes + at, sizeof(entry));
        if (entry.a_type == AT_SECURE)
            return entry.a_un.a_val != 0;
    }
    return FALSE;
}

static gboolean
is_below_run(const Process *process)
{
    Process at = *process;
    for (int i = 0; i < ANCESTORS_MAX && at.parent > 1; i++) {
        if (!process_look(at.parent, &at))
            return FALSE;
        if (strcmp(at.name, "jescope") == 0)
            return TRUE;
    }
    return FALSE;
}

/* The reason why 'jescope run' would not, or did not, load jemalloc; NULL if there is none. */
static const char *
obstacle_to_run(const Process *process)
{
    if (is_privileged(process))
        return "does not use jemalloc, and the dynamic loader preloads none into it, since it has file capabilities or "
               "a set-user-ID or set-group-ID bit; run it as that user, or link jemalloc into it";
    g_autofree char *preload = process_variable(process->pid, "LD_PRELOAD");
    if (is_below_run(process) && (preload == NULL || strstr(preload, "libjescope-agent.so") == NULL))
        return "does not use jemalloc: it was started below 'jescope run', but without its environment (env -i, sudo, "
               "a service manager); put 'jescope run' directly before the program";
    return NULL;
}

/* For the pid of a 'jescope run', which shells know as that of the program; NULL for any other process. jescope's own
 * file has the mark of a jemalloc, since it searches others for it. */
static char *
describe_run(const Process *process)
{
    if (strcmp(process->name, "jescope") != 0)
        return NULL;
    g_autoptr(GArray) all = process_list(NULL);
    for (guint i = 0; i < all->len; i++) {
        const Process *other = &g_array_index(all, Process, i);
        if (other->parent == process->pid)
            return g_strdup_printf("is jescope itself; the program that it runs is %s (%d)", other->name,
                                   (int)other->pid);
    }
    return g_strdup("is jescope itself, and runs no program");
}

char *
heap_describe(const Process *process)
{
    Library library = {0};
    char *run = describe_run(process);
    if (run != NULL)
        return run;
    g_autofree char *image = g_strdup_printf("/proc/%d/exe", (int)process->pid);
    unsigned traits = heap_traits(image);
    if ((traits & HEAP_UNREAD) != 0)
        return g_strdup("has a program file that cannot be read in a few seconds, so that jemalloc cannot be found in "
                        "it; restart it under 'jescope run'");
    if ((traits & HEAP_STRIPPED_JEMALLOC) != 0)
        return g_strdup("has a jemalloc linked in, but its symbols were stripped, so it cannot be used; keep them "
                        "(strip --strip-debug), or keep them in a debug file that its build id or debug link names");
    if ((traits & HEAP_EXPORTS_MALLOC) != 0)
        return g_strdup("does not use jemalloc: its executable is linked with another malloc, which a preloaded "
                        "library cannot replace; link it with jemalloc instead");
    memory_map_read(process->pid, MAP_SEARCHED_MAX, note_allocator, &library);
    g_autofree char *file = library.file;
    if (library.name != NULL)
        return g_strdup_printf("does not use jemalloc, but %s (%s); restart it under 'jescope run', which brings "
                               "jemalloc, and without the other one in LD_PRELOAD",
                               library.name, file);
    const char *obstacle = obstacle_to_run(process);
    return g_strdup(obstacle != NULL ? obstacle
                                     : "does not use jemalloc, but the C library's malloc; restart it under 'jescope "
                                       "run', which brings jemalloc");
}
