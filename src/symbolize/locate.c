/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/locate.h"

#include "symbolize/debug-file.h"

#include <string.h>
#include <sys/stat.h>

/* Why a file does not match, with the remedy; NULL: it matches. */
typedef char *(*Objection)(const LocateRequest *request, const Image *image);

static char *
deleted_objection(const LocateRequest *request, const Image *image)
{
    gboolean exact = g_strrstr(image_path(image), "/map_files/") != NULL;
    if ((request->object->flags & PROFILE_OBJECT_DELETED) == 0 || exact)
        return NULL;
    return g_strdup_printf("%s was replaced before the dump was taken; name a directory with the old files with "
                           "--sysroot or PPROF_BINARY_PATH",
                           image_path(image));
}

/* Inode numbers compare only on the machine that runs the target. */
static char *
inode_objection(const LocateRequest *request, const Image *image)
{
    guint64 inode = request->object->inode;
    if (request->options->pid == 0 || inode == 0 || inode == image_stat(image)->st_ino)
        return NULL;
    return g_strdup_printf("%s was replaced since the target loaded it; restart the target, or run jescope as root, "
                           "which may still read the old file",
                           image_path(image));
}

/*
 * A file written after the dump is probably a later build. Files in a directory that the user named are accepted:
 * copies are younger than their originals.
 */
static char *
age_objection(const LocateRequest *request, const Image *image)
{
    gboolean named = request->options->sysroot != NULL || g_strcmp0(image_path(image), request->object->path) != 0;
    if (request->options->taken == 0 || request->options->pid != 0 || named ||
        image_stat(image)->st_mtim.tv_sec <= request->options->taken)
        return NULL;
    return g_strdup_printf("%s was changed after the dump was taken; if it is nevertheless the file that ran, use "
                           "--sysroot=/, or name a directory with the old files",
                           image_path(image));
}

static char *
layout_objection(const LocateRequest *request, const Image *image)
{
    for (guint i = 0; i < request->n_mappings; i++) {
        const ProfileMapping *mapping = request->mappings[i];
        const ImageMapping seen = {
            .file_offset = mapping->file_offset,
            .size = mapping->limit - mapping->start,
            .page = request->page,
            .whole = request->n_mappings == 1,
        };
        if (!image_fits(image, &seen)) {
            return g_strdup_printf(
                "%s is not the file that ran: its code does not fit the mapping of %" G_GUINT64_FORMAT
                " bytes at offset 0x%" G_GINT64_MODIFIER
                "x; name a directory with the old files with --sysroot or PPROF_BINARY_PATH",
                image_path(image), seen.size, seen.file_offset);
        }
    }
    return NULL;
}

static char *
first_objection(const LocateRequest *request, const Image *image)
{
    static const Objection objections[] = {
        deleted_objection,
        inode_objection,
        age_objection,
        layout_objection,
    };
    char *text = NULL;
    for (gsize i = 0; i < G_N_ELEMENTS(objections) && text == NULL; i++)
        text = objections[i](request, image);
    return text;
}

/* All ranges of an object are of one file, so a few show it even if others were unmapped since. A dump may have any
 * number of them, and each file that is opened is checked against all. */
enum { MAP_FILES_MAX = 16 };

static void
add_map_files(GPtrArray *paths, const LocateRequest *request)
{
    for (guint i = 0; i < MIN(request->n_mappings, MAP_FILES_MAX); i++) {
        const ProfileMapping *mapping = request->mappings[i];
        g_ptr_array_add(paths, g_strdup_printf("/proc/%d/map_files/%" G_GINT64_MODIFIER "x-%" G_GINT64_MODIFIER "x",
                                               (int)request->options->pid, mapping->start, mapping->limit));
    }
}

static void
add_binary_paths(GPtrArray *paths, const LocateRequest *request)
{
    const char *variable = g_getenv("PPROF_BINARY_PATH");
    g_auto(GStrv) list = g_strsplit(variable != NULL ? variable : "", ":", -1);
    g_autofree char *name = g_path_get_basename(request->object->path);
    for (guint i = 0; list[i] != NULL; i++) {
        if (list[i][0] == '\0')
            continue;
        g_ptr_array_add(paths, g_build_filename(list[i], name, NULL));
        g_ptr_array_add(paths, g_build_filename(list[i], request->object->path, NULL));
    }
}

static GPtrArray *
candidates(const LocateRequest *request)
{
    GPtrArray *paths = g_ptr_array_new_with_free_func(g_free);
    if (request->options->pid > 0)
        add_map_files(paths, request);
    add_binary_paths(paths, request);
    g_autofree char *root = debug_file_root(request->options);
    g_ptr_array_add(paths, root[0] != '\0' ? g_build_filename(root, request->object->path, NULL)
                                           : g_strdup(request->object->path));
    return paths;
}

/* The first candidate without objection; the objection to the last one otherwise. */
static Image *
find_file(const LocateRequest *request, Located *located)
{
    g_autoptr(GPtrArray) paths = candidates(request);
    for (guint i = 0; i < paths->len; i++) {
        g_autoptr(GError) failure = NULL;
        g_autoptr(Image) image = image_open(request->options->files, paths->pdata[i], &failure);
        char *objection = image != NULL ? first_objection(request, image) : NULL;
        if (image != NULL && objection == NULL) {
            g_clear_pointer(&located->note, g_free);
            located->refused = FALSE;
            return g_steal_pointer(&image);
        }
        if (objection != NULL || !located->refused) {
            g_free(located->note);
            located->note = objection != NULL ? objection : g_strdup(failure->message);
            located->refused |= objection != NULL;
        }
    }
    return NULL;
}

void
locate_object(const LocateRequest *request, Located *located)
{
    *located = (Located){0};
    if ((request->object->flags & (PROFILE_OBJECT_VDSO | PROFILE_OBJECT_ANONYMOUS)) != 0)
        return;
    located->file = find_file(request, located);
    ImageSection entries;
    if (located->file == NULL || image_section(located->file, ".debug_info", &entries))
        return; /* there is no separate debug information */
    const DebugFileQuery query = {request->object->path, image_build_id(located->file), located->file};
    located->debug = debug_file_find(&query, request->options);
}

void
located_clear(Located *located)
{
    g_clear_pointer(&located->file, image_unref);
    g_clear_pointer(&located->debug, image_unref);
    g_clear_pointer(&located->note, g_free);
}
