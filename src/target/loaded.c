/* SPDX-License-Identifier: Apache-2.0 */
#include "target/loaded.h"

#include "confine/target-files.h"
#include "target/program-file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

enum {
    OBJECTS_MAX = 4096,
    HEADERS_MAX = PROGRAM_FILE_HEADERS_MAX,
    DYNAMIC_MAX = 256,
    NOTE_MAX = 4096,
    BUILD_ID_MAX = 64,
    PAGE = 4096,
};

typedef struct {
    Elf64_Phdr headers[HEADERS_MAX];
    guint n;
    gboolean fixed; /* ET_EXEC: loaded at its linked address */
} Headers;

/* The beginning of the dynamic linker's struct link_map and struct r_debug (<link.h>), as laid out in the target. */
typedef struct {
    guint64 bias;
    guint64 name;
    guint64 dynamic;
    guint64 next;
} LinkMap;

typedef struct {
    guint64 version;
    guint64 map;
} LinkDebug;

static gboolean
read_headers(const AddressSpace *space, guint64 base, Headers *headers)
{
    Elf64_Ehdr header;
    if (!remote_read(space->pid, base, &header, sizeof(header)) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr) ||
        header.e_phnum > HEADERS_MAX)
        return FALSE;
    headers->n = header.e_phnum;
    headers->fixed = header.e_type == ET_EXEC;
    return remote_read(space->pid, base + header.e_phoff, headers->headers, headers->n * sizeof(Elf64_Phdr));
}

static const Elf64_Phdr *
find_header(const Headers *headers, guint32 type)
{
    for (guint i = 0; i < headers->n; i++)
        if (headers->headers[i].p_type == type)
            return &headers->headers[i];
    return NULL;
}

static guint64
bias_of(const Headers *headers, guint64 base)
{
    const Elf64_Phdr *load = find_header(headers, PT_LOAD);
    return headers->fixed || load == NULL ? 0 : base - (load->p_vaddr - load->p_offset);
}

/* The first mapping of the file that is mapped at ADDRESS. */
static const Mapping *
first_mapping(const AddressSpace *space, guint64 address)
{
    const Mapping *within = address_space_find(space, address);
    if (within == NULL || within->inode == 0)
        return NULL;
    const Mapping *all = (const Mapping *)(void *)space->mappings->data;
    for (const Mapping *mapping = within;; mapping--) {
        if (mapping->inode == within->inode && mapping->device == within->device && mapping->offset == 0)
            return mapping;
        if (mapping == all)
            return NULL;
    }
}

/* An entry of the auxiliary vector (getauxval(3)); 0 if absent. */
static guint64
auxiliary_value(pid_t pid, guint64 type)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/auxv", (int)pid);
    g_autofree char *bytes = NULL;
    gsize length = 0;
    if (!g_file_get_contents(path, &bytes, &length, NULL))
        return 0;
    for (gsize at = 0; at + sizeof(Elf64_auxv_t) <= length; at += sizeof(Elf64_auxv_t)) {
        Elf64_auxv_t entry;
        memcpy(&entry, bytes + at, sizeof(entry));
        if (entry.a_type == type)
            return entry.a_un.a_val;
    }
    return 0;
}

static guint64
link_map_of(const AddressSpace *space, const Headers *headers, guint64 bias)
{
    const Elf64_Phdr *dynamic = find_header(headers, PT_DYNAMIC);
    Elf64_Dyn entries[DYNAMIC_MAX];
    if (dynamic == NULL)
        return 0;
    gsize got =
        remote_read_some(space->pid, bias + dynamic->p_vaddr, entries, MIN(dynamic->p_memsz, (guint64)sizeof(entries)));
    for (gsize i = 0; i < got / sizeof(*entries) && entries[i].d_tag != DT_NULL; i++) {
        LinkDebug debug;
        if (entries[i].d_tag == DT_DEBUG && remote_read(space->pid, entries[i].d_un.d_ptr, &debug, sizeof(debug)))
            return debug.map;
    }
    return 0;
}

static gboolean
is_listed(const GArray *objects, const Mapping *first)
{
    for (guint i = 0; i < objects->len; i++)
        if (g_array_index(objects, LoadedObject, i).first == first)
            return TRUE;
    return FALSE;
}

/* Adds each file once, even if the link map has it several times. */
static void
add_linked(const AddressSpace *space, guint64 at, GArray *objects)
{
    LinkMap map;
    for (guint n = 0; n < OBJECTS_MAX && at != 0 && remote_read(space->pid, at, &map, sizeof(map));
         n++, at = map.next) {
        LoadedObject object = {.first = first_mapping(space, map.dynamic), .bias = map.bias};
        /* The first object is the executable, which was added already. */
        if (n > 0 && object.first != NULL && !is_listed(objects, object.first))
            g_array_append_val(objects, object);
    }
}

gboolean
loaded_contains(const AddressSpace *space, const LoadedObject *object, const Mapping *mapping)
{
    return address_space_first(space, mapping) == object->first;
}

GArray *
loaded_objects(const AddressSpace *space)
{
    return loaded_objects_from(space, auxiliary_value(space->pid, AT_PHDR));
}

GArray *
loaded_objects_from(const AddressSpace *space, guint64 program_headers)
{
    GArray *objects = g_array_new(FALSE, FALSE, sizeof(LoadedObject));
    LoadedObject program = {.program = TRUE};
    Headers headers;
    program.first = first_mapping(space, program_headers);
    if (program.first == NULL || !read_headers(space, program.first->start, &headers))
        return objects;
    program.bias = bias_of(&headers, program.first->start);
    g_array_append_val(objects, program);
    add_linked(space, link_map_of(space, &headers, program.bias), objects);
    return objects;
}

gboolean
loaded_is_deleted(const LoadedObject *object)
{
    return g_str_has_suffix(object->first->path, " (deleted)");
}

static int
check_same(int fd, const Headers *headers)
{
    if (fd >= 0 && !program_file_is_loaded(fd, headers->headers, headers->n)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* Opens a path from the kernel with jescope's privileges; paths from the process are opened with the process's. */
static int
open_kernels(const char *path)
{
    return open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

static int
open_theirs(const AddressSpace *space, const char *path)
{
    const TargetFilesOptions options = {.pid = space->pid};
    g_autoptr(TargetFiles) files = target_files_new(&options);
    TargetFile file;
    if (!target_files_open(files, path, &file, NULL))
        return -1;
    g_free(file.path);
    return file.fd;
}

int
loaded_open(const AddressSpace *space, const LoadedObject *object)
{
    Headers headers;
    int pid = (int)space->pid;
    if (!read_headers(space, object->first->start, &headers))
        return -1;
    /* These two refer to the file itself, even if it was renamed or deleted; the second requires a capability. */
    g_autofree char *image = g_strdup_printf("/proc/%d/exe", pid);
    g_autofree char *mapped = g_strdup_printf("/proc/%d/map_files/%" G_GINT64_MODIFIER "x-%" G_GINT64_MODIFIER "x", pid,
                                              object->first->start, object->first->end);
    g_autofree char *named = g_strdup_printf("/proc/%d/root%s", pid, object->first->path);
    int fd = check_same(open_kernels(object->program ? image : mapped), &headers);
    return fd >= 0 ? fd : check_same(open_theirs(space, named), &headers);
}

/* The build id in NOTES, LENGTH bytes, as hexadecimal digits, or NULL. */
static char *
build_id_in(const guint8 *notes, gsize length)
{
    static const char owner[] = "GNU";
    Elf64_Nhdr note;
    for (gsize at = 0; at + sizeof(note) <= length;) {
        memcpy(&note, notes + at, sizeof(note));
        gsize name = at + sizeof(note);
        gsize padded_name = ((gsize)note.n_namesz + 3) & ~(gsize)3;
        gsize padded_bytes = ((gsize)note.n_descsz + 3) & ~(gsize)3;
        if (padded_name > length - name || padded_bytes > length - name - padded_name)
            return NULL;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(owner) &&
            memcmp(notes + name, owner, sizeof(owner)) == 0 && note.n_descsz > 1 && note.n_descsz <= BUILD_ID_MAX) {
            GString *text = g_string_new(NULL);
            for (gsize i = 0; i < note.n_descsz; i++)
                g_string_append_printf(text, "%02x", notes[name + padded_name + i]);
            return g_string_free(text, FALSE);
        }
        at = name + padded_name + padded_bytes;
    }
    return NULL;
}

static char *
build_id_of(const AddressSpace *space, const LoadedObject *object)
{
    Headers headers;
    char *found = NULL;
    if (!read_headers(space, object->first->start, &headers))
        return NULL;
    for (guint i = 0; i < headers.n && found == NULL; i++) {
        const Elf64_Phdr *header = &headers.headers[i];
        guint8 notes[NOTE_MAX];
        if (header->p_type == PT_NOTE)
            found = build_id_in(notes, remote_read_some(space->pid, object->bias + header->p_vaddr, notes,
                                                        MIN(header->p_memsz, (guint64)sizeof(notes))));
    }
    return found;
}

int
loaded_open_debug(const AddressSpace *space, const LoadedObject *object)
{
    g_autofree char *id = build_id_of(space, object);
    if (id == NULL)
        return -1;
    g_autofree char *own = g_strdup_printf("/usr/lib/debug/.build-id/%.2s/%s.debug", id, id + 2);
    g_autofree char *theirs = g_strdup_printf("/proc/%d/root%s", (int)space->pid, own);
    int fd = open_theirs(space, theirs);
    return fd >= 0 ? fd : open_theirs(space, own);
}

static gboolean
read_memory(gpointer data, guint64 address, void *bytes, gsize n)
{
    AddressSpace *space = data;
    if (space->reads_left == 0)
        return FALSE;
    space->reads_left--;
    return remote_read(space->pid, address, bytes, n);
}

gboolean
loaded_image(const AddressSpace *space, guint64 base, Dynamic *dynamic)
{
    union {
        const AddressSpace *in;
        gpointer out;
    } pointer = {.in = space};
    *dynamic = (Dynamic){.read = read_memory, .data = pointer.out, .base = base};
    return dynamic_open(dynamic);
}

gboolean
loaded_dynamic(const AddressSpace *space, const LoadedObject *object, Dynamic *dynamic)
{
    return loaded_image(space, object->first->start, dynamic);
}
