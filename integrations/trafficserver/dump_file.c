/* SPDX-License-Identifier: Apache-2.0 */
#include "dump_file.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct timespec
dump_file_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return now;
}

static bool
before(struct timespec a, struct timespec b)
{
    return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

/* Skips digits; NULL if there are none. */
static const char *
skip_digits(const char *text)
{
    const char *end = text;
    while (isdigit((unsigned char)*end))
        end++;
    return end > text ? end : NULL;
}

/* Whether TEXT is "PID.SEQUENCE.mNUMBER.heap". */
static bool
is_numbered(const char *text, const char *pid)
{
    size_t length = strlen(pid);
    if (strncmp(text, pid, length) != 0 || text[length] != '.')
        return false;
    text = skip_digits(text + length + 1);
    if (text == NULL || strncmp(text, ".m", 2) != 0)
        return false;
    text = skip_digits(text + 2);
    return text != NULL && strcmp(text, ".heap") == 0;
}

static bool
is_dump(const char *name, const char *base, const char *pid)
{
    size_t length = strlen(base);
    if (strncmp(name, base, length) != 0 || name[length] != '.')
        return false;
    name += length + 1;
    if (is_numbered(name, pid))
        return true;
    name = skip_digits(name);
    return name != NULL && *name == '.' && is_numbered(name + 1, pid);
}

/* Looks through DIRECTORY, whose path with the slash is the first FOLDER bytes of PREFIX. */
static int
find_in(DIR *directory, const char *prefix, int folder, const char *pid, struct timespec *newest, char *path,
        size_t size)
{
    int result = ENOENT;
    const struct dirent *entry;
    while ((entry = readdir(directory)) != NULL) {
        struct stat status;
        if (!is_dump(entry->d_name, prefix + folder, pid) ||
            fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode) ||
            before(status.st_mtim, *newest))
            continue;
        *newest = status.st_mtim;
        int length = snprintf(path, size, "%.*s%s", folder, prefix, entry->d_name);
        result = length >= 0 && (size_t)length < size ? 0 : ENAMETOOLONG;
    }
    return result;
}

int
dump_file_find(const char *prefix, pid_t pid, struct timespec since, char *path, size_t size)
{
    const char *slash = strrchr(prefix, '/');
    int folder = slash == NULL ? 0 : (int)(slash - prefix) + 1;
    char name[PATH_MAX];
    int length = folder == 0 ? snprintf(name, sizeof name, ".") : snprintf(name, sizeof name, "%.*s", folder, prefix);
    if (length < 0 || (size_t)length >= sizeof name)
        return ENAMETOOLONG;
    DIR *directory = opendir(name);
    if (directory == NULL)
        return errno;
    char number[24];
    snprintf(number, sizeof number, "%ld", (long)pid);
    int result = find_in(directory, prefix, folder, number, &since, path, size);
    closedir(directory);
    return result;
}
