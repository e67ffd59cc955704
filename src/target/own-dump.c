/* SPDX-License-Identifier: Apache-2.0 */
#include "target/own-dump.h"

#include "target/implementation.h"
#include "target/process-change.h"
#include "target/reach.h"

#include "confine/rights.h"
#include "jemalloc/dump-name.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    CHUNK = 64 * 1024,
    FILE_MODE = 0644, /* like jemalloc's own, minus the umask */
};

/* The directory at which a target's names begin. */
typedef struct {
    int directory;
    Rights rights;
    guint64 resolve; /* of openat2(2) */
} Place;

static void
clear_place(Place *place)
{
    if (place->directory >= 0)
        close(place->directory);
    rights_clear(&place->rights);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Place, clear_place)

/* An absolute path begins at the target's root, a relative one at its working directory, which is confined for a
 * process that sees other files: there, an absolute link or ".." would lead to our files. */
static int
open_place(int process, const char *prefix, Place *place)
{
    gboolean whole = prefix[0] == '/';
    rights_of_process(process, &place->rights);
    place->resolve = RESOLVE_NO_MAGICLINKS | (whole                           ? RESOLVE_IN_ROOT
                                              : rights_see_our_files(process) ? 0
                                                                              : RESOLVE_BENEATH);
    place->directory = openat(process, whole ? "root" : "cwd", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return place->directory >= 0 ? 0 : errno;
}

/* The directory is the process's as it was found, with its rights: the pid may be another's by now. */
static int
find_place(const ReachOwnDump *wanted, Place *place)
{
    g_autofree char *path = g_strdup_printf("/proc/%d", (int)wanted->process->pid);
    int process = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (process < 0)
        return errno;
    int error = open_place(process, wanted->prefix, place);
    if (error == 0)
        error = process_change_check_in(process, wanted->process);
    if (error == 0 && rights_lesser(wanted->user, place->rights.uid) != place->rights.uid)
        error = EPERM;
    close(process);
    return error;
}

/* Creates a new file; never opens an existing one or follows a link in its place. */
static int
create_first(const Place *place, const char *prefix, pid_t pid)
{
    struct open_how how = {
        .flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, .mode = FILE_MODE, .resolve = place->resolve};
    char path[PATH_MAX];
    for (unsigned n = 0; n < DUMP_NAMES_MAX; n++) {
        int length = g_snprintf(path, sizeof(path), DUMP_NAME_FORMAT, prefix, (long)pid, n, n);
        if (length >= (int)sizeof(path)) {
            errno = ENAMETOOLONG;
            return -1;
        }
        int fd = (int)syscall(SYS_openat2, place->directory, path, &how, sizeof(how));
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

static int
create_as(const Place *place, const char *prefix, pid_t pid)
{
    RightsBefore before;
    int fd = -1;
    if (rights_enter(&place->rights, &before))
        fd = create_first(place, prefix, pid);
    else
        errno = EPERM;
    int error = errno;
    rights_leave(&before);
    errno = error;
    return fd;
}

static gboolean
copy(int from, int to)
{
    g_autofree char *chunk = g_malloc(CHUNK);
    for (off_t at = 0;;) {
        ssize_t n = pread(from, chunk, CHUNK, at);
        if (n <= 0)
            return n == 0;
        for (ssize_t done = 0, wrote; done < n; done += wrote)
            if ((wrote = write(to, chunk + done, (size_t)(n - done))) <= 0)
                return FALSE;
        at += n;
    }
}

int
own_dump_store(const ReachOwnDump *wanted)
{
    g_auto(Place) place = {.directory = -1};
    if (wanted->prefix[0] == '\0')
        return EINVAL;
    int error = find_place(wanted, &place);
    if (error != 0)
        return error;
    int to = create_as(&place, wanted->prefix, wanted->inner);
    if (to < 0)
        return errno;
    /* A dump truncated by a full disk is kept, as jemalloc does. */
    error = copy(wanted->dump, to) ? 0 : errno;
    if (close(to) != 0 && error == 0)
        error = errno;
    return error;
}

gboolean
target_dump_to_own_file(Target *target, GError **error)
{
    WireHelloReply hello;
    WireCtlReply prefix;
    int dump = -1;
    if (!target_hello(target, &hello, error) ||
        !target_read(target, "opt.prof_prefix", WIRE_TYPE_STRING, &prefix, error) ||
        (dump = target_dump(target, error)) < 0)
        return FALSE;
    const ReachOps *elsewhere = reach_elsewhere();
    const ReachOwnDump wanted = {.process = &target->found,
                                 .inner = (pid_t)hello.pid,
                                 .user = target->user,
                                 .prefix = prefix.text,
                                 .dump = dump};
    int code = elsewhere != NULL ? elsewhere->own_dump(&wanted) : own_dump_store(&wanted);
    close(dump);
    if (code != 0)
        g_set_error(error, TARGET_OWN_DUMP_ERROR, code,
                    "%s could not write a dump: it was started with prof_prefix '%s' and must be able to create files "
                    "of that name (%s); 'jescope dump' needs no file",
                    target_label(target), prefix.text, g_strerror(code));
    return code == 0;
}

G_DEFINE_QUARK(jescope_target_own_dump_error, target_own_dump_error)
