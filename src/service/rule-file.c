/* SPDX-License-Identifier: Apache-2.0 */
#include "service/rule-file.h"

#include "target/own-room.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    READABLE = 0444, /* no other user may open it to empty it, which the next program would see */
};

static gboolean
copy(int to, int from, off_t size)
{
    off_t at = 0;
    while (at < size) {
        const ssize_t n = sendfile(to, from, &at, (size_t)(size - at));
        if (n == 0)
            errno = EIO;
        if (n <= 0 && errno != EINTR)
            return FALSE;
    }
    return TRUE;
}

/* With the time of FROM, which is that of the dump. Not F_SEAL_SHRINK, for rule_file_free(). */
static gboolean
fill(int to, int from, const struct stat *status)
{
    const struct timespec times[] = {status->st_mtim, status->st_mtim};
    return copy(to, from, status->st_size) && futimens(to, times) == 0 && fchmod(to, READABLE) == 0 &&
           fcntl(to, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SEAL) == 0;
}

static int
make_copy(int from, Failure *failure)
{
    struct stat status = {0};
    if (fstat(from, &status) != 0) {
        failure_set_error(failure, OUTCOME_SYSTEM, errno, "cannot examine what is to be copied for later actions");
        return -1;
    }
    if (!own_room_may_hold((guint64)status.st_size)) {
        failure_set(failure, OUTCOME_SYSTEM, "there is too little memory left for a copy for later actions");
        return -1;
    }
    const int to = memfd_create("jescope-rule", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (to >= 0 && fill(to, from, &status))
        return to;
    failure_set_error(failure, OUTCOME_SYSTEM, errno, "cannot keep a copy for later actions");
    if (to >= 0)
        close(to);
    return -1;
}

int
rule_file_new(int from, Failure *failure)
{
    const int file = make_copy(from, failure);
    close(from);
    return file;
}

int
rule_file_open(int file)
{
    char path[64];
    g_snprintf(path, sizeof(path), "/proc/thread-self/fd/%d", file);
    return open(path, O_RDONLY | O_CLOEXEC);
}

void
rule_file_free(int file)
{
    if (file < 0)
        return;
    G_GNUC_UNUSED const int failed = ftruncate(file, 0);
    close(file);
}
