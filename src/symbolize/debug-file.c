/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/debug-file.h"

#include "confine/opener.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SYSTEM_DIRECTORY "/usr/lib/debug"

char *
debug_file_root(const SymbolizeOptions *options)
{
    if (options->pid > 0)
        return g_strdup_printf("/proc/%d/root", (int)options->pid);
    return g_strdup(options->sysroot != NULL ? options->sysroot : "");
}

/* The directories to search, in order. */
static GPtrArray *
directories(const SymbolizeOptions *options)
{
    GPtrArray *list = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; options->debug_paths != NULL && options->debug_paths[i] != NULL; i++)
        g_ptr_array_add(list, g_strdup(options->debug_paths[i]));
    g_autofree char *root = debug_file_root(options);
    if (root[0] != '\0')
        g_ptr_array_add(list, g_strconcat(root, SYSTEM_DIRECTORY, NULL));
    g_ptr_array_add(list, g_strdup(SYSTEM_DIRECTORY));
    return list;
}

static gboolean
same_file(const Image *a, const Image *b)
{
    return image_stat(a)->st_dev == image_stat(b)->st_dev && image_stat(a)->st_ino == image_stat(b)->st_ino;
}

/* The name in .gnu_debuglink, and the crc after it, which is aligned and in the file's byte order. */
static const char *
read_link(Image *image, guint32 *crc)
{
    ImageSection section;
    if (!image_section(image, ".gnu_debuglink", &section))
        return NULL;
    const char *name = image_text_at(&section, 0, PATH_MAX);
    gsize at = name != NULL ? (strlen(name) + 4) & ~(gsize)3 : section.size;
    if (at > section.size || section.size - at < sizeof(*crc))
        return NULL;
    memcpy(crc, section.data + at, sizeof(*crc));
    const char *ident = elf_getident(image_elf(image), NULL);
    *crc = ident != NULL && ident[EI_DATA] == ELFDATA2MSB ? GUINT32_FROM_BE(*crc) : GUINT32_FROM_LE(*crc);
    return name;
}

typedef struct {
    const DebugFileQuery *query;
    TargetFiles *files;
    const char *link; /* the name in .gnu_debuglink, or NULL */
    guint32 crc;
} Wanted;

/* Whether image is the requested file; frees it if it is not. */
static Image *
check(const Wanted *wanted, Image *opened)
{
    g_autoptr(Image) image = opened;
    if (image == NULL || same_file(image, wanted->query->file))
        return NULL;
    const char *have = image_build_id(image);
    gboolean fits = FALSE;
    guint32 crc;
    if (wanted->query->build_id != NULL && have != NULL)
        fits = strcmp(wanted->query->build_id, have) == 0;
    else if (wanted->link != NULL)
        fits = image_crc(image, &crc) && crc == wanted->crc;
    return fits ? g_steal_pointer(&image) : NULL;
}

/* Takes the file at path, which is freed, if it is the requested one. */
static Image *
try(const Wanted *wanted, char *path)
{
    Image *image = image_open_part(wanted->files, path, NULL); /* the supplementary file of dwz is not a program */
    g_free(path);
    return check(wanted, image);
}

static Image *
find_by_build_id(const Wanted *wanted, const GPtrArray *list)
{
    const char *build_id = wanted->query->build_id;
    Image *found = NULL;
    for (guint i = 0; build_id != NULL && strlen(build_id) > 2 && found == NULL && i < list->len; i++)
        found =
            try(wanted, g_strdup_printf("%s/.build-id/%.2s/%s.debug", (char *)list->pdata[i], build_id, build_id + 2));
    return found;
}

static Image *
find_beside(const Wanted *wanted, const char *directory)
{
    Image *found = try(wanted, g_build_filename(directory, wanted->link, NULL));
    return found != NULL ? found : try(wanted, g_build_filename(directory, ".debug", wanted->link, NULL));
}

static Image *
find_by_link(const Wanted *wanted, const GPtrArray *list, const char *root)
{
    if (wanted->link == NULL)
        return NULL;
    g_autofree char *beside = g_path_get_dirname(image_path(wanted->query->file));
    g_autofree char *directory = g_path_get_dirname(wanted->query->path);
    g_autofree char *original = g_strconcat(root, directory, NULL); /* /proc/PID/map_files has nothing beside it */
    Image *found = find_beside(wanted, beside);
    if (found == NULL)
        found = find_beside(wanted, original);
    for (guint i = 0; found == NULL && i < list->len; i++) {
        found = try(wanted, g_build_filename(list->pdata[i], directory, wanted->link, NULL));
        if (found == NULL)
            found = try(wanted, g_build_filename(list->pdata[i], wanted->link, NULL));
    }
    return found;
}

static Image *
find_by_path(const Wanted *wanted, const GPtrArray *list)
{
    g_autofree char *name = g_path_get_basename(wanted->query->path);
    Image *found = NULL;
    for (guint i = 0; found == NULL && i < list->len; i++) {
        const char *directory = list->pdata[i];
        found = try(wanted, g_strdup_printf("%s/%s.debug", directory, wanted->query->path));
        if (found == NULL)
            found = try(wanted, g_strdup_printf("%s/%s.debug", directory, name));
        if (found == NULL)
            found = try(wanted, g_build_filename(directory, name, NULL));
    }
    return found;
}

static Image *
find_by_debuginfod(const Wanted *wanted, const SymbolizeOptions *options)
{
    const char *urls = g_getenv("DEBUGINFOD_URLS");
    const char *build_id = wanted->query->build_id;
    gboolean asked = options->debuginfod || (urls != NULL && urls[0] != '\0');
    const OpenerQuestion question = {.kind = OPENER_DEBUGINFOD, .text = build_id, .fd = -1};
    OpenerAnswer answer;
    if (!asked || build_id == NULL || opener_ask(&question, &answer) != 0 || answer.fd < 0)
        return NULL;
    Image *found = check(wanted, image_open_fetched(wanted->files, answer.fd, answer.text, NULL));
    close(answer.fd);
    return found;
}

Image *
debug_file_find(const DebugFileQuery *query, const SymbolizeOptions *options)
{
    g_autoptr(GPtrArray) list = directories(options);
    guint32 crc = 0;
    const char *link = read_link(query->file, &crc);
    const Wanted wanted = {query, options->files, link, crc};
    Image *found = find_by_build_id(&wanted, list);
    if (found == NULL) {
        g_autofree char *root = debug_file_root(options);
        found = find_by_link(&wanted, list, root);
    }
    if (found == NULL)
        found = find_by_path(&wanted, list);
    return found != NULL ? found : find_by_debuginfod(&wanted, options);
}

static char *
hex(const guint8 *bytes, gsize size)
{
    GString *text = g_string_sized_new(2 * size + 1);
    for (gsize i = 0; i < size; i++)
        g_string_append_printf(text, "%02x", bytes[i]);
    return g_string_free(text, FALSE);
}

/* A relative name is relative to the naming file; an absolute one to the target's root. */
static Image *
find_supplement_by_name(const Wanted *wanted, const char *name, const SymbolizeOptions *options)
{
    g_autofree char *root = debug_file_root(options);
    if (g_path_is_absolute(name))
        return try(wanted, g_strconcat(root, name, NULL));
    g_autofree char *directory = g_path_get_dirname(image_place(wanted->query->file));
    return try(wanted, g_build_filename(directory, name, NULL));
}

Image *
debug_file_supplement(Image *image, const SymbolizeOptions *options)
{
    ImageSection section;
    if (!image_section(image, ".gnu_debugaltlink", &section))
        return NULL;
    const guint8 *end = memchr(section.data, '\0', section.size);
    if (end == NULL || end + 1 == section.data + section.size)
        return NULL;
    g_autofree char *build_id = hex(end + 1, (gsize)(section.data + section.size - end - 1));
    const DebugFileQuery query = {image_path(image), build_id, image};
    const Wanted wanted = {&query, options->files, NULL, 0};
    Image *found = find_supplement_by_name(&wanted, (const char *)section.data, options);
    if (found == NULL) {
        g_autoptr(GPtrArray) list = directories(options);
        found = find_by_build_id(&wanted, list);
    }
    return found != NULL ? found : find_by_debuginfod(&wanted, options);
}
