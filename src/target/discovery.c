/* SPDX-License-Identifier: Apache-2.0 */
#include "target/discovery.h"

#include "target/diagnosis.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
    DEAD_AGE_SECONDS = 2, /* a younger socket may be bound and about to listen */
};

static void
add_directory(GPtrArray *list, char *directory)
{
    if (directory[0] == '/' && !g_ptr_array_find_with_equal_func(list, directory, g_str_equal, NULL))
        g_ptr_array_add(list, directory);
    else
        g_free(directory);
}

/* The agent looked at its user id when it started; which of the ids that was cannot be told afterwards. */
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

/* The directories of sockets called NAME in the network namespace of PROCESS. For programs that write their title over
 * their environment, as redis-server does. */
static GPtrArray *
bound_directories(const Process *process, const char *name)
{
    GPtrArray *list = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *path = g_strdup_printf("/proc/%d/net/unix", (int)process->pid);
    g_autofree char *suffix = g_strconcat("/", name, NULL);
    g_autofree char *sockets = NULL;
    if (!g_file_get_contents(path, &sockets, NULL, NULL))
        return list;
    g_auto(GStrv) lines = g_strsplit(sockets, "\n", -1);
    for (char **line = lines; *line != NULL; line++) {
        const char *bound = strchr(*line, '/');
        if (bound != NULL && g_str_has_suffix(bound, suffix))
            add_directory(list, g_strndup(bound, strlen(bound) - strlen(suffix)));
    }
    return list;
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

static char *
find_socket(const Process *process, const GPtrArray *directories, const char *name)
{
    g_autofree char *root = g_strdup_printf("/proc/%d/root", (int)process->pid);
    /* Our own view as well: the target may have changed its root after the agent made the socket, and the root of a
     * process that is not dumpable is closed to us. */
    const char *const views[] = {root, ""};
    for (size_t view = 0; view < G_N_ELEMENTS(views); view++) {
        for (guint i = 0; i < directories->len; i++) {
            g_autofree char *directory = g_strconcat(views[view], directories->pdata[i], NULL);
            if (has_socket(directory, name, process))
                return g_strconcat(directory, "/", name, NULL);
        }
    }
    return NULL;
}

char *
discovery_socket(const Process *process)
{
    g_autofree char *name =
        g_strdup_printf("%d.%" G_GUINT64_FORMAT ".sock", (int)process->inner_pid, process->start_time);
    g_autoptr(GPtrArray) told = discovery_directories(process);
    char *path = find_socket(process, told, name);
    if (path != NULL || !diagnosis_has_agent(process))
        return path;
    g_autoptr(GPtrArray) bound = bound_directories(process, name);
    return find_socket(process, bound, name);
}

static gboolean
nobody_listens(int directory, const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int length = snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", directory, name);
    if (length < 0 || (size_t)length >= sizeof(address.sun_path))
        return FALSE;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return FALSE;
    gboolean refused = connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0 && errno == ECONNREFUSED;
    close(fd);
    return refused;
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
    if (fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISSOCK(st.st_mode) ||
        time(NULL) - st.st_mtime < DEAD_AGE_SECONDS)
        return FALSE;
    /* The pid may be one of another pid namespace that shares this directory; whoever listens lives. */
    return !process_alive(pid, start_time) && nobody_listens(directory, name);
}

static void
clean_directory(const char *path)
{
    int directory = discovery_open_directory(path, NULL);
    if (directory < 0)
        return;
    g_autofree char *pinned = g_strdup_printf("/proc/self/fd/%d", directory);
    g_autoptr(GDir) entries = g_dir_open(pinned, 0, NULL);
    const char *name;
    while (entries != NULL && (name = g_dir_read_name(entries)) != NULL)
        if (is_dead(directory, name))
            unlinkat(directory, name, 0);
    close(directory);
}

void
discovery_remove_dead(void)
{
    Process self;
    if (!process_read(getpid(), &self))
        return;
    g_autoptr(GPtrArray) directories = discovery_directories(&self);
    for (guint i = 0; i < directories->len; i++)
        clean_directory(directories->pdata[i]);
}
