/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/dwarf-split.h"

#include "confine/thread-time.h"
#include "symbolize/debug-file.h"
#include "symbolize/patience.h"

/* DWARF 5, 7.3.5.3; version 2 is GNU's, of DWARF 4. */
#define MAX_COLUMNS 16

struct DwarfPackage {
    Image *image;
    ImageSection sections[DWARF_N_SECTIONS]; /* complete; each unit has a part of every section */
    ImageSection index;
    guint32 n_columns, n_units, n_slots;
    gint columns[MAX_COLUMNS]; /* DwarfSection, -1: not used */
};

static DwarfCursor
index_cursor(const DwarfPackage *package, guint64 offset)
{
    guint64 inside = MIN(offset, package->index.size);
    return (DwarfCursor){.at = package->index.data + inside, .end = package->index.data + package->index.size};
}

static gint
column_section(guint32 version, guint32 id)
{
    static const gint sections[] = {-1, DWARF_INFO, -1, DWARF_ABBREV, DWARF_LINE, -1, DWARF_STR_OFFSETS, -1, -1};
    if (version == 5 && id == 8 /* DW_SECT_RNGLISTS */)
        return DWARF_RNGLISTS;
    return id < G_N_ELEMENTS(sections) ? sections[id] : -1;
}

#define HEADER_SIZE 16

static guint64
slots_size(const DwarfPackage *package)
{
    return (guint64)package->n_slots * (8 + 4);
}

static gboolean
read_index(DwarfPackage *package)
{
    DwarfCursor cursor = index_cursor(package, 0);
    guint32 version = (guint32)dwarf_cursor_fixed(&cursor, 4) & 0xffff;
    package->n_columns = (guint32)dwarf_cursor_fixed(&cursor, 4);
    package->n_units = (guint32)dwarf_cursor_fixed(&cursor, 4);
    package->n_slots = (guint32)dwarf_cursor_fixed(&cursor, 4);
    guint64 rows = ((guint64)package->n_units * 2 + 1) * package->n_columns * 4;
    if (cursor.overrun || package->n_columns > MAX_COLUMNS || package->n_slots == 0 ||
        (package->n_slots & (package->n_slots - 1)) != 0 || slots_size(package) + rows > dwarf_cursor_left(&cursor))
        return FALSE;
    cursor = index_cursor(package, HEADER_SIZE + slots_size(package));
    for (guint32 i = 0; i < package->n_columns; i++)
        package->columns[i] = column_section(version, (guint32)dwarf_cursor_fixed(&cursor, 4));
    return version == 2 || version == 5;
}

static gboolean
open_package_sections(DwarfPackage *package)
{
    static const char *const names[DWARF_N_SECTIONS] = {
        [DWARF_INFO] = ".debug_info.dwo",
        [DWARF_ABBREV] = ".debug_abbrev.dwo",
        [DWARF_LINE] = ".debug_line.dwo",
        [DWARF_STR] = ".debug_str.dwo",
        [DWARF_STR_OFFSETS] = ".debug_str_offsets.dwo",
        [DWARF_RNGLISTS] = ".debug_rnglists.dwo",
    };
    for (gsize i = 0; i < DWARF_N_SECTIONS; i++)
        if (names[i] != NULL)
            image_section(package->image, names[i], &package->sections[i]);
    return package->sections[DWARF_INFO].size > 0 && image_section(package->image, ".debug_cu_index", &package->index);
}

DwarfPackage *
dwarf_package_open(TargetFiles *files, const char *path)
{
    g_autoptr(DwarfPackage) package = g_new0(DwarfPackage, 1);
    package->image = image_open_part(files, path, NULL);
    if (package->image == NULL || !open_package_sections(package) || !read_index(package))
        return NULL;
    return g_steal_pointer(&package);
}

void
dwarf_package_free(DwarfPackage *package)
{
    if (package != NULL) {
        image_unref(package->image);
        g_free(package);
    }
}

/* The row of a unit, counted from 1; 0: it is not in the package. */
static guint32
find_row(const DwarfPackage *package, guint64 id)
{
    guint32 mask = package->n_slots - 1;
    guint32 slot = (guint32)id & mask;
    guint32 step = ((guint32)(id >> 32) & mask) | 1;
    for (guint32 tries = 0; tries < package->n_slots && patience_spend(16); tries++, slot = (slot + step) & mask) {
        DwarfCursor key = index_cursor(package, HEADER_SIZE + (guint64)slot * 8);
        DwarfCursor row = index_cursor(package, HEADER_SIZE + (guint64)package->n_slots * 8 + (guint64)slot * 4);
        guint32 number = (guint32)dwarf_cursor_fixed(&row, 4);
        if (number == 0)
            return 0;
        if (dwarf_cursor_fixed(&key, 8) == id)
            return number <= package->n_units ? number : 0;
    }
    return 0;
}

/* Restricts a section to the unit's part, which is empty if out of range. */
static void
cut(ImageSection *section, guint64 offset, guint64 size)
{
    gboolean inside = offset <= section->size && size <= section->size - offset;
    section->data = inside ? section->data + offset : section->data;
    section->size = inside ? size : 0;
}

static DwarfFile *
open_from_package(const DwarfPackage *package, guint64 id)
{
    image_join_patience(package->image);
    guint32 row = find_row(package, id);
    if (row == 0)
        return NULL;
    ImageSection sections[DWARF_N_SECTIONS];
    memcpy(sections, package->sections, sizeof(sections));
    guint64 width = (guint64)package->n_columns * 4;
    guint64 offsets = HEADER_SIZE + slots_size(package) + row * width; /* the names of the columns are row 0 */
    guint64 sizes = offsets + package->n_units * width;
    for (guint32 i = 0; i < package->n_columns; i++) {
        DwarfCursor offset = index_cursor(package, offsets + (guint64)i * 4);
        DwarfCursor size = index_cursor(package, sizes + (guint64)i * 4);
        if (package->columns[i] >= 0)
            cut(&sections[package->columns[i]], dwarf_cursor_fixed(&offset, 4), dwarf_cursor_fixed(&size, 4));
    }
    return dwarf_file_from_sections(package->image, sections);
}

/* Marks the unit as that of skeleton, whose addresses it uses. */
static const DwarfUnit *
adopt(const DwarfFile *file, const DwarfUnit *skeleton)
{
    for (guint i = 0; i < file->units->len; i++) {
        DwarfUnit *unit = &g_array_index(file->units, DwarfUnit, i);
        if (unit->dwo_id != skeleton->dwo_id)
            continue;
        unit->split = TRUE;
        unit->addresses = skeleton->file;
        unit->addr_base = skeleton->addr_base;
        unit->low_pc = skeleton->low_pc;
        unit->ranges_base = skeleton->ranges_base;
        return unit;
    }
    return NULL;
}

static DwarfFile *
try(const DwarfUnit *skeleton, TargetFiles *files, const char *path, const DwarfUnit **unit)
{
    const gint64 began_us = thread_time_us();
    g_autoptr(Image) image = image_open_part(files, path, NULL);
    if (image != NULL && !image_is_trusted(image))
        target_files_take_time(files, thread_time_us() - began_us);
    g_autoptr(DwarfFile) file = image != NULL ? dwarf_file_open(image, ".dwo") : NULL;
    const DwarfUnit *found = file != NULL ? adopt(file, skeleton) : NULL;
    if (found == NULL)
        return NULL;
    *unit = found;
    return g_steal_pointer(&file);
}

/* The candidate paths of a skeleton's name, in order. */
static GPtrArray *
candidates(const DwarfUnit *skeleton, const SymbolizeOptions *options)
{
    GPtrArray *paths = g_ptr_array_new_with_free_func(g_free);
    const char *name = skeleton->dwo_name;
    g_autofree char *root = debug_file_root(options);
    g_autofree char *bare = g_path_get_basename(name);
    g_autofree char *beside = g_path_get_dirname(image_path(skeleton->file->image));
    gboolean absolute = g_path_is_absolute(name);
    const char *directory = skeleton->directory != NULL ? skeleton->directory : "";
    g_autofree char *full = absolute ? g_strdup(name) : g_build_filename(directory, name, NULL);
    g_ptr_array_add(paths, g_strconcat(root, full[0] == '/' ? "" : "/", full, NULL));
    if (options->sysroot != NULL) /* options for the program's files may not apply to its build directory */
        g_ptr_array_add(paths, g_strdup(full));
    for (guint i = 0; options->debug_paths != NULL && options->debug_paths[i] != NULL; i++) {
        g_ptr_array_add(paths, g_build_filename(options->debug_paths[i], name, NULL));
        g_ptr_array_add(paths, g_build_filename(options->debug_paths[i], bare, NULL));
    }
    g_ptr_array_add(paths, g_build_filename(beside, name, NULL));
    g_ptr_array_add(paths, g_build_filename(beside, bare, NULL));
    return paths;
}

DwarfFile *
dwarf_split_open(const DwarfUnit *skeleton, const DwarfPackage *package, const SymbolizeOptions *options,
                 const DwarfUnit **unit)
{
    g_autoptr(DwarfFile) packed = package != NULL ? open_from_package(package, skeleton->dwo_id) : NULL;
    const DwarfUnit *found = packed != NULL ? adopt(packed, skeleton) : NULL;
    if (found != NULL) {
        *unit = found;
        return g_steal_pointer(&packed);
    }
    g_autoptr(GPtrArray) paths = candidates(skeleton, options);
    DwarfFile *file = NULL;
    for (guint i = 0; i < paths->len && file == NULL; i++)
        file = try(skeleton, options->files, paths->pdata[i], unit);
    return file;
}
