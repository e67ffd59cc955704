/* SPDX-License-Identifier: Apache-2.0 */
#include "embed/own-dump.h"

#include "jemalloc/dump-name.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/sendfile.h>
#include <unistd.h>

enum {
    CHUNK = 1024 * 1024,
    FILE_MODE = 0644, /* as jemalloc's own files, restricted by the umask */
};

int
own_dump_create(const char *prefix, char *path, size_t size)
{
    if (prefix[0] == '\0') {
        errno = EINVAL;
        return -1;
    }
    for (unsigned n = 0; n < DUMP_NAMES_MAX; n++) {
        int length = snprintf(path, size, DUMP_NAME_FORMAT, prefix, (long)getpid(), n, n);
        if (length < 0 || (size_t)length >= size) {
            errno = ENAMETOOLONG;
            return -1;
        }
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

bool
own_dump_store(const char *prefix, int dump)
{
    off_t at = 0;
    ssize_t n = 1;
    char path[PATH_MAX];
    int to = own_dump_create(prefix, path, sizeof(path));
    if (to < 0)
        return false;
    while (n > 0)
        n = sendfile(to, dump, &at, CHUNK);
    return close(to) == 0 && n == 0;
}
