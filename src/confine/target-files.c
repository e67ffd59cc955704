/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/target-files.h"

#include "confine/opener.h"
#include "confine/rights.h"
#include "confine/thread-time.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { OPEN_ATTEMPTS = 16 };

static const Rights unprivileged = {.limited = TRUE, .uid = RIGHTS_NOBODY, .gid = RIGHTS_NOBODY};

/* A directory tree in which names are resolved. */
typedef struct {
    char *prefix;  /* of the paths that are resolved in this tree */
    int root;      /* its directory, O_PATH; -1 without one */
    gboolean ours; /* opened with jescope's own rights */
} Tree;

/* The users who can influence displayed text; shared by several TargetFiles if their names are mixed. */
typedef struct {
    gatomicrefcount refs;
    GMutex lock;
    Rights rights;
} Authors;

struct TargetFiles {
    gatomicrefcount refs;
    guint64 number; /* its number in requests to the opener */
    GArray *trees;  /* Tree; the last one is our root, which matches any path */
    int process;    /* its directory in /proc, O_PATH; -1 without one */
    char *map_files;
    gboolean closed;      /* as in the options */
    gboolean public_only; /* likewise */
    gboolean elsewhere;   /* the process has another root or other mounts than this one: it does not see our files */
    char *origin;         /* as target_files_origin() */
    Rights rights;
    Authors *authors;
    GMutex lock;
    guint64 memory; /* protected by lock */
    guint left_out; /* protected by lock */
    gint64 time_us; /* protected by lock */
};

/* All TargetFiles, for requests from a confined process. */
static GMutex all_lock;
static GPtrArray *all;

static OpenerHandler answer_file, answer_text;

static void
enter_list(TargetFiles *files)
{
    static guint64 last;
    g_mutex_lock(&all_lock);
    if (all == NULL) {
        all = g_ptr_array_new();
        opener_handle(OPENER_FILE, answer_file);
        opener_handle(OPENER_TEXT, answer_text);
    }
    files->number = ++last;
    g_ptr_array_add(all, files);
    g_mutex_unlock(&all_lock);
}

static TargetFiles *
find_in_list(guint64 number)
{
    TargetFiles *found = NULL;
    g_mutex_lock(&all_lock);
    for (guint i = 0; i < all->len && found == NULL; i++) {
        TargetFiles *files = all->pdata[i];
        found = files->number == number ? target_files_ref(files) : NULL;
    }
    g_mutex_unlock(&all_lock);
    return found;
}

static void
authors_unref(Authors *authors)
{
    if (g_atomic_ref_count_dec(&authors->refs)) {
        rights_clear(&authors->rights);
        g_mutex_clear(&authors->lock);
        g_free(authors);
    }
}

static void
tree_clear(gpointer data)
{
    Tree *tree = data;
    g_free(tree->prefix);
    if (tree->root >= 0)
        close(tree->root);
}

static int
open_directory(const char *path)
{
    return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Takes ownership of prefix. */
static void
add_tree(TargetFiles *files, char *prefix, int root, gboolean ours)
{
    gsize length = strlen(prefix);
    while (length > 0 && prefix[length - 1] == '/')
        prefix[--length] = '\0';
    const Tree tree = {prefix, root, ours};
    g_array_append_val(files->trees, tree);
}

static void
copy_rights(const Rights *from, Rights *to)
{
    *to = *from;
    to->groups = from->groups != NULL ? g_array_ref(from->groups) : NULL;
}

static char *
origin_elsewhere(uid_t uid, int root)
{
    struct stat status = {0};
    if (root >= 0)
        fstat(root, &status);
    return g_strdup_printf("-%u-%lx-%lx", uid, (gulong)status.st_dev, (gulong)status.st_ino);
}

static char *
origin_here(const Rights *rights)
{
    gboolean foreign = rights->limited && !rights_are_trusted(rights->uid);
    return foreign ? g_strdup_printf("-%u", rights->uid) : g_strdup("");
}

/* Whether the rights of AUTHOR count instead of those of the process. */
static gboolean
limit_to_author(Rights *rights, uid_t author)
{
    const uid_t user = rights_lesser(rights->uid, author);
    if (user == rights->uid)
        return FALSE;
    rights_clear(rights);
    rights_of_user(user, rights);
    return TRUE;
}

/* The directory in /proc is opened once, so that rights, root and mapped files are of the same process. */
static void
add_process(TargetFiles *files, pid_t pid, uid_t author)
{
    g_autofree char *proc = g_strdup_printf("/proc/%d", (int)pid);
    files->process = open_directory(proc);
    rights_of_process(files->process, &files->rights);
    const gboolean of_author = limit_to_author(&files->rights, author);
    int root = files->process >= 0 ? openat(files->process, "root", O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    files->elsewhere = !rights_see_our_files(files->process);
    files->origin = files->elsewhere ? origin_elsewhere(files->rights.uid, root) : NULL;
    add_tree(files, g_strconcat(proc, "/root", NULL), root, FALSE);
    if (!of_author) /* what the process has mapped may not be the author's */
        files->map_files = g_strconcat(proc, "/map_files/", NULL);
}

TargetFiles *
target_files_new(const TargetFilesOptions *options)
{
    TargetFiles *files = g_new0(TargetFiles, 1);
    g_atomic_ref_count_init(&files->refs);
    g_mutex_init(&files->lock);
    files->process = -1;
    files->closed = options->closed;
    files->public_only = options->public_only;
    files->trees = g_array_new(FALSE, FALSE, sizeof(Tree));
    g_array_set_clear_func(files->trees, tree_clear);
    if (options->pid > 0)
        add_process(files, options->pid, options->author);
    else
        rights_of_user(options->owner, &files->rights);
    if (files->origin == NULL)
        files->origin = origin_here(&files->rights);
    for (guint i = 0; options->directories != NULL && options->directories[i] != NULL; i++) {
        const char *path = options->directories[i];
        add_tree(files, g_strdup(path), open_directory(path), TRUE);
    }
    add_tree(files, g_strdup(""), open_directory("/"), FALSE);
    files->authors = g_new0(Authors, 1);
    g_atomic_ref_count_init(&files->authors->refs);
    g_mutex_init(&files->authors->lock);
    copy_rights(&files->rights, &files->authors->rights);
    enter_list(files);
    return files;
}

TargetFiles *
target_files_ref(TargetFiles *files)
{
    g_atomic_ref_count_inc(&files->refs);
    return files;
}

void
target_files_unref(TargetFiles *files)
{
    if (files == NULL || !g_atomic_ref_count_dec(&files->refs))
        return;
    g_mutex_lock(&all_lock);
    g_ptr_array_remove_fast(all, files);
    g_mutex_unlock(&all_lock);
    g_array_unref(files->trees);
    if (files->process >= 0)
        close(files->process);
    rights_clear(&files->rights);
    authors_unref(files->authors);
    g_mutex_clear(&files->lock);
    g_free(files->map_files);
    g_free(files->origin);
    g_free(files);
}

void
target_file_clear(TargetFile *file)
{
    if (file->path != NULL) {
        close(file->fd);
        g_clear_pointer(&file->path, g_free);
    }
}

static const Tree *
our_root(const TargetFiles *files)
{
    return &g_array_index(files->trees, Tree, files->trees->len - 1);
}

/* The first tree whose prefix begins path; *below is the rest. */
static const Tree *
find_tree(const TargetFiles *files, const char *path, const char **below)
{
    for (guint i = 0; i < files->trees->len; i++) {
        const Tree *tree = &g_array_index(files->trees, Tree, i);
        gsize length = strlen(tree->prefix);
        if (strncmp(path, tree->prefix, length) == 0 && (path[length] == '/' || path[length] == '\0')) {
            *below = path + length;
            return tree;
        }
    }
    *below = path;
    return our_root(files);
}

/* The type is checked before opening: opening a device or a FIFO has effects. */
static int
find_below(int root, const char *path)
{
    const struct open_how how = {
        .flags = O_PATH | O_CLOEXEC,
        .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
    };
    int fd = -1;
    for (guint i = 0; i < OPEN_ATTEMPTS && fd < 0; i++) {
        fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
        if (fd < 0 && errno != EAGAIN) /* a directory on the way was renamed meanwhile */
            break;
    }
    return fd;
}

static gboolean
is_of_proc(int fd)
{
    struct statfs status;
    return fstatfs(fd, &status) != 0 || status.f_type == PROC_SUPER_MAGIC;
}

/* Opens the file found. 0 or errno. */
static int
open_found(int found, TargetFile *file)
{
    char link[64];
    if (fstat(found, &file->status) != 0)
        return errno;
    if (!S_ISREG(file->status.st_mode) || is_of_proc(found))
        return EINVAL;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", found);
    file->fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    return file->fd < 0 ? errno : 0;
}

/* If jescope sees the root directory of the process, the names of files in it begin with its path. */
static char *
name_of_fd(int fd)
{
    g_autofree char *link = g_strdup_printf("/proc/self/fd/%d", fd);
    return g_file_read_link(link, NULL);
}

static char *
path_without_links(const Tree *tree, int fd)
{
    g_autofree char *root = name_of_fd(tree->root);
    g_autofree char *name = name_of_fd(fd);
    if (root == NULL || name == NULL || name[0] != '/')
        return NULL;
    gsize length = strcmp(root, "/") == 0 ? 0 : strlen(root);
    gboolean inside = strncmp(name, root, length) == 0;
    return g_strconcat(tree->prefix, inside ? name + length : name, NULL);
}

/* Root of a container can be any user of the host. */
static const Rights *
rights_in(const TargetFiles *files, const Tree *tree, const Rights *rights)
{
    static const Rights own = {.limited = FALSE};
    return tree->ours ? &own : files->elsewhere && tree == our_root(files) ? &unprivileged : rights;
}

static int
open_in_tree(const Tree *tree, const char *below, const Rights *taken, TargetFile *file)
{
    RightsBefore before;
    if (tree->root < 0)
        return ESRCH;
    gboolean became = rights_enter(taken, &before);
    int found = find_below(tree->root, below[0] != '\0' ? below : "/");
    int failure = found < 0 ? errno : open_found(found, file);
    rights_leave(&before);
    if (failure == 0 && !became && !rights_may_read(taken, &file->status)) {
        close(file->fd);
        failure = EACCES;
    }
    file->path = failure == 0 ? path_without_links(tree, found) : NULL;
    if (found >= 0)
        close(found);
    return failure;
}

/* Opens a range that the process has mapped, with our rights, since following the link requires privileges. */
static int
open_mapped(const TargetFiles *files, const char *range, TargetFile *file)
{
    g_autofree char *path = g_strconcat("map_files/", range, NULL);
    int found = openat(files->process, path, O_PATH | O_CLOEXEC);
    int failure = found < 0 ? errno : open_found(found, file);
    if (found >= 0)
        close(found);
    return failure;
}

static gboolean
is_range(const char *name)
{
    gsize first = strspn(name, "0123456789abcdef");
    gsize second = name[first] == '-' ? strspn(name + first + 1, "0123456789abcdef") : 0;
    return first > 0 && second > 0 && name[first + 1 + second] == '\0';
}

/* The range that PATH names in /proc/PID/map_files, or NULL. */
static const char *
mapped_range(const TargetFiles *files, const char *path)
{
    if (files->map_files == NULL || !g_str_has_prefix(path, files->map_files))
        return NULL;
    const char *range = path + strlen(files->map_files);
    return is_range(range) ? range : NULL;
}

/* Returns 0 or errno. */
static int
open_with(const TargetFiles *files, const char *path, const Rights *rights, TargetFile *opened)
{
    const char *below;
    const Tree *tree = find_tree(files, path, &below);
    TargetFile file = {.fd = -1};
    if (files->closed)
        return ENOENT;
    const char *range = mapped_range(files, path);
    int failure = range != NULL ? open_mapped(files, range, &file)
                                : open_in_tree(tree, below, rights_in(files, tree, rights), &file);
    if (failure != 0 && tree->ours) { /* a link led outside the directory */
        tree = our_root(files);
        failure = open_in_tree(tree, path, rights_in(files, tree, rights), &file);
    }
    if (failure == 0) {
        file.path = file.path != NULL ? file.path : g_strdup(path);
        *opened = file;
    }
    return failure;
}

char *
target_files_origin(void)
{
    const char *origin = "";
    gboolean several = FALSE;
    g_mutex_lock(&all_lock);
    for (guint i = 0; all != NULL && i < all->len; i++) {
        const char *other = ((const TargetFiles *)all->pdata[i])->origin;
        several = several || (*origin != '\0' && *other != '\0' && !g_str_equal(origin, other));
        origin = *other != '\0' ? other : origin;
    }
    char *copy = several ? NULL : g_strdup(origin);
    g_mutex_unlock(&all_lock);
    return copy;
}

/* Whether FILE is the map of names that a compiler in the process writes (symbolize/perf-map.h), and no link. */
static gboolean
is_perf_map(const TargetFiles *files, const TargetFile *file)
{
    static const char directory[] = "/root/tmp/perf-";
    const char *root = files->map_files;
    gsize length = root != NULL ? strlen(root) - strlen("/map_files/") : 0;
    if (root == NULL || strncmp(file->path, root, length) != 0 || !g_str_has_prefix(file->path + length, directory))
        return FALSE;
    const char *number = file->path + length + strlen(directory);
    return g_str_equal(number + strspn(number, "0123456789"), ".map");
}

/* Whether every user may read what PATH names, and this is FILE. */
static gboolean
is_public(const TargetFiles *files, const char *path, const TargetFile *file)
{
    const char *below;
    const Tree *tree = find_tree(files, path, &below);
    TargetFile again = {.fd = -1};
    if (tree->ours || mapped_range(files, path) != NULL || is_perf_map(files, file))
        return TRUE;
    if ((file->status.st_mode & S_IROTH) == 0 || open_in_tree(tree, below, &unprivileged, &again) != 0)
        return FALSE;
    close(again.fd);
    g_free(again.path);
    return again.status.st_dev == file->status.st_dev && again.status.st_ino == file->status.st_ino;
}

/* As open_with(), for a file whose content is not shown. */
static int
open_for_names(const TargetFiles *files, const char *path, TargetFile *opened)
{
    g_auto(TargetFile) file = {.fd = -1};
    int failure = open_with(files, path, &files->rights, &file);
    if (failure == 0 && files->public_only && !is_public(files, path, &file))
        failure = EACCES;
    if (failure == 0) {
        *opened = file;
        file = (TargetFile){.fd = -1};
    }
    return failure;
}

/* As open_with() or open_for_names(), whose time is counted where another user chooses the names: a name may lead
 * through links of which each takes long, whether a file is there or not. */
static int
open_in_time(TargetFiles *files, const char *path, const Rights *shown, TargetFile *opened)
{
    const gint64 begun_us = thread_time_us();
    if (target_files_ran_out(files))
        return ETIME;
    const int failure = shown != NULL ? open_with(files, path, shown, opened) : open_for_names(files, path, opened);
    if (files->origin[0] != '\0')
        target_files_take_time(files, thread_time_us() - begun_us);
    return failure;
}

static gint gave_foreign; /* atomic */

gboolean
target_files_gave_foreign(void)
{
    return g_atomic_int_get(&gave_foreign);
}

static int
answer_file(const OpenerQuestion *question, OpenerAnswer *answer)
{
    g_autoptr(TargetFiles) files = find_in_list(question->subject);
    TargetFile file = {.fd = -1};
    int failure = files != NULL ? open_in_time(files, question->text, NULL, &file) : EINVAL;
    if (failure == 0) {
        target_files_add_author(files, file.status.st_uid);
        if (!rights_are_trusted(file.status.st_uid))
            g_atomic_int_set(&gave_foreign, TRUE);
        answer->fd = file.fd;
        g_strlcpy(answer->text, file.path, sizeof(answer->text));
        g_free(file.path);
    }
    return failure;
}

static int
answer_text(const OpenerQuestion *question, OpenerAnswer *answer)
{
    g_autoptr(TargetFiles) files = find_in_list(question->subject);
    TargetFile file = {.fd = -1};
    Rights rights;
    if (files == NULL)
        return EINVAL;
    g_mutex_lock(&files->authors->lock);
    copy_rights(&files->authors->rights, &rights);
    g_mutex_unlock(&files->authors->lock);
    int failure = open_in_time(files, question->text, &rights, &file);
    rights_clear(&rights);
    if (failure == 0) {
        answer->fd = file.fd;
        g_free(file.path);
    }
    return failure;
}

static const char *
meaning_of(int failure)
{
    return failure == EINVAL  ? "not a regular file"
           : failure == ETIME ? "finding files that another user names has taken 30 s of processor time"
                              : g_strerror(failure);
}

static gboolean
ask(OpenerKind kind, const TargetFiles *files, const char *path, TargetFile *file, GError **error)
{
    const OpenerQuestion question = {.kind = kind, .subject = files->number, .text = path, .fd = -1};
    OpenerAnswer answer;
    int failure = opener_ask(&question, &answer);
    if (failure == 0 && (answer.fd < 0 || fstat(answer.fd, &file->status) != 0))
        failure = EIO;
    if (failure != 0) {
        g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(failure), "cannot read %s: %s", path,
                    meaning_of(failure));
        return FALSE;
    }
    file->fd = answer.fd;
    file->path = g_strdup(answer.text[0] != '\0' ? answer.text : path);
    return TRUE;
}

gboolean
target_files_open(TargetFiles *files, const char *path, TargetFile *file, GError **error)
{
    if (files == NULL) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT, "cannot read %s: files are not available here", path);
        return FALSE;
    }
    return ask(OPENER_FILE, files, path, file, error);
}

uid_t
target_files_user_of(pid_t pid)
{
    const TargetFilesOptions options = {.pid = pid};
    g_autoptr(TargetFiles) files = target_files_new(&options);
    return files->elsewhere ? RIGHTS_NOBODY : files->rights.uid;
}

/* Opens with the rights of a user, which are looked up if KNOWN is NULL. Two users are not trusted with each other's
 * files. */
static void
narrow(Authors *authors, uid_t uid, const Rights *known)
{
    g_mutex_lock(&authors->lock);
    Rights *rights = &authors->rights;
    if (!(rights->limited && rights->uid == uid)) {
        gboolean several = rights->limited;
        rights_clear(rights);
        if (several || known == NULL)
            rights_of_user(several ? RIGHTS_NOBODY : uid, rights);
        else
            copy_rights(known, rights);
    }
    g_mutex_unlock(&authors->lock);
}

void
target_files_add_author(TargetFiles *files, uid_t uid)
{
    if (uid != 0)
        narrow(files->authors, uid, NULL);
}

void
target_files_join(TargetFiles *files, TargetFiles *others)
{
    Authors *left = others->authors;
    if (left == files->authors)
        return;
    if (left->rights.limited)
        narrow(files->authors, left->rights.uid, &left->rights);
    g_atomic_ref_count_inc(&files->authors->refs);
    others->authors = files->authors;
    authors_unref(left);
}

gboolean
target_files_take_memory(TargetFiles *files, guint64 bytes)
{
    if (files == NULL)
        return bytes <= TARGET_FILES_MAX_MEMORY;
    g_mutex_lock(&files->lock);
    gboolean fits = bytes <= TARGET_FILES_MAX_MEMORY - files->memory;
    files->memory += fits ? bytes : 0;
    files->left_out += !fits;
    g_mutex_unlock(&files->lock);
    return fits;
}

void
target_files_give_memory(TargetFiles *files, guint64 bytes)
{
    g_mutex_lock(&files->lock);
    files->memory -= bytes;
    g_mutex_unlock(&files->lock);
}

gboolean
target_files_take_time(TargetFiles *files, gint64 time_us)
{
    if (files == NULL)
        return TRUE;
    g_mutex_lock(&files->lock);
    files->time_us += time_us;
    g_mutex_unlock(&files->lock);
    return !target_files_ran_out(files);
}

gboolean
target_files_ran_out(TargetFiles *files)
{
    g_mutex_lock(&files->lock);
    gboolean over = files->time_us > TARGET_FILES_MAX_TIME;
    g_mutex_unlock(&files->lock);
    return over;
}

guint
target_files_left_out(TargetFiles *files)
{
    g_mutex_lock(&files->lock);
    guint left_out = files->left_out;
    g_mutex_unlock(&files->lock);
    return left_out;
}

static char *
read_text(const TargetFile *file)
{
    gsize size = (gsize)file->status.st_size;
    g_autofree char *text = g_malloc(size + 1);
    gsize got = 0;
    for (ssize_t n = 1; n > 0 && got<size; got += n> 0 ? (gsize)n : 0)
        n = pread(file->fd, text + got, size - got, (off_t)got);
    text[got] = '\0';
    return g_steal_pointer(&text);
}

char *
target_files_open_text(TargetFiles *files, const char *path, GError **error)
{
    g_auto(TargetFile) file = {.fd = -1};
    if (!ask(OPENER_TEXT, files, path, &file, error))
        return NULL;
    if (file.status.st_size > TARGET_FILES_MAX_TEXT) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "%s is larger than %d bytes", path, TARGET_FILES_MAX_TEXT);
        return NULL;
    }
    return read_text(&file);
}
