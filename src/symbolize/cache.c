/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/cache.h"

#include "symbolize/answer-file.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEMPORARY_PREFIX "new-"
#define STALE_SECONDS    3600 /* a temporary file older than this has lost its writer */

static char *
cache_directory(void)
{
    return g_build_filename(g_get_user_cache_dir(), "jescope", "symbols", NULL);
}

static const char *
build_id_of(const ObjectWork *work)
{
    const Image *image = work->located.file != NULL ? work->located.file : work->located.debug;
    return image != NULL ? image_build_id(image) : NULL;
}

/* A build id stays when a file is stripped or its debug file comes or goes; the sizes do not. */
static guint64
fingerprint(const ObjectWork *work)
{
    const Image *images[] = {work->located.file, work->located.debug};
    gint64 sizes[G_N_ELEMENTS(images)];
    for (gsize i = 0; i < G_N_ELEMENTS(images); i++) {
        sizes[i] = images[i] != NULL ? (gint64)image_stat(images[i])->st_size : -1;
    }
    return answer_checksum((const guint8 *)sizes, sizeof sizes);
}

/* Maps the file of work; NULL if there is no good one. */
static GMappedFile *
open_answers(const ObjectWork *work, const char *path, AnswerFile *answers)
{
    g_autoptr(GMappedFile) file = g_mapped_file_new(path, FALSE, NULL);
    if (file == NULL ||
        !answer_file_parse((const guint8 *)g_mapped_file_get_contents(file), g_mapped_file_get_length(file), answers) ||
        answers->header->fingerprint != fingerprint(work)) {
        return NULL;
    }
    return g_steal_pointer(&file);
}

gboolean
cache_read(ObjectWork *work)
{
    const char *build_id = build_id_of(work);
    if (build_id == NULL) {
        return FALSE;
    }
    g_autofree char *directory = cache_directory();
    g_autofree char *path = g_build_filename(directory, build_id, NULL);
    AnswerFile answers;
    GMappedFile *file = open_answers(work, path, &answers);
    if (file == NULL) {
        return FALSE;
    }
    names_keep(work->names, file); /* the answers point into it */
    guint open = answer_file_apply(&answers, work);
    work->result.source = answers.header->source;
    utimensat(AT_FDCWD, path, NULL, 0); /* used now: see cache_trim() */
    return open == 0;
}

static gboolean
write_all(int fd, const GByteArray *bytes)
{
    for (gsize done = 0; done < bytes->len;) {
        ssize_t n = write(fd, bytes->data + done, bytes->len - done);
        if (n < 0) {
            return FALSE;
        }
        done += (gsize)n;
    }
    return TRUE;
}

/* No fsync: what a crash leaves half-written does not pass the checksum. */
static void
replace(const char *directory, const char *path, const GByteArray *bytes)
{
    g_autofree char *temporary = g_build_filename(directory, TEMPORARY_PREFIX "XXXXXX", NULL);
    int fd = g_mkstemp_full(temporary, O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0) {
        return;
    }
    gboolean written = write_all(fd, bytes);
    if (close(fd) != 0 || !written || g_rename(temporary, path) != 0) {
        g_unlink(temporary);
    }
}

void
cache_write(const ObjectWork *work)
{
    const char *build_id = build_id_of(work);
    g_autofree char *directory = cache_directory();
    if (build_id == NULL || g_mkdir_with_parents(directory, 0700) != 0) {
        return;
    }
    g_autofree char *path = g_build_filename(directory, build_id, NULL);
    AnswerFile answers;
    g_autoptr(GMappedFile) old = open_answers(work, path, &answers);
    g_autoptr(GByteArray) bytes = answer_file_encode(work, old != NULL ? &answers : NULL, fingerprint(work));
    if (bytes == NULL && old != NULL) {
        bytes = answer_file_encode(work, NULL, fingerprint(work));
    }
    if (bytes != NULL) {
        replace(directory, path, bytes);
        cache_trim(directory, CACHE_MAX_TOTAL);
    }
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
        if (total > limit || is_stale(file)) {
            g_unlink(file->path);
        }
    }
}
