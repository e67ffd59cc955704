/* SPDX-License-Identifier: Apache-2.0 */
#include "target/stack-pointers.h"

#include "target/threads.h"

#include <string.h>

enum {
    THREADS_MAX = 4096,
};

/* "230 0x1 0x1 0x7ffc8c492400 0x0 0x0 0x0 STACK-POINTER PROGRAM-COUNTER"; "-1 STACK-POINTER PROGRAM-COUNTER" outside of
 * a system call; "running". */
static guint64
parse(char *text)
{
    g_strchomp(text);
    char *last = strrchr(text, ' ');
    if (last == NULL)
        return 0;
    *last = '\0';
    char *before = strrchr(text, ' ');
    return before != NULL ? g_ascii_strtoull(before, NULL, 16) : 0;
}

static int
compare(gconstpointer a, gconstpointer b)
{
    guint64 left = *(const guint64 *)a, right = *(const guint64 *)b;
    return left < right ? -1 : left > right;
}

GArray *
stack_pointers_read(pid_t pid)
{
    GArray *pointers = g_array_new(FALSE, FALSE, sizeof(guint64));
    g_auto(ThreadWalk) walk;
    pid_t thread;
    thread_walk_begin(&walk, pid);
    while (pointers->len < THREADS_MAX && (thread = thread_walk_next(&walk)) != 0) {
        g_autofree char *file = g_strdup_printf("/proc/%d/task/%d/syscall", (int)pid, (int)thread);
        g_autofree char *text = NULL;
        guint64 pointer = g_file_get_contents(file, &text, NULL, NULL) ? parse(text) : 0;
        if (pointer != 0)
            g_array_append_val(pointers, pointer);
    }
    g_array_sort(pointers, compare);
    return pointers;
}
