/* SPDX-License-Identifier: Apache-2.0 */
#include "target/process.h"

#include "confine/aside.h"
#include "confine/keyed-hash.h"
#include "target/arguments.h"
#include "target/process-stat.h"
#include "target/reach.h"
#include "target/user-namespace.h"
#include "text/printable.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum {
    ARGUMENTS_MAX = 4096,  /* maximum bytes of a process's arguments that are read */
    FILE_MAX = 1 << 20,    /* maximum bytes of any other file in /proc/PID; a list of 65536 groups takes 720 KiB */
    WHOLE_NAMES_MS = 3000, /* total time to complete the names of processes whose users can delay it */
    MAKER_US = 500000,     /* total time to read the processes in the user namespaces of one maker, */
    MAKERS_US = 3000000,   /* and of all makers */
};

static char *
read_proc(pid_t pid, const char *file, gsize *length)
{
    return process_text(pid, file, FILE_MAX, length);
}

/* The arguments of PID, NUL-terminated, possibly truncated; NULL if there are none. */
static char *
read_arguments(pid_t pid, gsize *length)
{
    g_autofree char *text = process_text(pid, "cmdline", ARGUMENTS_MAX, length);
    return text != NULL && *length > 0 ? g_steal_pointer(&text) : NULL;
}

/* The part after the last '/' of a path. */
static const char *
last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

char *
process_executable(pid_t pid)
{
    static const char deleted[] = " (deleted)";
    g_autofree char *link = g_strdup_printf("/proc/%d/exe", (int)process_thread(pid));
    g_autofree char *path = g_file_read_link(link, NULL);
    if (path == NULL)
        return NULL;
    if (g_str_has_suffix(path, deleted))
        path[strlen(path) - strlen(deleted)] = '\0';
    return g_strdup(last_part(path));
}

/* The name at the beginning of a title, such as "-/usr/sbin/nginx: master process" or "redis-server *:6379". */
char *
process_called(pid_t pid)
{
    gsize length;
    g_autofree char *words = read_arguments(pid, &length);
    if (words == NULL)
        return NULL;
    words[strcspn(words, ": \t\n")] = '\0';
    const char *name = last_part(words);
    name += name[0] == '-'; /* a login shell */
    return name[0] != '\0' ? g_strdup(name) : NULL;
}

/* Completes a name that fills the kernel's field and so may be truncated. */
static void
complete_name(Process *process)
{
    if (strlen(process->name) != PROCESS_COMM_MAX)
        return;
    g_autofree char *called = process_called(process->pid);
    g_autofree char *executable = process_executable(process->pid);
    const char *whole = called != NULL && g_str_has_prefix(called, process->name)           ? called
                        : executable != NULL && g_str_has_prefix(executable, process->name) ? executable
                                                                                            : NULL;
    if (whole != NULL)
        g_strlcpy(process->name, whole, sizeof(process->name));
}

static gboolean
parse_stat(const char *stat, Process *process)
{
    const char *name;
    gsize length;
    guint64 parent, threads = 0;
    if (!process_stat_name(stat, &name, &length) || !process_stat_number(stat, PROCESS_STAT_PARENT, &parent) ||
        !process_stat_number(stat, PROCESS_STAT_START_TIME, &process->start_time))
        return FALSE;
    length = MIN(length, sizeof(process->name) - 1);
    memcpy(process->name, name, length);
    process->name[length] = '\0';
    process->state = process_stat_state(stat);
    process->parent = (pid_t)parent;
    process_stat_number(stat, PROCESS_STAT_THREADS, &threads);
    process->threads = (guint)threads;
    return TRUE;
}

static gboolean
parse_status(const char *status, Process *process)
{
    const char *uid = strstr(status, "\nUid:");
    const char *gid = strstr(status, "\nGid:");
    if (uid == NULL || sscanf(uid, "\nUid: %u %u %u", &process->uids[0], &process->uids[1], &process->uids[2]) != 3 ||
        gid == NULL || sscanf(gid, "\nGid: %u %u %u", &process->gids[0], &process->gids[1], &process->gids[2]) != 3)
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
process_has_ended(const Process *process)
{
    return process->state == 'X' || (process->state == 'Z' && process->threads < 2);
}

static uid_t
owner_at(int directory, const char *path)
{
    struct stat facts;
    return fstatat(directory, path, &facts, 0) == 0 ? facts.st_uid : (uid_t)-1;
}

static uid_t
memory_owner_of(pid_t thread)
{
    char maps[32];
    g_snprintf(maps, sizeof(maps), "/proc/%d/maps", (int)thread);
    return owner_at(AT_FDCWD, maps);
}

/* One that ends has no memory that could be denied, nor has a first thread that has ended. */
static gboolean
is_closed(const char *stat, const char *status, uid_t owner, const Process *process)
{
    const char *permitted = strstr(status, "\nCapPrm:");
    guint64 capabilities = 0, size = 0;
    process_stat_number(stat, PROCESS_STAT_SIZE, &size);
    if (process->state == 'Z' && !process_has_ended(process)) {
        owner = memory_owner_of(process_thread(process->pid));
        size = 1;
    }
    if (permitted != NULL)
        capabilities = g_ascii_strtoull(permitted + strlen("\nCapPrm:"), NULL, 16);
    /* Root could give himself any. */
    const gboolean has_more = capabilities != 0 && process->uids[1] != 0 && user_namespace_maker(process->pid) == 0;
    return size != 0 && (owner != process->uids[1] || has_more);
}

gboolean
process_parse(const char *stat, const char *status, uid_t owner, Process *process)
{
    if (status == NULL || !parse_stat(stat, process) || !parse_status(status, process))
        return FALSE;
    process->closed = is_closed(stat, status, owner, process);
    return TRUE;
}

uid_t
process_memory_owner(int directory)
{
    return owner_at(directory, "maps");
}

/* Reads the process, with the kernel's name unchanged. */
static gboolean
read_facts(pid_t pid, Process *process)
{
    const uid_t owner = memory_owner_of(pid);
    g_autofree char *stat = read_proc(pid, "stat", NULL);
    g_autofree char *status = read_proc(pid, "status", NULL);
    *process = (Process){.pid = pid};
    return process_parse(stat, status, owner, process);
}

static gboolean
take_facts(Process *found, Process *process)
{
    text_clean_line(found->name, sizeof(found->name));
    *process = *found;
    return TRUE;
}

gboolean
process_look(pid_t pid, Process *process)
{
    Process found;
    return read_facts(pid, &found) && take_facts(&found, process);
}

gboolean
process_read(pid_t pid, Process *process)
{
    Process found;
    if (!read_facts(pid, &found))
        return FALSE;
    complete_name(&found);
    return take_facts(&found, process);
}

guint64
process_start_time(pid_t pid)
{
    g_autofree char *stat = read_proc(pid, "stat", NULL);
    guint64 start_time;
    return process_stat_number(stat, PROCESS_STAT_START_TIME, &start_time) ? start_time : 0;
}

gboolean
process_program(pid_t pid, ProcessProgram *program)
{
    const pid_t thread = process_thread(pid);
    g_autofree char *path = g_strdup_printf("/proc/%d/exe", (int)thread);
    struct statx executable;
    /* What its file system may not answer is not asked for. */
    if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_INO, &executable) != 0)
        return FALSE;
    g_autofree char *stat_text = read_proc(thread, "stat", NULL);
    guint64 stack;
    if (!process_stat_number(stat_text, PROCESS_STAT_STACK, &stack)) {
        if (stat_text != NULL || !process_is_shortage(errno))
            errno = ESRCH;
        return FALSE;
    }
    *program = (ProcessProgram){.stack = stack,
                                .device = makedev(executable.stx_dev_major, executable.stx_dev_minor),
                                .inode = executable.stx_ino};
    return TRUE;
}

gboolean
process_program_equal(const ProcessProgram *a, const ProcessProgram *b)
{
    return a->stack == b->stack && process_program_is_of_file(a, b);
}

gboolean
process_program_is_of_file(const ProcessProgram *a, const ProcessProgram *b)
{
    return a->device == b->device && a->inode == b->inode;
}

static int
compare_pids(gconstpointer a, gconstpointer b)
{
    const Process *left = a;
    const Process *right = b;
    return (left->pid > right->pid) - (left->pid < right->pid);
}

/* Processes with names that may be truncated, whose users can delay completing them. */
typedef struct {
    GArray *list;
    GArray *at; /* guint, indices in it */
} Cut;

static Process *
cut_process(const Cut *cut, guint i)
{
    return &g_array_index(cut->list, Process, g_array_index(cut->at, guint, i));
}

static void
complete_aside(gpointer data, guint i, gpointer answer)
{
    Process process = *cut_process(data, i);
    complete_name(&process);
    g_strlcpy(answer, process.name, PROCESS_NAME_MAX);
}

static uid_t
user_of_cut(gconstpointer data, guint i)
{
    return cut_process(data, i)->uids[1];
}

static void
take_completed(gpointer data, guint i, gconstpointer answer)
{
    if (answer != NULL)
        g_strlcpy(cut_process(data, i)->name, answer, PROCESS_NAME_MAX);
}

/* As process_may_delay(), which would read the status again. */
static gboolean
may_delay(const Process *process)
{
    return !aside_is_inside() &&
           (process_user(process) != geteuid() || (geteuid() == 0 && !process_sees_our_files(process->pid)));
}

/* All at once, since a child for each of another user's thousands of processes would take minutes. */
static void
complete_names(GArray *list)
{
    g_autoptr(GArray) at = g_array_new(FALSE, FALSE, sizeof(guint));
    for (guint i = 0; i < list->len; i++) {
        Process *process = &g_array_index(list, Process, i);
        if (strlen(process->name) != PROCESS_COMM_MAX)
            continue;
        if (may_delay(process))
            g_array_append_val(at, i);
        else
            complete_name(process);
    }
    Cut cut = {list, at};
    const AsideList names = {.n = at->len,
                             .size = PROCESS_NAME_MAX,
                             .data = &cut,
                             .each = complete_aside,
                             .user = user_of_cut,
                             .most_ms = WHOLE_NAMES_MS};
    aside_each(&names, take_completed);
}

/* A process in another user namespace. */
typedef struct {
    pid_t pid;
    guint at;      /* its index among the pids to read */
    guint turn;    /* its rank among those of its maker */
    guint64 maker; /* user_namespace_maker() */
} Enclosed;

static gint
compare_turns(gconstpointer a, gconstpointer b)
{
    const Enclosed *left = a, *right = b;
    if (left->turn != right->turn)
        return left->turn < right->turn ? -1 : 1;
    return (left->at > right->at) - (left->at < right->at);
}

typedef struct {
    guint n;   /* processes */
    gint64 us; /* for reading them */
} Taken;

static Taken *
taken_of(GHashTable *makers, guint64 maker)
{
    Taken *taken = g_hash_table_lookup(makers, &maker);
    if (taken == NULL) {
        taken = g_new0(Taken, 1);
        g_hash_table_insert(makers, g_memdup2(&maker, sizeof(maker)), taken);
    }
    return taken;
}

/* The makers take turns. */
static ProcessListGaps
add_enclosed(GArray *list, GArray *enclosed)
{
    ProcessListGaps gaps = {0};
    g_autoptr(GHashTable) makers = g_hash_table_new_full(keyed_hash_int64, g_int64_equal, g_free, g_free);
    gint64 all_us = 0;
    for (guint i = 0; i < enclosed->len; i++) {
        Enclosed *one = &g_array_index(enclosed, Enclosed, i);
        one->turn = taken_of(makers, one->maker)->n++;
    }
    g_array_sort(enclosed, compare_turns);
    for (guint i = 0; i < enclosed->len; i++) {
        const Enclosed *one = &g_array_index(enclosed, Enclosed, i);
        Taken *taken = taken_of(makers, one->maker);
        Process process;
        if (taken->us >= MAKER_US || all_us >= MAKERS_US) {
            /* Without root's rights, jescope cannot reach any of them. */
            ++*(taken->us >= MAKER_US || geteuid() != 0 ? &gaps.slow : &gaps.unread);
            continue;
        }
        const gint64 begin = g_get_monotonic_time();
        if (read_facts(one->pid, &process))
            g_array_append_val(list, process);
        const gint64 us = g_get_monotonic_time() - begin;
        taken->us += us;
        all_us += us;
    }
    return gaps;
}

/* As process_look_each(), with names that are not safe for terminals. */
static GArray *
read_each(const GArray *pids, ProcessListGaps *gaps)
{
    GArray *list = g_array_new(FALSE, FALSE, sizeof(Process));
    g_autoptr(GArray) enclosed = g_array_new(FALSE, FALSE, sizeof(Enclosed));
    for (guint i = 0; i < pids->len; i++) {
        Process process;
        const pid_t pid = g_array_index(pids, pid_t, i);
        const Enclosed one = {.pid = pid, .at = i, .maker = user_namespace_maker(pid)};
        if (one.maker != 0)
            g_array_append_val(enclosed, one);
        else if (read_facts(pid, &process))
            g_array_append_val(list, process);
    }
    const ProcessListGaps left_out = add_enclosed(list, enclosed);
    if (gaps != NULL)
        *gaps = left_out;
    return list;
}

static void
clean_names(GArray *list)
{
    for (guint i = 0; i < list->len; i++)
        text_clean_line(g_array_index(list, Process, i).name, PROCESS_NAME_MAX);
}

GArray *
process_look_each(const GArray *pids, ProcessListGaps *gaps)
{
    GArray *list = read_each(pids, gaps);
    clean_names(list);
    return list;
}

GArray *
process_list(ProcessListGaps *gaps)
{
    g_autoptr(GArray) pids = g_array_new(FALSE, FALSE, sizeof(pid_t));
    g_autoptr(GDir) proc = g_dir_open("/proc", 0, NULL);
    const char *name;
    while (proc != NULL && (name = g_dir_read_name(proc)) != NULL) {
        const pid_t pid = g_ascii_isdigit(name[0]) ? (pid_t)atoi(name) : 0;
        if (pid > 0)
            g_array_append_val(pids, pid);
    }
    GArray *list = read_each(pids, gaps);
    complete_names(list);
    clean_names(list);
    g_array_sort(list, compare_pids);
    return list;
}

guint64
process_rss(pid_t pid)
{
    g_autofree char *statm = read_proc(process_thread(pid), "statm", NULL);
    unsigned long long pages;
    return statm != NULL && sscanf(statm, "%*u %llu", &pages) == 1 ? pages * (guint64)sysconf(_SC_PAGESIZE) : 0;
}

char *
process_arguments(pid_t pid)
{
    gsize length;
    g_autofree char *words = read_arguments(pid, &length);
    return words != NULL ? arguments_text(words, length) : g_strdup("");
}

char *
process_operand(const Process *process)
{
    return g_strdup_printf("%d@%" G_GUINT64_FORMAT, (int)process->pid, process->start_time);
}

gboolean
process_operand_parse(const char *text, pid_t *pid, guint64 *start_time)
{
    guint64 number;
    g_auto(GStrv) parts = g_strsplit(text, "@", 3);
    const guint n = g_strv_length(parts);
    *start_time = 0;
    if (n < 1 || n > 2 || !g_ascii_string_to_unsigned(parts[0], 10, 1, G_MAXINT32, &number, NULL) ||
        (n == 2 && !g_ascii_string_to_unsigned(parts[1], 10, 1, G_MAXUINT64, start_time, NULL)))
        return FALSE;
    *pid = (pid_t)number;
    return TRUE;
}

gboolean
process_operand_is_number(const char *text)
{
    pid_t pid;
    guint64 start;
    return strspn(text, "0123456789") == strlen(text) || process_operand_parse(text, &pid, &start);
}

/* Whether PID is a process, as far as can be said after its file of ERROR could not be read. */
static gboolean
is_there_unread(pid_t pid, int error)
{
    return process_is_shortage(error) && (kill(pid, 0) == 0 || errno == EPERM);
}

gboolean
process_is_there(pid_t pid, guint64 start_time)
{
    g_autofree char *stat = read_proc(pid, "stat", NULL);
    guint64 now;
    if (stat == NULL)
        return is_there_unread(pid, errno);
    return process_stat_number(stat, PROCESS_STAT_START_TIME, &now) && now == start_time;
}

gboolean
process_alive(pid_t pid, guint64 start_time)
{
    g_autofree char *stat = read_proc(pid, "stat", NULL);
    Process now = {0};
    if (stat == NULL)
        return is_there_unread(pid, errno);
    return parse_stat(stat, &now) && now.start_time == start_time && !process_has_ended(&now);
}

gboolean
process_read_again(Process *process)
{
    Process now;
    if (!process_read(process->pid, &now) || now.start_time != process->start_time)
        return FALSE;
    *process = now;
    return TRUE;
}

gboolean
process_name_is(const char *name, const char *asked)
{
    g_autofree char *clean = g_strdup(asked);
    text_clean_line(clean, strlen(asked) + 1);
    const gsize length = strlen(name);
    const gboolean cut = length >= PROCESS_COMM_MAX && strncmp(name, clean, PROCESS_COMM_MAX) == 0 &&
                         (length == PROCESS_COMM_MAX || strlen(clean) == PROCESS_COMM_MAX);
    return cut || strcmp(name, clean) == 0;
}

gboolean
process_is_roots(const Process *process)
{
    guint roots = 0;
    for (guint i = 0; i < PROCESS_UIDS; i++)
        roots += process->uids[i] == 0;
    return roots == PROCESS_UIDS;
}

uid_t
process_user(const Process *process)
{
    for (guint i = 1; i < PROCESS_UIDS; i++)
        if (process->uids[i] != process->uids[0])
            return (uid_t)-1;
    return process->uids[0];
}

uid_t
process_viewer(const Process *process)
{
    return process->closed ? (uid_t)-1 : process_user(process);
}

uid_t
process_author(const Process *process)
{
    const uid_t user = process_user(process);
    return user != (uid_t)-1 ? user : process->uids[0];
}

gboolean
process_is_ours(const Process *process)
{
    return reach_user() == 0 || process->uids[1] == reach_user();
}

/* The line of a uid_map after LINE; NULL: it is the last one. */
static const char *
next_line(const char *line)
{
    const char *end = strchr(line, '\n');
    return end != NULL && end[1] != '\0' ? end + 1 : NULL;
}

uid_t
process_namespace_root(const char *map)
{
    unsigned inside, outside;
    for (const char *line = map; line != NULL; line = next_line(line))
        if (sscanf(line, "%u %u", &inside, &outside) == 2 && inside == 0)
            return outside;
    return (uid_t)-1;
}

uid_t
process_inner_uid(const Process *process)
{
    uid_t outer = process->uids[1];
    g_autofree char *map = read_proc(process->pid, "uid_map", NULL);
    for (const char *line = map; line != NULL; line = next_line(line)) {
        unsigned inside;
        unsigned outside;
        unsigned count;
        if (sscanf(line, "%u %u %u", &inside, &outside, &count) == 3 && outer >= outside && outer - outside < count)
            return inside + (outer - outside);
    }
    return outer;
}

typedef enum {
    NAME_WHOLE,
    NAME_ENDING,
} NameMatch;

/* ENVIRONMENT has a NUL after its last byte. */
static char *
find_variable(const char *environment, gsize length, const char *name, NameMatch match)
{
    size_t name_length = strlen(name);
    for (gsize at = 0; at < length; at += strlen(environment + at) + 1) {
        const char *equals = strchr(environment + at, '=');
        size_t before = equals != NULL ? (size_t)(equals - environment - at) : 0;
        if (before >= name_length && (match == NAME_ENDING || before == name_length) &&
            strncmp(equals - name_length, name, name_length) == 0)
            return g_strdup(equals + 1);
    }
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

static char *
read_variable(pid_t pid, const char *name, NameMatch match)
{
    gsize length = 0;
    g_autofree char *environment = read_proc(pid, "environ", &length);
    if (environment == NULL || memchr(environment, '=', length) != NULL || length == 0)
        return environment != NULL ? find_variable(environment, length, name, match) : NULL;
    g_autofree char *before = read_starter(pid, &length);
    return before != NULL ? find_variable(before, length, name, match) : NULL;
}

char *
process_variable(pid_t pid, const char *name)
{
    const ReachOps *elsewhere = reach_elsewhere();
    return elsewhere != NULL ? elsewhere->variable(pid, name) : read_variable(pid, name, NAME_WHOLE);
}

char *
process_variable_ending(pid_t pid, const char *ending)
{
    return read_variable(pid, ending, NAME_ENDING);
}

gint64
process_started_us(guint64 start_time)
{
    struct timespec since_boot;
    clock_gettime(CLOCK_BOOTTIME, &since_boot);
    gint64 up_us = (gint64)since_boot.tv_sec * G_USEC_PER_SEC + since_boot.tv_nsec / 1000;
    gint64 ticks = MAX(sysconf(_SC_CLK_TCK), 1);
    return g_get_real_time() - up_us + (gint64)(start_time * G_USEC_PER_SEC / (guint64)ticks);
}
