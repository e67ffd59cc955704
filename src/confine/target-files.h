/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens files named by untrusted data: objects named by a dump, debug files by an object, split units and sources by
 * debug information, a compiler's map by a process. They are opened with the rights and in the root of the author, who
 * could read them anyway:
 *
 *   /proc/PID/root/PATH        below the root directory of the process, with its user, group and groups
 *   /proc/PID/map_files/RANGE  what the process has mapped, with our rights
 *   DIRECTORY/PATH             below a directory that the user named (--debug-path, --sysroot, PPROF_BINARY_PATH), with
 *                              our rights, since the user named it; if a link leads out of it, as PATH below
 *   PATH                       in our root, with the rights of the process, or of the owner of the dump; of a process
 *                              that has another root, with those of RIGHTS_NOBODY: its user 0 is not ours
 *
 * Below a directory, no "..", no absolute link and no link of /proc leads outside it. Only regular files are opened,
 * and none of /proc. A process of mixed ids counts as the lesser of them, see rights.h.
 *
 * Text (target_files_open_text()) is shown verbatim, so it is read with the least rights of all users involved: if the
 * process is root's, but an object whose debug information may name the text belongs to another user, with that user's
 * rights; with several such users, with those of RIGHTS_NOBODY.
 *
 * In a confined process (confined.h) its parent opens the files.
 *
 * Thread-safe. The rights change only for the calling thread, while it opens.
 */
#ifndef JESCOPE_CONFINE_TARGET_FILES_H
#define JESCOPE_CONFINE_TARGET_FILES_H

#include <gio/gio.h>
#include <sys/stat.h>

typedef struct TargetFiles TargetFiles;

#define TARGET_FILES_MAX_TEXT (16 << 20) /* bytes of a text; no source file is longer */

typedef struct {
    pid_t pid;                      /* of the process; 0: none */
    const char *const *directories; /* named by the user, absolute or relative, NULL-terminated, or NULL */
    uid_t owner;                    /* of the dump, if there is no process */
    uid_t author;    /* of the dump beside the process: their lesser counts (rights_lesser()); 0: the process alone */
    gboolean closed; /* opens no file, whatever the path */
    gboolean public_only; /* only what every user may read, or the process has mapped, or its compilers write */
} TargetFilesOptions;

/* Never fails: if the process has ended, no file will be found, and the rights are those of RIGHTS_NOBODY. */
TargetFiles *target_files_new(const TargetFilesOptions *options);
TargetFiles *target_files_ref(TargetFiles *files);
void target_files_unref(TargetFiles *files);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TargetFiles, target_files_unref)

typedef struct {
    int fd;
    struct stat status;
    char *path; /* the path of the file, without links, in one of the four forms above */
} TargetFile;

void target_file_clear(TargetFile *file); /* closes fd */
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(TargetFile, target_file_clear)

/* Opens path for reading. Fails with G_FILE_ERROR; the message names path. Always fails if files is NULL. */
gboolean target_files_open(TargetFiles *files, const char *path, TargetFile *file, GError **error);

/* The content of a text file, or NULL. */
char *target_files_open_text(TargetFiles *files, const char *path, GError **error);

/*
 * Accounts for the memory of copies of files that another user may change while they are read, of expanded sections,
 * and of what is made of files that are not trusted (symbolize/patience.h). FALSE, and counted as omitted, if the sum
 * would exceed TARGET_FILES_MAX_MEMORY. If files is NULL, the limit applies to this one alone.
 */
#define TARGET_FILES_MAX_MEMORY ((guint64)2 << 30)
gboolean target_files_take_memory(TargetFiles *files, guint64 bytes);
void target_files_give_memory(TargetFiles *files, guint64 bytes); /* what was taken is free again */

/* Accounts for the processor time for files that neither root nor the caller owns, in this process: that of finding
 * those that another user names counts where they are opened, and then no more are. FALSE, and noted, once the sum is
 * more than TARGET_FILES_MAX_TIME. There is no limit if files is NULL. */
#define TARGET_FILES_MAX_TIME ((gint64)30 * G_USEC_PER_SEC)
gboolean target_files_take_time(TargetFiles *files, gint64 time_us);
gboolean target_files_ran_out(TargetFiles *files);

guint target_files_left_out(TargetFiles *files);

/* From now on text is read with no more rights than those of uid, which has influenced it. */
void target_files_add_author(TargetFiles *files, uid_t uid);
/* The same for all users of either, now and later, since their names are displayed together. Must be called before
 * threads use them. */
void target_files_join(TargetFiles *files, TargetFiles *others);

/* Whether this process has opened a file owned by neither root nor its caller, for itself or for a confined process. */
gboolean target_files_gave_foreign(void);

/* The author of the data (a process or its dump) that this process has TargetFiles for, if not root or the caller: a
 * user, or a user of another root, in lower-case hex digits and "-"; "": no other author; NULL: several. To be
 * freed. */
char *target_files_origin(void);

/* The user with whose rights files named by a process are to be opened once it has ended: RIGHTS_NOBODY if it has
 * another root directory or other mounts than this process, or has already ended. */
uid_t target_files_user_of(pid_t pid);

#endif
