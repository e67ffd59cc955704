/* SPDX-License-Identifier: Apache-2.0 */
#include "target/stack-pointers.h"

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
    g_autofree char *path = g_strdup_printf("/proc/%d/task", (int)pid);
    g_autoptr(GDir) threads = g_dir_open(path, 0, NULL);
    const gint64 until = g_get_monotonic_time() + G_USEC_PER_SEC; /* threads may begin faster than they are read */
    const char *thread;
    while (threads != NULL && pointers->len < THREADS_MAX && g_get_monotonic_time() < until &&
           (thread = g_dir_read_name(threads)) != NULL) {
        g_autofree char *file = g_build_filename(path, thread, "syscall", NULL);
        g_autofree char *text = NULL;
        guint64 pointer = g_file_get_contents(file, &text, NULL, NULL) ? parse(text) : 0;
        if (pointer != 0)
            g_array_append_val(pointers, pointer);
    }
    g_array_sort(pointers, compare);
    return pointers;
}
