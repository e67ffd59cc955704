/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/source.h"

#include "cli/command.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gunixinputstream.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

gboolean
source_read_mapped(Source *source, int fd, const char *name, ProfileReadFlags flags, GError **error)
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

/* Only the stacks stay in memory, unless the text is wanted. */
static gboolean
read_descriptor(Source *source, int fd, const char *name, const SourceOptions *options, GError **error)
{
    struct stat status;

    source->input.time = g_get_real_time() / G_USEC_PER_SEC;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
        source->input.time = status.st_mtim.tv_sec;
        source->taken = status.st_mtim.tv_sec;
        if (options->keeps_text && status.st_size > 0)
            return source_read_mapped(source, fd, name, options->read, error);
    }
    if (options->keeps_text)
        return read_pipe_whole(source, fd, name, options->read, error);
    source->profile = profile_read_fd(fd, name, options->read, error);
    return source->profile != NULL;
}

static gboolean
read_file(Source *source, const char *name, const SourceOptions *options, GError **error)
{
    gboolean ok;
    int fd;

    if (g_str_equal(name, "-"))
        return read_descriptor(source, STDIN_FILENO, "standard input", options, error);
    fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_FAILED, "cannot read %s: %s", name, g_strerror(errno));
        return FALSE;
    }
    ok = read_descriptor(source, fd, name, options, error);
    close(fd);
    return ok;
}

static gboolean
is_file(const char *name)
{
    return g_str_equal(name, "-") || strchr(name, '/') || g_file_test(name, G_FILE_TEST_EXISTS);
}

Source *
source_read(const char *name, const SourceOptions *options, GError **error)
{
    g_autoptr(Source) source = g_new0(Source, 1);

    if (!read_file(source, name, options, error))
        return NULL;
    source->name = g_strdup(g_str_equal(name, "-") ? "standard input" : name);
    source->partial = profile_lost(source->profile) != NULL;
    source_add_note(source, note_loss(source->profile));
    return g_steal_pointer(&source);
}

gint64
source_older(gint64 a, gint64 b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

/* Each keeps its own mappings: dumps of different runs have their code at different addresses. */
static Source *
merge_files(char *const *names, guint n, const SourceOptions *options, GError **error)
{
    g_autoptr(Source) source = g_new0(Source, 1);
    g_autoptr(GPtrArray) profiles = g_ptr_array_new_with_free_func((GDestroyNotify)profile_free);

    for (guint i = 0; i < n; i++) {
        g_autoptr(Source) part = source_read(names[i], options, error);
        if (!part)
            return NULL;
        source->partial = source->partial || part->partial;
        source->input.time = MAX(source->input.time, part->input.time);
        source->taken = source_older(source->taken, part->taken);
        for (char **note = part->notes; note && *note; note++)
            source_add_note(source, g_strdup(*note));
        g_ptr_array_add(profiles, g_steal_pointer(&part->profile));
    }
    source->profile = profile_merge((const Profile *const *)(void *)profiles->pdata, profiles->len, error);
    source->name = g_strdup_printf("%s and %u more", names[0], n - 1);
    return source->profile ? g_steal_pointer(&source) : NULL;
}

static Source *
open_files(char *const *names, guint n, const SourceOptions *options, GError **error)
{
    g_autoptr(Source) source = n > 1 ? merge_files(names, n, options, error) : source_read(names[0], options, error);
    SymbolizeOptions symbolize_options = options->symbolize;

    if (!source)
        return NULL;
    symbolize_options.taken = source->taken;
    source->symbols = symbolize(source->profile, &symbolize_options, error);
    return source->symbols ? g_steal_pointer(&source) : NULL;
}

Source *
source_open(char *const *names, guint n, const SourceOptions *options, GError **error)
{
    gboolean live = n == 1 && (g_str_has_prefix(names[0], "unix:") || !is_file(names[0]));
    g_autoptr(Source) source =
        live ? source_open_target(names[0], options, error) : open_files(names, n, options, error);

    if (!source)
        return NULL;
    source->input.name = options->title ? options->title : source->name;
    source->input.profile = source->profile;
    source->input.symbols = source->symbols;
    source->input.text = source->text;
    return g_steal_pointer(&source);
}

void
source_free(Source *source)
{
    g_clear_pointer(&source->symbols, symbols_free);
    g_clear_pointer(&source->profile, profile_free);
    g_clear_pointer(&source->text, g_bytes_unref);
    g_free(source->name);
    g_strfreev(source->notes);
    g_free(source);
}
