/* SPDX-License-Identifier: Apache-2.0 */
#include "source/source.h"

#include "confine/input-file.h"
#include "confine/rights.h"
#include "report/coverage.h"
#include "source/capture.h"
#include "symbolize/debug-file.h"
#include "target/candidates.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gunixinputstream.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

G_DEFINE_QUARK(jescope_source_error, source_error)

enum {
    LONGEST_BEGINNING = 16, /* of the entries in beginnings[] */
};

static char *
note_loss(const Profile *profile)
{
    const ProfileLoss *loss = profile_lost(profile);

    if (!loss)
        return NULL;
    return g_strdup_printf("incomplete: %" G_GUINT64_FORMAT " lines (%" G_GUINT64_FORMAT
                           " bytes) could not be used: %s",
                           loss->lines, loss->bytes, loss->reason);
}

void
source_add_note(Source *source, char *note)
{
    g_autoptr(GStrvBuilder) builder = g_strv_builder_new();

    if (!note)
        return;
    for (char **known = source->notes; known && *known; known++)
        g_strv_builder_add(builder, *known);
    g_strv_builder_add(builder, note);
    g_strfreev(source->notes);
    source->notes = g_strv_builder_end(builder);
    g_free(note);
}

static void
note_capture(Source *source)
{
    const ProfileCapture *capture = profile_capture(source->profile);
    g_auto(GStrv) notes = coverage_notes(source->profile);

    if (capture && capture->time != 0)
        source->input.time = (gint64)(capture->time / G_USEC_PER_SEC);
    for (char **note = notes; *note; note++)
        source_add_note(source, g_strdup(*note));
}

static gboolean
read_mapped(Source *source, int fd, const char *name, ProfileReadFlags flags, GError **error)
{
    g_autoptr(GMappedFile) mapped = g_mapped_file_new_from_fd(fd, FALSE, error);

    if (!mapped)
        return FALSE;
    source->text = g_mapped_file_get_bytes(mapped);
    source->profile = profile_read_bytes(source->text, name, flags, error);
    return source->profile != NULL;
}

static gboolean
read_pipe_whole(Source *source, int fd, const char *name, ProfileReadFlags flags, GError **error)
{
    g_autoptr(GInputStream) in = g_unix_input_stream_new(fd, FALSE);
    g_autoptr(GOutputStream) memory = g_memory_output_stream_new_resizable();

    if (g_output_stream_splice(memory, in, G_OUTPUT_STREAM_SPLICE_CLOSE_TARGET, NULL, error) < 0) {
        g_prefix_error(error, "cannot read %s: ", name);
        return FALSE;
    }
    source->text = g_memory_output_stream_steal_as_bytes(G_MEMORY_OUTPUT_STREAM(memory));
    source->profile = profile_read_bytes(source->text, name, flags, error);
    return source->profile != NULL;
}

/* Only the stacks stay in memory, unless the text is requested. */
static gboolean
parse(Source *source, const SourceOptions *options, GError **error)
{
    struct stat status;

    if (source->read) {
        source->profile = source->read(source->fd, source->name, error);
        return source->profile != NULL;
    }
    if (source->live ||
        (options->keeps_text && fstat(source->fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0))
        return read_mapped(source, source->fd, source->name, options->read, error);
    if (options->keeps_text)
        return read_pipe_whole(source, source->fd, source->name, options->read, error);
    source->profile = profile_read_fd(source->fd, source->name, options->read, error);
    return source->profile != NULL;
}

static gboolean
open_file(Source *source, const char *name, GError **error)
{
    g_autoptr(GError) why = NULL;
    struct stat status;

    source->input.time = g_get_real_time() / G_USEC_PER_SEC;
    source->owner = geteuid();
    source->fd = g_str_equal(name, "-") ? dup(STDIN_FILENO) : input_file_open(name, &why);
    if (source->fd < 0) {
        g_set_error(error, SOURCE_ERROR, SOURCE_ERROR_FAILED, "cannot read %s: %s", name,
                    why != NULL ? why->message : g_strerror(errno));
        return FALSE;
    }
    if (fstat(source->fd, &status) == 0 && S_ISREG(status.st_mode)) {
        source->input.time = status.st_mtim.tv_sec;
        source->taken = status.st_mtim.tv_sec;
        source->owner = status.st_uid;
    }
    return TRUE;
}

/* The first bytes of heap profiles: jemalloc's, gperftools', symbolized; gzip, zstd. */
static const char *const beginnings[] = {
    "heap_v2/", "heap profile:", "--- symbol", "--- heapprofile", "--- heap", "\x1f\x8b", "\x28\xb5\x2f\xfd",
};

/* FALSE: it is certainly not one, e.g. a program or a directory. Files that are not regular must be tried. */
static gboolean
may_be_profile(const char *path)
{
    char begin[LONGEST_BEGINNING] = "";
    gssize got = input_file_peek(path, begin, sizeof(begin));

    if (got < 0)
        return !g_file_test(path, G_FILE_TEST_IS_DIR);
    for (guint i = 0; i < G_N_ELEMENTS(beginnings); i++)
        if (got >= (gssize)strlen(beginnings[i]) && memcmp(begin, beginnings[i], strlen(beginnings[i])) == 0)
            return TRUE;
    return FALSE;
}

static gboolean
is_of_another_user(const char *path)
{
    struct stat entry, file;

    return lstat(path, &entry) != 0 || stat(path, &file) != 0 || !rights_are_trusted(entry.st_uid) ||
           !rights_are_trusted(file.st_uid);
}

SourceKind
source_kind(const char *name, gboolean (*may_be_file)(const char *path), GError **error)
{
    g_autoptr(GPtrArray) processes = NULL;

    if (g_str_has_prefix(name, "unix:") || strstr(name, "://"))
        return SOURCE_IS_TARGET;
    if (g_str_equal(name, "-") || strchr(name, '/'))
        return SOURCE_IS_FILE;
    if (!g_file_test(name, G_FILE_TEST_EXISTS))
        return SOURCE_IS_TARGET;
    gboolean file = may_be_file(name);
    if (file && !is_of_another_user(name))
        return SOURCE_IS_FILE;
    processes = candidates_find(name, CANDIDATES_NAMED, NULL);
    if (processes == NULL)
        return SOURCE_IS_FILE;
    if (!file || process_operand_is_number(name))
        return SOURCE_IS_TARGET;
    g_set_error(error, SOURCE_ERROR, SOURCE_ERROR_NAME,
                "'%s' is a process, and here a file of another user; give the pid of the process, or ./%s", name, name);
    return SOURCE_IS_NEITHER;
}

static Source *
begin_file(const char *name, GError **error)
{
    g_autoptr(Source) source = g_new0(Source, 1);

    source->name = g_strdup(g_str_equal(name, "-") ? "standard input" : name);
    return open_file(source, name, error) ? g_steal_pointer(&source) : NULL;
}

/* Creates the TargetFiles that options describe, for names and for sources, and sets it in both. */
static void
set_files(Source *source, SymbolizeOptions *options)
{
    source->files = symbolize_files(options);
    source->root = options->sysroot ? g_strdup(options->sysroot) : debug_file_root(options);
    options->files = source->files;
}

/* The dump of a server's target, with the names resolved by the server: files of this machine are not those of another
 * one. */
static int
dump_of_server(Source *source, GError **error)
{
    g_autoptr(GError) cause = NULL;
    int fd = target_dump_named(source->target, &cause);

    if (fd >= 0)
        return fd;
    if (!g_error_matches(cause, TARGET_ERROR, OUTCOME_SYSTEM)) {
        g_propagate_error(error, g_steal_pointer(&cause));
        return -1;
    }
    source_add_note(source, g_strdup_printf("functions are named from files of this machine: %s", cause->message));
    return target_dump(source->target, error);
}

static Source *
begin_server(Target *target, GError **error)
{
    g_autoptr(Source) source = g_new0(Source, 1);

    source->target = target;
    source->owner = RIGHTS_NOBODY; /* the server chooses which files of this machine it names */
    source->name = g_strdup(target_label(target));
    source->input.time = g_get_real_time() / G_USEC_PER_SEC;
    source->taken = source->input.time;
    source->fd = dump_of_server(source, error);
    return source->fd >= 0 ? g_steal_pointer(&source) : NULL;
}

/* The process is kept until its files have been read. */
static Source *
begin_process(Target *target, const SourceOptions *options, GError **error)
{
    g_autoptr(Source) source = g_new0(Source, 1);
    SymbolizeOptions symbolize_options = options->symbolize;

    source->target = target;
    source->live = TRUE;
    source->pid = target_pid(source->target);
    symbolize_options.pid = source->pid;
    symbolize_options.author = target_user(source->target);
    set_files(source, &symbolize_options);
    source->fd = capture_dump(source->target, NULL, CAPTURE_ADDRESSES, error);
    if (source->fd < 0)
        return NULL;
    source->name = g_strdup(target_label(source->target));
    source->input.time = g_get_real_time() / G_USEC_PER_SEC;
    return g_steal_pointer(&source);
}

static Source *
begin_target(const char *name, const SourceOptions *options, GError **error)
{
    Target *target = options->open(name, error);

    if (target)
        return target_via(target) == TARGET_VIA_SERVER ? begin_server(target, error)
                                                       : begin_process(target, options, error);
    if (error != NULL && !strstr(name, "://") && g_error_matches(*error, TARGET_ERROR, OUTCOME_NO_PROCESS))
        g_prefix_error(error, "no such file: %s; ", name);
    return NULL;
}

Source *
source_begin(const char *name, const SourceOptions *options, GError **error)
{
    switch (source_kind(name, may_be_profile, error)) {
    case SOURCE_IS_FILE:
        return begin_file(name, error);
    case SOURCE_IS_TARGET:
        return begin_target(name, options, error);
    default:
        return NULL;
    }
}

gboolean
source_parse(Source *source, const SourceOptions *options, GError **error)
{
    if (!parse(source, options, error))
        return FALSE;
    source->partial = !source->live && profile_lost(source->profile) != NULL;
    source_add_note(source, source->live ? NULL : note_loss(source->profile));
    note_capture(source);
    return TRUE;
}

gint64
source_older(gint64 a, gint64 b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

static char *
note_left_out(TargetFiles *files)
{
    guint n = target_files_left_out(files);

    if (n == 0)
        return NULL;
    return g_strdup_printf("%u files or tables of debug information were left out: together they take over %u MiB", n,
                           (guint)(TARGET_FILES_MAX_MEMORY >> 20));
}

/* Whether two processes name the same files: the same user and root. */
static gboolean
see_the_same(pid_t a, pid_t b)
{
    static const char *const facts[] = {"root", "ns/mnt"};
    struct stat one, other;

    for (guint i = 0; i < G_N_ELEMENTS(facts); i++) {
        g_autofree char *of_a = g_strdup_printf("/proc/%d/%s", (int)a, facts[i]);
        g_autofree char *of_b = g_strdup_printf("/proc/%d/%s", (int)b, facts[i]);
        if (stat(of_a, &one) != 0 || stat(of_b, &other) != 0 || one.st_dev != other.st_dev ||
            one.st_ino != other.st_ino)
            return FALSE;
    }
    g_autofree char *of_a = g_strdup_printf("/proc/%d", (int)a);
    g_autofree char *of_b = g_strdup_printf("/proc/%d", (int)b);
    return stat(of_a, &one) == 0 && stat(of_b, &other) == 0 && one.st_uid == other.st_uid;
}

/* Names are looked up once for all: their files must be the same. */
static gboolean
check_together(const Source *first, const Source *part, GError **error)
{
    if (first->live != part->live) {
        g_set_error(error, SOURCE_ERROR, SOURCE_ERROR_MIXED,
                    "%s and %s: files and running processes cannot be added up; write 'jescope dump' of the process to "
                    "a file first",
                    first->name, part->name);
        return FALSE;
    }
    if (!first->live ||
        (target_user(first->target) == target_user(part->target) && see_the_same(first->pid, part->pid)))
        return TRUE;
    g_set_error(error, SOURCE_ERROR, SOURCE_ERROR_FAILED,
                "%s and %s belong to different users or containers and cannot be added up; report each by itself",
                first->name, part->name);
    return FALSE;
}

static void
add_part(Source *source, const Source *part)
{
    source->partial = source->partial || part->partial;
    source->input.time = MAX(source->input.time, part->input.time);
    source->taken = source_older(source->taken, part->taken);
    source->owner = rights_lesser(source->owner, part->owner);
    for (char **note = part->notes; note && *note; note++)
        source_add_note(source, g_strdup_printf("%s: %s", part->name, *note));
}

/* Each keeps its own mappings: dumps of different runs have their code at different addresses. */
static Source *
merge(const GPtrArray *parts, GError **error)
{
    g_autoptr(Source) source = g_new0(Source, 1);
    g_autoptr(GPtrArray) profiles = g_ptr_array_new();
    Source *first = parts->pdata[0];

    source->owner = first->owner;
    for (guint i = 0; i < parts->len; i++) {
        const Source *part = parts->pdata[i];
        add_part(source, part);
        if (i > 0 && part->files)
            target_files_join(first->files, part->files);
        g_ptr_array_add(profiles, part->profile);
    }
    source->profile = profile_merge((const Profile *const *)(void *)profiles->pdata, profiles->len, error);
    source->name = g_strdup_printf("%s and %u more", first->name, parts->len - 1);
    source->live = first->live;
    source->pid = first->pid;
    source->fd = -1;
    source->files = g_steal_pointer(&first->files);
    source->root = g_steal_pointer(&first->root);
    return source->profile ? g_steal_pointer(&source) : NULL;
}

static gboolean
name_addresses(Source *source, const SourceOptions *options, GError **error)
{
    SymbolizeOptions symbolize_options = options->symbolize;

    symbolize_options.files = source->files;
    symbolize_options.pid = source->pid > 0 ? source->pid : symbolize_options.pid;
    symbolize_options.taken = source->live ? 0 : source->taken;
    symbolize_options.owner = rights_lesser(options->symbolize.owner, source->owner);
    if (symbolize_options.advance)
        symbolize_options.advance(0, 0);
    source->symbols = symbolize(source->profile, &symbolize_options, error);
    source_add_note(source, note_left_out(source->files));
    if (target_files_ran_out(source->files))
        source_add_note(
            source,
            g_strdup_printf(
                "names are missing: files of other users, or of a debuginfod server, took more than %d s to read",
                (int)(TARGET_FILES_MAX_TIME / G_USEC_PER_SEC)));
    return source->symbols != NULL;
}

/* The files of the first source are used for all. */
static void
prepare_files(const GPtrArray *parts, const SourceOptions *options)
{
    SymbolizeOptions symbolize_options = options->symbolize;
    Source *first = parts->pdata[0];

    symbolize_options.owner = rights_lesser(symbolize_options.owner, first->owner);
    for (guint i = 1; i < parts->len; i++)
        symbolize_options.owner = rights_lesser(symbolize_options.owner, ((const Source *)parts->pdata[i])->owner);
    if (!first->files)
        set_files(first, &symbolize_options);
}

GPtrArray *
source_begin_all(char *const *names, guint n, const SourceOptions *options, GError **error)
{
    g_autoptr(GPtrArray) parts = g_ptr_array_new_with_free_func((GDestroyNotify)source_free);

    for (guint i = 0; i < n; i++) {
        Source *part = source_begin(names[i], options, error);
        if (!part)
            return NULL;
        g_ptr_array_add(parts, part);
        if (!check_together(parts->pdata[0], part, error))
            return NULL;
    }
    prepare_files(parts, options);
    return g_steal_pointer(&parts);
}

GPtrArray *
source_begin_document(int fd, SourceRead *read, const char *name, gint64 time, const SourceOptions *options)
{
    GPtrArray *parts = g_ptr_array_new_with_free_func((GDestroyNotify)source_free);
    Source *source = g_new0(Source, 1);

    source->owner = RIGHTS_NOBODY; /* another machine chooses which files of this one it names */
    source->fd = fd;
    source->read = read;
    source->name = g_strdup(name);
    source->input.time = time;
    source->taken = time;
    g_ptr_array_add(parts, source);
    prepare_files(parts, options);
    return parts;
}

Source *
source_finish(GPtrArray *parts, const SourceOptions *options, GError **error)
{
    g_autoptr(Source) source = NULL;

    for (guint i = 0; i < parts->len; i++)
        if (!source_parse(parts->pdata[i], options, error))
            return NULL;
    source = parts->len > 1 ? merge(parts, error) : g_ptr_array_steal_index(parts, 0);
    if (!source || !name_addresses(source, options, error))
        return NULL;
    source->input.name = options->title ? options->title : source->name;
    source->input.profile = source->profile;
    source->input.symbols = source->symbols;
    source->input.text = source->text;
    return g_steal_pointer(&source);
}

uid_t
source_author(const GPtrArray *parts)
{
    uid_t author = 0;

    for (guint i = 0; i < parts->len; i++) {
        const Source *part = parts->pdata[i];
        author = rights_lesser(author, part->live ? target_user(part->target) : part->owner);
    }
    return author;
}

GArray *
source_descriptors(const GPtrArray *parts)
{
    GArray *descriptors = g_array_new(FALSE, FALSE, sizeof(int));

    for (guint i = 0; i < parts->len; i++)
        g_array_append_val(descriptors, ((const Source *)parts->pdata[i])->fd);
    return descriptors;
}

void
source_free(Source *source)
{
    if (source->fd >= 0)
        close(source->fd);
    g_clear_pointer(&source->target, target_free);
    g_clear_pointer(&source->symbols, symbols_free);
    g_clear_pointer(&source->profile, profile_free);
    g_clear_pointer(&source->text, g_bytes_unref);
    g_clear_pointer(&source->files, target_files_unref);
    g_free(source->root);
    g_free(source->name);
    g_strfreev(source->notes);
    g_free(source);
}
