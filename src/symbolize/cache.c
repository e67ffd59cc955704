/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/cache.h"

#include "confine/opener.h"
#include "confine/rights.h"
#include "symbolize/answer-file.h"
#include "wire/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEMPORARY_PREFIX "new-"
#define STALE_SECONDS    3600 /* a temporary file older than this was left by a killed writer */

static char *
cache_directory(void)
{
    g_autofree char *cache = rights_cache_directory();
    return g_build_filename(cache, "jescope", "symbols", NULL);
}

/* It may have been there before, made by a user who may write to the directory around it. */
static gboolean
is_our_directory(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
           (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static const char *
build_id_of(const ObjectWork *work)
{
    const Image *image = work->located.file != NULL ? work->located.file : work->located.debug;
    return image != NULL ? image_build_id(image) : NULL;
}

/* The identity of one state of a file, which its writer cannot forge completely. */
static void
describe_file(const Image *image, guint64 words[static 7])
{
    const struct stat *status = image_stat(image);
    words[0] = status->st_dev;
    words[1] = status->st_ino;
    words[2] = (guint64)status->st_size;
    words[3] = (guint64)status->st_mtim.tv_sec;
    words[4] = (guint64)status->st_mtim.tv_nsec;
    words[5] = (guint64)status->st_ctim.tv_sec;
    words[6] = (guint64)status->st_ctim.tv_nsec;
}

/* A build id does not change when a file is stripped or its debug file is added or removed, and can be copied to
 * another file. */
static guint64
fingerprint(const ObjectWork *work)
{
    const Image *images[] = {work->located.file, work->located.debug};
    guint64 words[G_N_ELEMENTS(images)][7] = {0};
    for (gsize i = 0; i < G_N_ELEMENTS(images); i++)
        if (images[i] != NULL)
            describe_file(images[i], words[i]);
    return answer_checksum((const guint8 *)words, sizeof(words));
}

static char *
file_name(const ObjectWork *work, const char *build_id)
{
    return g_strdup_printf("%s-%016" G_GINT64_MODIFIER "x", build_id, fingerprint(work));
}

/* Runs in the process that may use files: a name is a build id and a number, both in hex. A dump may have taken the
 * reader over, so files written while another user's data is read are only read for that user. */
static char *
path_of(const char *name)
{
    gsize length = strspn(name, "0123456789abcdef-");
    g_autofree char *directory = cache_directory();
    g_autofree char *origin = target_files_origin();
    if (length == 0 || name[length] != '\0' || origin == NULL || !is_our_directory(directory))
        return NULL;
    g_autofree char *own = g_strdup_printf("%s%s%s", name, *origin != '\0' ? ".of" : "", origin);
    return g_build_filename(directory, own, NULL);
}

static int
answer_read(const OpenerQuestion *question, OpenerAnswer *answer)
{
    g_autofree char *path = path_of(question->text);
    answer->fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
    if (answer->fd < 0)
        return ENOENT;
    futimens(answer->fd, NULL); /* used now: see cache_trim() */
    return 0;
}

/* No fsync: an incomplete file after a crash fails the checksum. */
static int
replace(const char *directory, const char *path, int bytes)
{
    g_autofree char *temporary = g_build_filename(directory, TEMPORARY_PREFIX "XXXXXX", NULL);
    int fd = g_mkstemp_full(temporary, O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno;
    gboolean written = transfer_copy(bytes, fd, ANSWER_MAX_SIZE);
    if (close(fd) != 0 || !written || g_rename(temporary, path) != 0) {
        g_unlink(temporary);
        return EIO;
    }
    return 0;
}

/* A reader may be taken over by another user's file, so its answers about other files are not cached. */
static int
answer_write(const OpenerQuestion *question, OpenerAnswer *answer)
{
    g_autofree char *directory = cache_directory();
    if (question->fd < 0 || target_files_gave_foreign() || g_mkdir_with_parents(directory, 0700) != 0)
        return EPERM;
    g_autofree char *path = path_of(question->text);
    if (path == NULL)
        return EPERM; /* the directory may be another one, in which nothing is deleted either */
    int failure = replace(directory, path, question->fd);
    cache_trim(directory, CACHE_MAX_TOTAL);
    return failure;
}

void
cache_allow(void)
{
    opener_handle(OPENER_CACHE_READ, answer_read);
    opener_handle(OPENER_CACHE_WRITE, answer_write);
}

/* Maps the file of work; NULL if there is no valid one. */
static GMappedFile *
open_answers(const ObjectWork *work, const char *name, AnswerFile *answers)
{
    const OpenerQuestion question = {.kind = OPENER_CACHE_READ, .text = name, .fd = -1};
    OpenerAnswer answer;
    if (opener_ask(&question, &answer) != 0 || answer.fd < 0)
        return NULL;
    g_autoptr(GMappedFile) file = g_mapped_file_new_from_fd(answer.fd, FALSE, NULL);
    close(answer.fd);
    if (file == NULL ||
        !answer_file_parse((const guint8 *)g_mapped_file_get_contents(file), g_mapped_file_get_length(file), answers) ||
        answers->header->fingerprint != fingerprint(work))
        return NULL;
    return g_steal_pointer(&file);
}

gboolean
cache_read(ObjectWork *work)
{
    const char *build_id = build_id_of(work);
    if (build_id == NULL)
        return FALSE;
    g_autofree char *name = file_name(work, build_id);
    AnswerFile answers;
    GMappedFile *file = open_answers(work, name, &answers);
    if (file == NULL)
        return FALSE;
    names_keep(work->names, file); /* the answers point into it */
    guint open = answer_file_apply(&answers, work);
    work->result.source = answers.header->source;
    return open == 0;
}

void
cache_write(const ObjectWork *work)
{
    const char *build_id = build_id_of(work);
    if (build_id == NULL)
        return;
    g_autofree char *name = file_name(work, build_id);
    AnswerFile answers;
    g_autoptr(GMappedFile) old = open_answers(work, name, &answers);
    g_autoptr(GByteArray) bytes = answer_file_encode(work, old != NULL ? &answers : NULL, fingerprint(work));
    if (bytes == NULL && old != NULL)
        bytes = answer_file_encode(work, NULL, fingerprint(work));
    if (bytes == NULL)
        return;
    const OpenerQuestion question = {.kind = OPENER_CACHE_WRITE, .text = name, .content = bytes, .fd = -1};
    OpenerAnswer answer;
    opener_ask(&question, &answer);
}

typedef struct {
    char *path;
    guint64 size;
    gint64 used; /* microseconds since 1970 */
} CacheFile;

static void
cache_file_clear(gpointer data)
{
    g_free(((CacheFile *)data)->path);
}

static GArray *
list_files(const char *directory)
{
    GArray *files = g_array_new(FALSE, FALSE, sizeof(CacheFile));
    g_array_set_clear_func(files, cache_file_clear);
    g_autoptr(GDir) entries = g_dir_open(directory, 0, NULL);
    for (const char *name; entries != NULL && (name = g_dir_read_name(entries)) != NULL;) {
        CacheFile file = {.path = g_build_filename(directory, name, NULL)};
        struct stat status;
        if (lstat(file.path, &status) != 0 || !S_ISREG(status.st_mode)) {
            g_free(file.path);
            continue;
        }
        file.size = (guint64)status.st_blocks * 512;
        file.used = status.st_mtim.tv_sec * G_USEC_PER_SEC + status.st_mtim.tv_nsec / 1000;
        g_array_append_val(files, file);
    }
    return files;
}

static gint
latest_first(gconstpointer a, gconstpointer b)
{
    const CacheFile *x = a;
    const CacheFile *y = b;
    return x->used > y->used ? -1 : x->used < y->used;
}

static gboolean
is_stale(const CacheFile *file)
{
    g_autofree char *name = g_path_get_basename(file->path);
    return g_str_has_prefix(name, TEMPORARY_PREFIX) &&
           g_get_real_time() - file->used > (gint64)STALE_SECONDS * G_USEC_PER_SEC;
}

void
cache_trim(const char *directory, guint64 limit)
{
    g_autoptr(GArray) files = list_files(directory);
    g_array_sort(files, latest_first);
    guint64 total = 0;
    for (guint i = 0; i < files->len; i++) {
        const CacheFile *file = &g_array_index(files, CacheFile, i);
        total += file->size;
        if (total > limit || is_stale(file))
            g_unlink(file->path);
    }
}
