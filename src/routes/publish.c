/* SPDX-License-Identifier: Apache-2.0 */
#include "routes/publish.h"

#include "routes/reply.h"
#include "wire/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char unfinished[] = "unfinished";

const char *
publish_name(RouteFile file)
{
    static const char *const names[ROUTE_N_FILES] = {
        [ROUTE_FILE_DUMP] = "profile.dump",
        [ROUTE_FILE_TEXT] = "symbolized-profile.dump",
        [ROUTE_FILE_GRAPH] = "profile.svg",
    };
    return names[file];
}

static Outcome
fail(Failure *failure, const char *what, const char *path)
{
    failure->error = errno;
    snprintf(failure->why, sizeof(failure->why), "cannot %s %.300s: %s", what, path, error_name(errno));
    return OUTCOME_SYSTEM;
}

/* -1: missing or replaced, with ENOENT; or another error. */
static int
open_directory(const char *path)
{
    struct stat status;
    int directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); /* ENOENT for "" */
    if (directory >= 0 && fstat(directory, &status) == 0 && status.st_uid == geteuid() && (status.st_mode & 077) == 0)
        return directory;
    if (directory >= 0)
        close(directory);
    errno = directory >= 0 || errno == ENOTDIR || errno == ELOOP ? ENOENT : errno;
    return -1;
}

/* The directory, recreated if it was removed. */
static int
enter_directory(Published *published, const char *parent, Failure *failure)
{
    int directory = open_directory(published->directory);
    if (directory >= 0)
        return directory;
    if (errno != ENOENT) {
        fail(failure, "open", published->directory);
        return -1;
    }
    *published = (Published){0};
    char path[ROUTE_DIRECTORY_MAX];
    int length = snprintf(path, sizeof(path), "%s/libprocess.XXXXXX", parent);
    if (length < 0 || (size_t)length >= sizeof(path)) {
        errno = ENAMETOOLONG;
    } else if (mkdtemp(path) != NULL && (directory = open_directory(path)) >= 0) {
        memcpy(published->directory, path, sizeof(path));
        return directory;
    }
    fail(failure, "make a directory in", parent);
    return -1;
}

/* The file appears under its name only when complete. */
static bool
write_file(int directory, const char *name, int from)
{
    unlinkat(directory, unfinished, 0);
    int to = openat(directory, unfinished, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (to < 0)
        return false;
    bool written = transfer_copy(from, to, UINT64_MAX);
    int error = errno;
    close(to);
    if (written && renameat(directory, unfinished, directory, name) == 0)
        return true;
    error = written ? errno : error;
    unlinkat(directory, unfinished, 0);
    errno = error;
    return false;
}

static Outcome
put(Published *published, const char *parent, const RoutePublication *what, Failure *failure)
{
    int directory = enter_directory(published, parent, failure);
    if (directory < 0)
        return OUTCOME_SYSTEM;
    bool written = write_file(directory, publish_name(what->file), what->descriptor);
    published->ids[what->file] = written ? what->recording : 0; /* the earlier file is there, but not offered */
    Outcome result = written ? OUTCOME_DONE : fail(failure, "write into", published->directory);
    close(directory);
    return result;
}

/* False with errno. */
static bool
look_at(const Published *published, RouteFile file, struct stat *status)
{
    int directory = open_directory(published->directory);
    bool there = directory >= 0 && fstatat(directory, publish_name(file), status, AT_SYMLINK_NOFOLLOW) == 0;
    int error = errno;
    if (directory >= 0)
        close(directory);
    errno = error;
    return there;
}

bool
publish_size(const Published *published, RouteFile file, uint64_t *bytes)
{
    struct stat status = {0};
    bool known = look_at(published, file, &status) || errno == ENOENT;
    if (known)
        *bytes = (uint64_t)status.st_size;
    return known;
}

Outcome
publish_put(Published *published, const char *parent, const RoutePublication *what, Failure *failure)
{
    struct stat status;
    if (published->ids[what->file] != what->recording || !look_at(published, what->file, &status)) {
        Outcome result = what->descriptor >= 0 ? put(published, parent, what, failure) : OUTCOME_NOT_FOUND;
        if (result != OUTCOME_DONE)
            return result;
    }
    snprintf(what->directory, what->size, "%s", published->directory);
    return OUTCOME_DONE;
}

void
publish_remove(Published *published)
{
    int directory = open_directory(published->directory);
    for (int file = 0; file < ROUTE_N_FILES && directory >= 0; file++)
        unlinkat(directory, publish_name((RouteFile)file), 0);
    if (directory >= 0) {
        close(directory);
        rmdir(published->directory);
    }
    *published = (Published){0};
}
