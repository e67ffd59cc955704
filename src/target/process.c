/* SPDX-License-Identifier: Apache-2.0 */
#include "target/process.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *
read_proc(pid_t pid, const char *file, gsize *length)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/%s", (int)pid, file);
    char *text = NULL;
    return g_file_get_contents(path, &text, length, NULL) ? text : NULL;
}

static void
copy_name(Process *process, const char *begin, const char *end)
{
    size_t length = MIN((size_t)(end - begin), sizeof(process->name) - 1);
    memcpy(process->name, begin, length);
    process->name[length] = '\0';
    for (char *byte = process->name; *byte != '\0'; byte++)
        if (g_ascii_iscntrl(*byte))
            *byte = '?';
    if (!g_utf8_validate(process->name, -1, NULL)) {
        g_autofree char *valid = g_utf8_make_valid(process->name, -1);
        g_strlcpy(process->name, valid, sizeof(process->name));
    }
}

/* "PID (NAME) STATE ...": a name may hold parentheses and blanks, so the last ')' ends it. */
static gboolean
parse_stat(const char *stat, Process *process)
{
    const char *open = strchr(stat, '(');
    const char *close = strrchr(stat, ')');
    if (open == NULL || close == NULL || close < open)
        return FALSE;
    copy_name(process, open + 1, close);
    unsigned long long start_time;
    if (sscanf(close + 1,
               " %c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu", // 3..22
               &process->state, &process->parent, &start_time) != 3)
        return FALSE;
    process->start_time = start_time;
    return TRUE;
}

static gboolean
parse_status(const char *status, Process *process)
{
    const char *uid = strstr(status, "\nUid:");
    if (uid == NULL || sscanf(uid, "\nUid: %u %u %u", &process->uids[0], &process->uids[1], &process->uids[2]) != 3)
        return FALSE;
    process->inner_pid = process->pid;
    const char *ns_pid = strstr(status, "\nNSpid:");
    if (ns_pid != NULL) {
        const char *line_end = strchrnul(ns_pid + 1, '\n');
        g_autofree char *line = g_strndup(ns_pid + 1, (gsize)(line_end - ns_pid - 1));
        process->inner_pid = atoi(strrchr(line, '\t') != NULL ? strrchr(line, '\t') + 1 : line);
    }
    return TRUE;
}

gboolean
process_read(pid_t pid, Process *process)
{
    g_autofree char *stat = read_proc(pid, "stat", NULL);
    g_autofree char *status = read_proc(pid, "status", NULL);
    Process found = {.pid = pid};
    if (stat == NULL || status == NULL || !parse_stat(stat, &found) || !parse_status(status, &found))
        return FALSE;
    *process = found;
    return TRUE;
}

guint64
process_start_time(pid_t pid)
{
    g_autofree char *stat = read_proc(pid, "stat", NULL);
    Process found;
    return stat != NULL && parse_stat(stat, &found) ? found.start_time : 0;
}

static int
compare_pids(gconstpointer a, gconstpointer b)
{
    const Process *left = a;
    const Process *right = b;
    return (left->pid > right->pid) - (left->pid < right->pid);
}

GArray *
process_list(void)
{
    GArray *list = g_array_new(FALSE, FALSE, sizeof(Process));
    g_autoptr(GDir) proc = g_dir_open("/proc", 0, NULL);
    const char *name;
    while (proc != NULL && (name = g_dir_read_name(proc)) != NULL) {
        Process process;
        if (g_ascii_isdigit(name[0]) && process_read(atoi(name), &process))
            g_array_append_val(list, process);
    }
    g_array_sort(list, compare_pids);
    return list;
}

gboolean
process_alive(pid_t pid, guint64 start_time)
{
    Process now;
    return process_read(pid, &now) && now.start_time == start_time && now.state != 'Z' && now.state != 'X';
}

gboolean
process_is_ours(const Process *process)
{
    return geteuid() == 0 || process->uids[1] == geteuid();
}

uid_t
process_inner_uid(const Process *process)
{
    uid_t outer = process->uids[1];
    g_autofree char *map = read_proc(process->pid, "uid_map", NULL);
    for (const char *line = map; line != NULL && *line != '\0';
         line = *strchrnul(line, '\n') != '\0' ? strchr(line, '\n') + 1 : NULL) {
        unsigned inside;
        unsigned outside;
        unsigned count;
        if (sscanf(line, "%u %u %u", &inside, &outside, &count) == 3 && outer >= outside && outer - outside < count)
            return inside + (outer - outside);
    }
    return outer;
}

char *
process_user_name(uid_t uid)
{
    const struct passwd *entry = getpwuid(uid);
    return entry != NULL ? g_strdup(entry->pw_name) : g_strdup_printf("%u", uid);
}

/* g_file_get_contents() puts a NUL behind the last byte. */
static char *
find_variable(const char *environment, gsize length, const char *name)
{
    size_t name_length = strlen(name);
    for (gsize at = 0; at < length; at += strlen(environment + at) + 1)
        if (strncmp(environment + at, name, name_length) == 0 && environment[at + name_length] == '=')
            return g_strdup(environment + at + name_length + 1);
    return NULL;
}

/* The environment of the `jescope run` that started PID. */
static char *
read_starter(pid_t pid, gsize *length)
{
    Process process, parent;
    if (!process_read(pid, &process) || !process_read(process.parent, &parent) || strcmp(parent.name, "jescope") != 0)
        return NULL;
    return read_proc(parent.pid, "environ", length);
}

char *
process_variable(pid_t pid, const char *name)
{
    gsize length = 0;
    g_autofree char *environment = read_proc(pid, "environ", &length);
    if (environment == NULL || memchr(environment, '=', length) != NULL || length == 0)
        return environment != NULL ? find_variable(environment, length, name) : NULL;
    g_autofree char *before = read_starter(pid, &length);
    return before != NULL ? find_variable(before, length, name) : NULL;
}
