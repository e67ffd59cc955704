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

/* -1: missing or replaced. */
static int
open_directory(const char *path)
{
    struct stat status;
    int directory = path[0] != '\0' ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (directory >= 0 && fstat(directory, &status) == 0 && status.st_uid == geteuid() && (status.st_mode & 077) == 0)
        return directory;
    if (directory >= 0)
        close(directory);
    return -1;
}

/* The directory, recreated if it was removed. */
static int
enter_directory(Published *published, const char *parent, Failure *failure)
{
    int directory = open_directory(published->directory);
    if (directory >= 0)
        return directory;
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
    published->ids[what->file] = written ? what->recording : 0;
    Outcome result = written ? OUTCOME_DONE : fail(failure, "write into", published->directory);
    close(directory);
    return result;
}

static bool
is_there(const Published *published, const RoutePublication *what)
{
    struct stat status;
    int directory = published->ids[what->file] == what->recording ? open_directory(published->directory) : -1;
    bool there = directory >= 0 && fstatat(directory, publish_name(what->file), &status, AT_SYMLINK_NOFOLLOW) == 0;
    if (directory >= 0)
        close(directory);
    return there;
}

Outcome
publish_put(Published *published, const char *parent, const RoutePublication *what, Failure *failure)
{
    if (!is_there(published, what)) {
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
