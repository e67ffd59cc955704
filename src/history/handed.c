/* SPDX-License-Identifier: Apache-2.0 */
#include "history/handed-internal.h"

#include "confine/input-file.h"
#include "confine/opener.h"
#include "confine/rights.h"
#include "history/guarded-files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* SQLite's auxiliary files. */
static const char index_ending[] = "-shm";
static const char *const endings[] = {"-wal", index_ending, "-journal"};

static struct {
    char *path;
    char *place;
    /* The path in two parts: another user may own the directory, and replace it with a link to one of root's. */
    int directory;
    char *name;
    struct stat file; /* what was found there: only this is handed out */
    uid_t author;
    int code; /* errno: there is no file to open */
    gboolean confined;
} handed = {.directory = -1};

const char *
handed_place(const char *path)
{
    return handed.path != NULL && strcmp(handed.path, path) == 0 ? handed.place : path;
}

gboolean
handed_is_confined(void)
{
    return handed.confined;
}

/* In the parent -----------------------------------------------------------------------------------------------------
 */

/* The suffix of an auxiliary file of the history; NULL: not such a file. */
static const char *
ending_of(const char *name)
{
    gsize length = strlen(handed.place);
    for (gsize i = 0; i < G_N_ELEMENTS(endings); i++)
        if (strncmp(name, handed.place, length) == 0 && strcmp(name + length, endings[i]) == 0)
            return endings[i];
    return NULL;
}

/* Gives a new auxiliary file to the owner of the history file, who may have to continue with it. */
static void
give_to_owner(int fd)
{
    if (geteuid() == 0 && fchown(fd, handed.file.st_uid, handed.file.st_gid) != 0)
        return;
    (void)!fchmod(fd, handed.file.st_mode & 0666);
}

/* errno if the auxiliary file FD with that suffix is refused: a hard link, which another user may have created to have
 * a foreign file written to, or a journal of his. */
static int
objection_to(int fd, const char *ending)
{
    struct stat status;
    if (fstat(fd, &status) != 0 || (status.st_nlink > 1 && status.st_uid != handed.file.st_uid))
        return EACCES;
    const gboolean replayed = strcmp(ending, index_ending) != 0;
    return replayed && !guarded_files_allow(status.st_uid, handed.file.st_uid) ? GUARDED_FILES_REFUSED : 0;
}

static int
open_beside(const char *ending, int access)
{
    const int flags = O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    g_autofree char *name = g_strconcat(handed.name, ending, NULL);
    int fd = openat(handed.directory, name, (access & (O_ACCMODE | O_PATH)) | flags);
    if (fd < 0 && errno == ENOENT && (access & O_CREAT) != 0) {
        fd = openat(handed.directory, name, (access & O_ACCMODE) | O_CREAT | O_EXCL | flags, 0600);
        if (fd >= 0)
            give_to_owner(fd);
        return fd;
    }
    const int objection = fd >= 0 && (access & O_PATH) == 0 ? objection_to(fd, ending) : 0;
    if (objection == 0)
        return fd;
    close(fd);
    errno = objection;
    return -1;
}

static int
open_itself(int access)
{
    const int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW;
    struct stat status;
    int fd = openat(handed.directory, handed.name, (access & O_PATH) | flags);
    if (fd < 0 ||
        (fstat(fd, &status) == 0 && status.st_dev == handed.file.st_dev && status.st_ino == handed.file.st_ino))
        return fd;
    close(fd);
    errno = ESTALE;
    return -1;
}

/* SUBJECT has the flags of open(2). The history file itself is only read. */
static int
open_for_child(const OpenerQuestion *question, OpenerAnswer *answer)
{
    struct stat status;
    const int access = (int)question->subject;
    gboolean itself = strcmp(question->text, handed.place) == 0;
    const char *ending = itself ? NULL : ending_of(question->text);
    if (!itself && ending == NULL)
        return EACCES;
    if (handed.code != 0)
        return handed.code;
    int fd = itself ? open_itself(access) : open_beside(ending, access);
    if (fd < 0)
        return errno;
    if ((access & O_PATH) == 0 && (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))) {
        close(fd);
        return EACCES;
    }
    if ((access & O_PATH) == 0 && !itself) /* what it holds counts instead of what the history has */
        handed.author = rights_lesser(handed.author, status.st_uid);
    answer->fd = fd;
    return 0;
}

/* Where PATH leads, without links, to be freed; what is there. NULL with errno: nothing, or a link of another user
 * leads to what is not his (EREMOTE). */
static char *
find_place(const char *path, struct stat *file)
{
    Walk walk;
    int code = walk_to(&walk, path, WALK_FAILS);
    if (code == 0 && fstat(walk.at, file) != 0)
        code = errno;
    if (code == 0 && walk.led && (!S_ISREG(file->st_mode) || input_file_objection(&walk, file) != NULL))
        code = EREMOTE;
    char *place = code == 0 ? walk_name(walk.at) : NULL;
    walk_end(&walk);
    errno = code;
    return place;
}

/* Opens the directory of the history file; -1 if there is none, or its path now contains a link. */
static int
open_directory(void)
{
    g_autofree char *path = g_path_get_dirname(handed.place);
    const struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS};
    return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
}

/* Whether others than its owner, root and the caller can write to what has STATUS. A group of a user's own is his
 * matter. */
static gboolean
is_shared(const struct stat *status)
{
    const mode_t of_others = geteuid() == 0 ? S_IWGRP | S_IWOTH : S_IWOTH;
    return (status->st_mode & of_others) != 0;
}

static uid_t
find_author(void)
{
    struct stat directory;
    if (!rights_are_trusted(handed.file.st_uid))
        return handed.file.st_uid;
    const gboolean alone = fstat(handed.directory, &directory) == 0 && rights_are_trusted(directory.st_uid) &&
                           !is_shared(&directory) && !is_shared(&handed.file);
    return alone ? handed.file.st_uid : RIGHTS_NOBODY;
}

void
history_hand_over(const char *path)
{
    g_autofree char *place = find_place(path, &handed.file);
    handed.code = place != NULL ? 0 : errno;
    g_free(handed.path);
    g_free(handed.place);
    g_free(handed.name);
    if (handed.directory >= 0)
        close(handed.directory);
    handed.path = g_strdup(path);
    handed.place = place != NULL ? g_strdup(place) : g_canonicalize_filename(path, NULL);
    handed.name = g_path_get_basename(handed.place);
    handed.directory = place != NULL ? open_directory() : -1;
    if (place != NULL && handed.directory < 0)
        handed.code = errno;
    handed.author = handed.code == 0 ? find_author() : geteuid();
    opener_handle(OPENER_HISTORY, open_for_child);
}

uid_t
history_handed_author(void)
{
    return handed.author;
}

guint
history_handed_seconds(void)
{
    return rights_are_trusted(handed.author) ? 0 : INPUT_FILE_FOREIGN_SECONDS;
}

/* In the child ------------------------------------------------------------------------------------------------------
 */

static int
ask(const char *name, int flags)
{
    OpenerAnswer answer;
    const OpenerQuestion question = {.kind = OPENER_HISTORY, .subject = (guint64)flags, .text = name, .fd = -1};
    int code = opener_ask(&question, &answer);
    if (code == 0 && answer.fd >= 0)
        return answer.fd;
    errno = code != 0 ? code : EACCES;
    return -1;
}

int
handed_stat(const char *place, struct stat *status)
{
    if (!handed.confined)
        return stat(place, status);
    int fd = ask(place, O_PATH);
    if (fd < 0)
        return -1;
    int result = fstat(fd, status);
    close(fd);
    return result;
}

static int
open_by_asking(const char *name, int flags, int mode)
{
    return ask(name, flags);
}

/* The path has no links. */
static int
no_link(const char *name, struct stat *status)
{
    errno = ENOENT;
    return -1;
}

void
history_take_handed(void)
{
    static const struct {
        const char *name;
        sqlite3_syscall_ptr call;
    } calls[] = {
        {"open", (sqlite3_syscall_ptr)open_by_asking},
        {"stat", (sqlite3_syscall_ptr)handed_stat},
        {"lstat", (sqlite3_syscall_ptr)no_link},
    };
    sqlite3_vfs *files = sqlite3_vfs_find(NULL);
    handed.confined = TRUE;
    for (gsize i = 0; files != NULL && i < G_N_ELEMENTS(calls); i++)
        files->xSetSystemCall(files, calls[i].name, calls[i].call);
}
