/* SPDX-License-Identifier: Apache-2.0 */
#include "target/discovery.h"

#include "confine/aside.h"
#include "confine/rights.h"
#include "target/diagnosis.h"
#include "target/memory-map.h"
#include "target/reach.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
    DEAD_AGE_SECONDS = 2,          /* a younger socket may be bound but not listening yet */
    CLEANED_MAX = 4096,            /* maximum number of directories, and of entries in each */
    CLEAN_US = G_USEC_PER_SEC / 2, /* maximum duration, since any user can create many directories */
    SOCKETS_MAX = 64 << 20,        /* bytes of a list of sockets: any user can bind many */
    FILES_MAX = 65536,             /* descriptors of a process */
    SOCKET_PATH_MAX = 8 << 10,
    LISTENING = 1 << 16, /* flag of a listening socket in /proc/net/unix (unix_seq_show() in the kernel) */
};

static void
add_directory(GPtrArray *list, char *directory)
{
    if (directory[0] == '/' && !g_ptr_array_find_with_equal_func(list, directory, g_str_equal, NULL))
        g_ptr_array_add(list, directory);
    else
        g_free(directory);
}

/* The agent used the user id that the process had at the agent's start, which may be any of its ids. */
GPtrArray *
discovery_directories(const Process *process)
{
    GPtrArray *list = g_ptr_array_new_with_free_func(g_free);
    char *own = process_variable(process->pid, "JESCOPE_SOCKET_DIR");
    if (own != NULL)
        add_directory(list, own);
    g_autofree char *runtime = process_variable(process->pid, "XDG_RUNTIME_DIR");
    if (runtime != NULL)
        add_directory(list, g_strconcat(runtime, "/jescope", NULL));
    add_directory(list, g_strdup_printf("/tmp/.jescope-%u", process_inner_uid(process)));
    for (int i = 0; i < PROCESS_UIDS; i++)
        add_directory(list, g_strdup_printf("/tmp/.jescope-%u", process->uids[i]));
    add_directory(list, g_strdup("/tmp/.jescope-0"));
    return list;
}

/* Only a directory to which no other user can write. Its owner could make jescope examine all processes again and
 * again. None is made in a directory of another user, as sudo -E names: his own agents could not use it. */
static void
watch_directory(int inotify, const char *path)
{
    g_autofree char *parent = g_path_get_dirname(path);
    if (rights_decide_alone(parent))
        g_mkdir(path, S_IRWXU);
    int directory = discovery_open_directory(path, NULL);
    if (directory < 0)
        return;
    g_autofree char *pinned = g_strdup_printf("/proc/self/fd/%d", directory);
    inotify_add_watch(inotify, pinned, IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_ONLYDIR);
    close(directory);
}

void
discovery_watch_own(int inotify)
{
    const ReachOps *elsewhere = reach_elsewhere();
    Process self;
    if (elsewhere != NULL) {
        elsewhere->watch(inotify);
        return;
    }
    if (!process_read(getpid(), &self))
        return;
    g_autoptr(GPtrArray) directories = discovery_directories(&self);
    for (guint i = 0; i < directories->len; i++)
        watch_directory(inotify, directories->pdata[i]);
}

/* The inodes of the sockets of PROCESS, a set. NULL: they cannot be read. */
static GHashTable *
own_sockets(const Process *process)
{
    const pid_t thread = diagnosis_agent_thread(process); /* the first thread may have ended */
    g_autofree char *path =
        g_strdup_printf("/proc/%d/task/%d/fd", (int)process->pid, (int)(thread != 0 ? thread : process->pid));
    g_autoptr(GDir) descriptors = g_dir_open(path, 0, NULL);
    if (descriptors == NULL)
        return NULL;
    GHashTable *sockets = g_hash_table_new(NULL, NULL);
    const char *number;
    for (guint n = 0; n < FILES_MAX && (number = g_dir_read_name(descriptors)) != NULL; n++) {
        g_autofree char *link = g_build_filename(path, number, NULL);
        g_autofree char *name = g_file_read_link(link, NULL);
        unsigned long inode;
        if (name != NULL && sscanf(name, "socket:[%lu]", &inode) == 1)
            g_hash_table_add(sockets, GSIZE_TO_POINTER(inode));
    }
    return sockets;
}

typedef struct {
    GHashTable *own;    /* own_sockets() */
    const char *suffix; /* of the path to find */
    GPtrArray *directories;
} Bound;

/* Finds a listening socket in LINE: "Num RefCount Protocol Flags Type St Inode Path". The path of an abstract socket
 * begins with '@'. Any user can bind sockets of this name, as many as he likes. */
static gboolean
note_bound(char *line, gpointer data)
{
    Bound *bound = data;
    unsigned flags, type;
    unsigned long inode;
    int end = 0;
    if (sscanf(line, "%*s %*s %*s %x %x %*s %lu %n", &flags, &type, &inode, &end) != 3 || end == 0 ||
        line[end] != '/' || type != SOCK_SEQPACKET || (flags & LISTENING) == 0 ||
        !g_str_has_suffix(line + end, bound->suffix) || !g_hash_table_contains(bound->own, GSIZE_TO_POINTER(inode)))
        return TRUE;
    add_directory(bound->directories, g_strndup(line + end, strlen(line + end) - strlen(bound->suffix)));
    return FALSE;
}

/* The directory in which PROCESS itself listens at a socket called NAME, if any. For programs that overwrite their
 * environment with their title, as redis-server does. */
static GPtrArray *
bound_directories(const Process *process, const char *name)
{
    g_autofree char *suffix = g_strconcat("/", name, NULL);
    g_autoptr(GHashTable) own = own_sockets(process);
    Bound bound = {own, suffix, g_ptr_array_new_with_free_func(g_free)};
    if (own != NULL)
        memory_map_read_list(process->pid, "net/unix", SOCKETS_MAX, note_bound, &bound);
    return bound.directories;
}

static gboolean
pass_over_line(char *line, gpointer data)
{
    return TRUE;
}

gboolean
discovery_is_cut(const Process *process)
{
    return memory_map_read_list(process->pid, "net/unix", SOCKETS_MAX, pass_over_line, NULL) == MEMORY_MAP_TOO_LARGE;
}

static gboolean
owner_trusted(uid_t owner, const Process *process)
{
    if (owner == 0 || owner == geteuid())
        return TRUE;
    for (int i = 0; geteuid() == 0 && process != NULL && i < PROCESS_UIDS; i++)
        if (owner == process->uids[i])
            return TRUE;
    return FALSE;
}

int
discovery_open_directory(const char *path, const Process *process)
{
    int fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -1;
    struct stat st;
    if (fstat(fd, &st) == 0 && owner_trusted(st.st_uid, process) && (st.st_mode & (S_IRWXG | S_IRWXO)) == 0)
        return fd;
    close(fd);
    errno = EPERM;
    return -1;
}

static gboolean
has_socket(const char *directory, const char *name, const Process *process)
{
    int fd = discovery_open_directory(directory, process);
    if (fd < 0)
        return FALSE;
    struct stat st;
    gboolean found = fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISSOCK(st.st_mode);
    close(fd);
    return found;
}

/* Counts a listener with a full backlog too. */
static gboolean
listens(int directory, const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int length = snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", directory, name);
    if (length < 0 || (size_t)length >= sizeof(address.sun_path))
        return TRUE;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return TRUE;
    gboolean refused = connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0 && errno == ECONNREFUSED;
    close(fd);
    return !refused;
}

static gboolean
socket_listens(const char *path, const Process *process)
{
    g_autofree char *directory = g_path_get_dirname(path);
    g_autofree char *name = g_path_get_basename(path);
    int fd = discovery_open_directory(directory, process);
    gboolean listening = fd >= 0 && listens(fd, name);
    if (fd >= 0)
        close(fd);
    return listening;
}

/* A process that has changed its user may have left a socket in the directory of the previous user: of several sockets,
 * one with a listener is chosen. A single one is not tested, since a connection makes its agent prepare for a
 * client. */
static char *
find_in_view(const char *view, const Process *process, const GPtrArray *directories, const char *name)
{
    g_autoptr(GPtrArray) found = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < directories->len; i++) {
        g_autofree char *directory = g_strconcat(view, directories->pdata[i], NULL);
        if (has_socket(directory, name, process))
            g_ptr_array_add(found, g_strconcat(directory, "/", name, NULL));
    }
    for (guint i = 0; found->len > 1 && i < found->len; i++)
        if (socket_listens(found->pdata[i], process))
            return g_strdup(found->pdata[i]);
    return found->len > 0 ? g_strdup(found->pdata[0]) : NULL;
}

/* The root of a process as a prefix of paths for this process; the agent's thread keeps its initial root. */
static char *
root_of_agent(const Process *process)
{
    pid_t thread = diagnosis_agent_thread(process);
    return thread != 0 ? g_strdup_printf("/proc/%d/task/%d/root", (int)process->pid, (int)thread) : NULL;
}

static char *
find_socket(const Process *process, const GPtrArray *directories, const char *name)
{
    g_autofree char *root = g_strdup_printf("/proc/%d/root", (int)process->pid);
    char *path = find_in_view(root, process, directories, name);
    /* Also tries our own view, since the root of a non-dumpable process is inaccessible to us. */
    if (path == NULL)
        path = find_in_view("", process, directories, name);
    g_autofree char *earlier = path == NULL ? root_of_agent(process) : NULL;
    return earlier != NULL ? find_in_view(earlier, process, directories, name) : path;
}

/* A socket of a previous user of the process may be a stale one. */
static gboolean
is_of_its_user(const char *path, const Process *process)
{
    struct stat st;
    return lstat(path, &st) == 0 && st.st_uid == process->uids[1];
}

/* How much the clock since boot of PROC ("self", a pid) is ahead of the machine's, in clock ticks: by its time
 * namespace. */
static gint64
ticks_ahead(const char *proc)
{
    g_autofree char *path = g_strdup_printf("/proc/%s/timens_offsets", proc);
    g_autofree char *text = NULL;
    const char *line = g_file_get_contents(path, &text, NULL, NULL) ? strstr(text, "boottime") : NULL;
    gint64 seconds = 0;
    gint64 ns = 0;
    if (line == NULL || sscanf(line, "boottime %" G_GINT64_FORMAT " %" G_GINT64_FORMAT, &seconds, &ns) != 2)
        return 0;
    const gint64 ticks = sysconf(_SC_CLK_TCK);
    return seconds * ticks + ns / (G_GINT64_CONSTANT(1000000000) / ticks);
}

/* The agent knows the start time by the clock of its own time namespace. */
char *
discovery_socket_name(const Process *process)
{
    char pid[16];
    g_snprintf(pid, sizeof(pid), "%d", (int)process->pid);
    const guint64 start_time = process->start_time + (guint64)(ticks_ahead(pid) - ticks_ahead("self"));
    return g_strdup_printf("%d.%" G_GUINT64_FORMAT ".sock", (int)process->inner_pid, start_time);
}

gboolean
discovery_may_be_delayed(const Process *process)
{
    return geteuid() == 0 && reach_elsewhere() == NULL &&
           !(process_is_roots(process) && process_sees_our_files(process->pid));
}

static char *
search_socket(const Process *process)
{
    g_autofree char *name = discovery_socket_name(process);
    g_autoptr(GPtrArray) directories = discovery_directories(process);
    g_autofree char *path = find_socket(process, directories, name);
    if ((path != NULL && is_of_its_user(path, process)) || !diagnosis_has_agent(process))
        return g_steal_pointer(&path);
    g_autoptr(GPtrArray) bound = bound_directories(process, name);
    char *there = find_socket(process, bound, name);
    return there != NULL ? there : g_steal_pointer(&path);
}

static void
search_aside(gpointer process, ChannelMessage *answer)
{
    g_autofree char *path = search_socket(process);
    answer->size = path != NULL ? g_strlcpy(answer->bytes, path, SOCKET_PATH_MAX) : 0;
    answer->size = MIN(answer->size, SOCKET_PATH_MAX - 1) + 1;
    if (path == NULL)
        *(char *)answer->bytes = '\0';
}

char *
discovery_socket(const Process *process)
{
    char path[SOCKET_PATH_MAX];
    Process copy = *process;
    ChannelMessage answer = {.bytes = path, .size = sizeof(path)};
    if (!discovery_may_be_delayed(process) || aside_is_inside())
        return search_socket(process);
    if (aside_run(search_aside, &copy, process->uids[1], &answer) != ASIDE_DONE)
        return NULL;
    channel_close_fds(&answer);
    path[sizeof(path) - 1] = '\0';
    return path[0] != '\0' ? g_strdup(path) : NULL;
}

/* Stands for all users in confine/aside.h: directories of all users may be on file systems that delay access. Not a
 * user id. */
static const uid_t SOMEBODY = (uid_t)-1;

static gboolean
is_new(const struct stat *st)
{
    return time(NULL) - st->st_mtime < DEAD_AGE_SECONDS;
}

static gboolean
is_dead(int directory, const char *name)
{
    int pid;
    unsigned long long start_time;
    int end = 0;
    if (sscanf(name, "%d.%llu.sock%n", &pid, &start_time, &end) != 2 || end == 0 || name[end] != '\0')
        return FALSE;
    struct stat st;
    if (fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISSOCK(st.st_mode) || is_new(&st))
        return FALSE;
    /* The pid may be of another pid namespace that shares this directory; a listening process is alive. Without the
     * agent's thread, nothing will listen again. */
    Process process;
    gboolean may_listen =
        process_alive(pid, start_time) && process_read(pid, &process) && diagnosis_agent_thread(&process) != 0;
    return !may_listen && !listens(directory, name);
}

/* Like discovery_open_directory(), but for root's cleaning of all users' sockets: names are removed only in directories
 * without access for others, not reached through a link, and only if no agent listens. */
static int
open_to_clean(const char *path)
{
    int fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    if (fd >= 0 && fstat(fd, &st) == 0 && (geteuid() == 0 || st.st_uid == geteuid()) &&
        (st.st_mode & (S_IRWXG | S_IRWXO)) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Whether PATH was made for one process: /tmp/.jescope-USER.… Others may make such names of any bytes. */
static gboolean
is_for_one_process(const char *path)
{
    static const char prefix[] = "/tmp/.jescope-";
    return g_str_has_prefix(path, prefix) && strchr(path + strlen(prefix), '.') != NULL;
}

static void
clean_directory(const char *path, gint64 until)
{
    int directory = open_to_clean(path);
    if (directory < 0)
        return;
    g_autofree char *pinned = g_strdup_printf("/proc/self/fd/%d", directory);
    g_autoptr(GDir) entries = g_dir_open(pinned, 0, NULL);
    const char *name;
    for (int n = 0; entries != NULL && n < CLEANED_MAX && g_get_monotonic_time() < until &&
                    (name = g_dir_read_name(entries)) != NULL;
         n++)
        if (is_dead(directory, name))
            unlinkat(directory, name, 0);
    struct stat st;
    gboolean unused = fstat(directory, &st) == 0 && !is_new(&st);
    close(directory);
    if (unused && is_for_one_process(path))
        rmdir(path); /* fails unless empty */
}

/* Adds PARENT/NAME/BELOW for each NAME with PREFIX; BELOW may be "". Any user can make many names. */
static void
add_matching(GPtrArray *directories, const char *parent, const char *prefix, const char *below, gint64 until)
{
    g_autoptr(GDir) entries = g_dir_open(parent, 0, NULL);
    const char *name;
    guint n = 0;
    while (entries != NULL && n < CLEANED_MAX && g_get_monotonic_time() < until &&
           (name = g_dir_read_name(entries)) != NULL) {
        if (!g_str_has_prefix(name, prefix))
            continue;
        add_directory(directories, g_build_filename(parent, name, below, NULL));
        n++;
    }
}

static void
remove_dead(gpointer data, ChannelMessage *answer)
{
    const gint64 until = g_get_monotonic_time() + CLEAN_US;
    Process self;
    if (!process_read(getpid(), &self))
        return;
    g_autoptr(GPtrArray) directories = discovery_directories(&self);
    g_autofree char *own = g_strdup_printf(".jescope-%u.", geteuid());
    add_matching(directories, "/tmp", geteuid() == 0 ? ".jescope-" : own, "", until);
    if (geteuid() == 0)
        add_matching(directories, "/run/user", "", "jescope", until);
    for (guint i = 0; i < directories->len && g_get_monotonic_time() < until; i++)
        clean_directory(directories->pdata[i], until);
}

void
discovery_remove_dead(void)
{
    char none = 0;
    ChannelMessage answer = {.bytes = &none, .size = sizeof(none)};
    if (geteuid() == 0)
        aside_run(remove_dead, NULL, SOMEBODY, &answer);
    else
        remove_dead(NULL, &answer);
}
