/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/image.h"

#include "confine/rights.h"
#include "symbolize/patience.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <lzma.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#define MAX_ZLIB_RATIO   1032             /* deflate cannot do better */
#define MAX_PADDING      ((gsize)1 << 16) /* of compressed data, beyond the size of the plain ones */
#define MAX_EMBEDDED     ((gsize)1 << 30)
#define MAX_COPIED       ((gsize)256 << 20)
#define MAX_BUILD_ID     64
#define MAX_SECTION_NAME 256
#define MAX_NOTES        (16 << 20)
#define SECTION_BYTES    256                          /* of memory, in libelf */
#define MAX_SEGMENTS     (65536 / sizeof(Elf64_Phdr)) /* that the kernel loads */

/* What is read between two looks at the clock (patience.h). Input that becomes nothing is work as well: a hole in a
 * file may be any number of empty blocks. */
#define PIECE ((gsize)256 << 10)

typedef struct {
    char *name;
    ImageSection section;
    gpointer owned; /* g_free'd: expanded bytes */
} OpenSection;

struct Image {
    gatomicrefcount refs;
    char *path, *place;
    char *build_id;
    TargetFiles *files; /* charged for memory, or NULL */
    struct stat stat;
    gpointer map; /* the whole file, or NULL */
    gsize map_size;
    gboolean copied;  /* map holds a copy of the file */
    gboolean fetched; /* a debuginfod server has sent it */
    GBytes *bytes;    /* instead of map: an image that was contained in another one */
    Elf *elf;
    gboolean is_program;
    GArray *segments;  /* GElf_Phdr of every PT_LOAD */
    GPtrArray *opened; /* OpenSection; found or not */
};

static void
open_section_free(gpointer data)
{
    OpenSection *opened = data;
    g_free(opened->name);
    g_free(opened->owned);
    g_free(opened);
}

static Image *
image_new(const char *path)
{
    Image *image = g_new0(Image, 1);
    g_atomic_ref_count_init(&image->refs);
    image->path = g_strdup(path);
    image->segments = g_array_new(FALSE, FALSE, sizeof(GElf_Phdr));
    image->opened = g_ptr_array_new_with_free_func(open_section_free);
    return image;
}

Image *
image_ref(Image *image)
{
    g_atomic_ref_count_inc(&image->refs);
    return image;
}

void
image_unref(Image *image)
{
    if (image == NULL || !g_atomic_ref_count_dec(&image->refs))
        return;
    g_ptr_array_unref(image->opened);
    g_array_unref(image->segments);
    if (image->elf != NULL)
        elf_end(image->elf);
    if (image->map != NULL)
        munmap(image->map, image->map_size);
    g_clear_pointer(&image->bytes, g_bytes_unref);
    g_free(image->build_id);
    target_files_unref(image->files);
    g_free(image->path);
    g_free(image->place);
    g_free(image);
}

static char *
hex(const guint8 *bytes, gsize size)
{
    GString *text = g_string_sized_new(2 * size + 1);
    for (gsize i = 0; i < size; i++)
        g_string_append_printf(text, "%02x", bytes[i]);
    return g_string_free(text, FALSE);
}

/* libelf looks at all notes. */
static gboolean
has_few_notes(Image *image)
{
    guint64 bytes = 0;
    size_t n = 0;
    elf_getphdrnum(image->elf, &n);
    for (size_t i = 0; i < n && bytes <= MAX_NOTES; i++) {
        GElf_Phdr segment;
        if (gelf_getphdr(image->elf, (int)i, &segment) != NULL && segment.p_type == PT_NOTE)
            bytes += MIN(segment.p_filesz, (guint64)MAX_NOTES + 1);
    }
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(image->elf, scn)) != NULL && bytes <= MAX_NOTES;) {
        GElf_Shdr header;
        if (gelf_getshdr(scn, &header) != NULL && header.sh_type == SHT_NOTE)
            bytes += MIN(header.sh_size, (guint64)MAX_NOTES + 1);
    }
    return n <= MAX_SEGMENTS && bytes <= MAX_NOTES;
}

static void
read_build_id(Image *image)
{
    const void *id = NULL;
    ssize_t size = has_few_notes(image) ? dwelf_elf_gnu_build_id(image->elf, &id) : 0;
    if (size > 0 && size <= MAX_BUILD_ID)
        image->build_id = hex(id, (gsize)size);
}

static gboolean
read_segments(Image *image)
{
    GElf_Ehdr header;
    size_t n = 0;
    if (gelf_getehdr(image->elf, &header) == NULL || elf_getphdrnum(image->elf, &n) != 0)
        return FALSE;
    image->is_program = header.e_type == ET_EXEC || header.e_type == ET_DYN;
    for (size_t i = 0; i < MIN(n, MAX_SEGMENTS); i++) {
        GElf_Phdr segment;
        if (gelf_getphdr(image->elf, (int)i, &segment) != NULL && segment.p_type == PT_LOAD)
            g_array_append_val(image->segments, segment);
    }
    return TRUE;
}

static guint64
number_at(const guint8 *data, gsize size, guint64 offset, guint width)
{
    guint64 number = 0;
    if (size < width || offset > size - width)
        return 0;
    for (guint i = 0; i < width; i++)
        number = number << 8 | data[offset + (data[EI_DATA] == ELFDATA2MSB ? i : width - 1 - i)];
    return number;
}

/* libelf has the memory for all sections before it can be asked for their number. */
static gboolean
take_sections(const Image *image, const guint8 *data, gsize size)
{
    const gboolean wide = size > EI_NIDENT && data[EI_CLASS] == ELFCLASS64;
    const guint64 table = wide ? number_at(data, size, offsetof(Elf64_Ehdr, e_shoff), sizeof(Elf64_Off))
                               : number_at(data, size, offsetof(Elf32_Ehdr, e_shoff), sizeof(Elf32_Off));
    guint64 n = number_at(data, size, wide ? offsetof(Elf64_Ehdr, e_shnum) : offsetof(Elf32_Ehdr, e_shnum), 2);
    if (n == 0 && table != 0) /* it is in the first section */
        n = wide ? number_at(data, size, table + offsetof(Elf64_Shdr, sh_size), sizeof(Elf64_Xword))
                 : number_at(data, size, table + offsetof(Elf32_Shdr, sh_size), sizeof(Elf32_Word));
    return target_files_take_memory(image->files, MIN(n, size / sizeof(Elf32_Shdr)) * SECTION_BYTES);
}

/* Opens the bytes as an ELF file; FALSE if they are not one. */
static gboolean
start_elf(Image *image, gpointer data, gsize size)
{
    if (!take_sections(image, data, size))
        return FALSE;
    elf_version(EV_CURRENT);
    image->elf = elf_memory(data, size);
    if (image->elf == NULL || elf_kind(image->elf) != ELF_K_ELF || !read_segments(image))
        return FALSE;
    read_build_id(image);
    return TRUE;
}

gboolean
image_is_trusted(const Image *image)
{
    return !image->fetched && rights_are_trusted(image->stat.st_uid);
}

void
image_join_patience(const Image *image)
{
    if (!image_is_trusted(image))
        patience_join(image->files);
}

static gboolean
read_whole(gpointer to, gsize size, int fd)
{
    gsize got = 0;
    for (ssize_t n = 1; n > 0 && got<size; got += n> 0 ? (gsize)n : 0)
        n = pread(fd, (guint8 *)to + got, size - got, (off_t)got);
    return got == size;
}

/*
 * If another user could truncate the mapped file, or change checked bytes, it is copied; a file of root or the caller,
 * or one too large to copy, is mapped and read as needed. Returns 0 or errno.
 */
static int
map_file(Image *image, int fd)
{
    gsize size = (gsize)image->stat.st_size;
    if (size == 0)
        return EINVAL;
    gboolean copied =
        !rights_are_trusted(image->stat.st_uid) && size <= MAX_COPIED && target_files_take_memory(image->files, size);
    gpointer map = mmap(NULL, size, copied ? PROT_READ | PROT_WRITE : PROT_READ,
                        copied ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_PRIVATE, copied ? -1 : fd, 0);
    if (map == MAP_FAILED)
        return errno;
    image->map = map;
    image->map_size = size;
    image->copied = copied;
    return copied && !read_whole(map, size, fd) ? EAGAIN : 0;
}

static Image *
open_file(TargetFiles *files, const TargetFile *file, const char *path, gboolean fetched, GError **error)
{
    g_autoptr(Image) image = image_new(path);
    image->files = files != NULL ? target_files_ref(files) : NULL;
    image->place = g_strdup(file->path);
    image->stat = file->status;
    image->fetched = fetched;
    if (!image_is_trusted(image) && files != NULL && target_files_ran_out(files)) {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_TIMED_OUT,
                    "%s was left out: reading files of other users, or of a debuginfod server, takes too long", path);
        return NULL;
    }
    image_join_patience(image);
    int failure = map_file(image, file->fd);
    if (failure != 0) {
        g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(failure), "cannot read %s: %s", path,
                    failure == EAGAIN ? "the file was truncated while it was read" : g_strerror(failure));
        return NULL;
    }
    if (!start_elf(image, image->map, image->map_size)) {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA, "%s is not an ELF file", path);
        return NULL;
    }
    return g_steal_pointer(&image);
}

Image *
image_open_part(TargetFiles *files, const char *path, GError **error)
{
    g_auto(TargetFile) file = {.fd = -1};
    return target_files_open(files, path, &file, error) ? open_file(files, &file, path, FALSE, error) : NULL;
}

static Image *
open_descriptor(TargetFiles *files, int fd, const char *path, gboolean fetched, GError **error)
{
    TargetFile file = {.fd = fd};
    if (fstat(fd, &file.status) != 0 || !S_ISREG(file.status.st_mode)) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "cannot read %s: not a regular file", path);
        return NULL;
    }
    return open_file(files, &file, path, fetched, error);
}

Image *
image_open_descriptor(TargetFiles *files, int fd, const char *path, GError **error)
{
    return open_descriptor(files, fd, path, FALSE, error);
}

Image *
image_open_fetched(TargetFiles *files, int fd, const char *path, GError **error)
{
    return open_descriptor(files, fd, path, TRUE, error);
}

Image *
image_open(TargetFiles *files, const char *path, GError **error)
{
    g_autoptr(Image) image = image_open_part(files, path, error);
    if (image != NULL && !image->is_program) {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA, "%s is not an ELF program or library", path);
        return NULL;
    }
    return g_steal_pointer(&image);
}

static GBytes *
expand_xz(TargetFiles *files, const ImageSection *packed)
{
    lzma_stream stream = LZMA_STREAM_INIT;
    if (lzma_stream_decoder(&stream, MAX_EMBEDDED, LZMA_CONCATENATED) != LZMA_OK)
        return NULL;
    g_autoptr(GByteArray) plain = g_byte_array_new();
    lzma_ret status = LZMA_OK;
    while (status == LZMA_OK && plain->len < MAX_EMBEDDED) {
        guint8 chunk[1 << 16];
        const gsize at = stream.total_in, room = MIN(PIECE, packed->size - at);
        stream.next_in = packed->data + at;
        stream.avail_in = room;
        stream.next_out = chunk;
        stream.avail_out = sizeof(chunk);
        status = lzma_code(&stream, at + room < packed->size ? LZMA_RUN : LZMA_FINISH);
        const gsize given = sizeof(chunk) - stream.avail_out;
        if (!patience_spend(room - stream.avail_in + given) || !target_files_take_memory(files, given)) {
            status = LZMA_MEMLIMIT_ERROR;
            break;
        }
        g_byte_array_append(plain, chunk, (guint)given);
    }
    lzma_end(&stream);
    return status == LZMA_STREAM_END ? g_byte_array_free_to_bytes(g_steal_pointer(&plain)) : NULL;
}

Image *
image_open_embedded(Image *image)
{
    ImageSection packed;
    if (!image_section(image, ".gnu_debugdata", &packed))
        return NULL;
    g_autoptr(Image) inner = image_new(image->path);
    inner->files = image->files != NULL ? target_files_ref(image->files) : NULL;
    inner->bytes = expand_xz(image->files, &packed);
    if (inner->bytes == NULL)
        return NULL;
    gsize size;
    gconstpointer data = g_bytes_get_data(inner->bytes, &size);
    if (!start_elf(inner, (gpointer)(guintptr)data, size)) /* libelf reads only; its prototype predates const */
        return NULL;
    return g_steal_pointer(&inner);
}

Elf *
image_elf(const Image *image)
{
    return image->elf;
}

const char *
image_path(const Image *image)
{
    return image->path;
}

const char *
image_place(const Image *image)
{
    return image->place != NULL ? image->place : image->path;
}

const char *
image_build_id(const Image *image)
{
    return image->build_id;
}

const struct stat *
image_stat(const Image *image)
{
    return &image->stat;
}

gboolean
image_crc(const Image *image, guint32 *crc)
{
    const Bytef *map = image->map;
    gulong sum = crc32_z(0, NULL, 0);
    if (map == NULL)
        return FALSE;
    for (gsize at = 0; at < image->map_size; at += PIECE) {
        const gsize size = MIN(PIECE, image->map_size - at);
        sum = crc32_z(sum, map + at, size);
        if (!patience_spend(size))
            return FALSE;
    }
    *crc = (guint32)sum;
    return TRUE;
}

typedef gboolean (*Expand)(guint8 *plain, gsize plain_size, const guint8 *packed, gsize packed_size);

static gboolean
expand_zlib(guint8 *plain, gsize plain_size, const guint8 *packed, gsize packed_size)
{
    z_stream stream = {0};
    if (inflateInit(&stream) != Z_OK)
        return FALSE;
    gsize taken = 0, given = 0;
    int status = Z_OK;
    for (gboolean goes_on = TRUE; goes_on && status == Z_OK;) {
        const uInt in = (uInt)MIN(PIECE, packed_size - taken), out = (uInt)MIN(PIECE, plain_size - given);
        stream.next_in = (Bytef *)(guintptr)(packed + taken); /* zlib's prototype predates const */
        stream.avail_in = in;
        stream.next_out = plain + given;
        stream.avail_out = out;
        status = inflate(&stream, Z_NO_FLUSH); /* Z_BUF_ERROR: it can neither take nor give */
        taken += in - stream.avail_in;
        given += out - stream.avail_out;
        goes_on = patience_spend((guint64)in - stream.avail_in + out - stream.avail_out);
    }
    inflateEnd(&stream);
    return status == Z_STREAM_END && given == plain_size;
}

static gboolean
expand_zstd(guint8 *plain, gsize plain_size, const guint8 *packed, gsize packed_size)
{
    ZSTD_DStream *stream = ZSTD_createDStream();
    ZSTD_inBuffer in = {packed, 0, 0};
    ZSTD_outBuffer out = {plain, 0, 0};
    size_t left = 1;
    for (gboolean goes_on = stream != NULL; goes_on && !ZSTD_isError(left) && (left != 0 || in.pos < packed_size);) {
        const gsize taken = in.pos, given = out.pos;
        in.size = MIN(packed_size, taken + PIECE);
        out.size = MIN(plain_size, given + PIECE);
        left = ZSTD_decompressStream(stream, &out, &in);
        goes_on = (in.pos > taken || out.pos > given) && patience_spend(in.pos - taken + out.pos - given);
    }
    ZSTD_freeDStream(stream);
    return left == 0 && in.pos == packed_size && out.pos == plain_size;
}

static gboolean
expand(const Image *image, OpenSection *opened, guint64 plain_size, Expand how)
{
    const ImageSection packed = opened->section;
    /* zstd may exceed deflate's ratio, but no debug information does. What is compressed does not become longer. */
    if (plain_size == 0 || plain_size / MAX_ZLIB_RATIO > packed.size || packed.size > plain_size + MAX_PADDING ||
        !target_files_take_memory(image->files, plain_size))
        return FALSE;
    guint8 *plain = g_try_malloc(plain_size);
    if (plain == NULL || !how(plain, plain_size, packed.data, packed.size)) {
        g_free(plain);
        return FALSE;
    }
    opened->owned = plain;
    opened->section = (ImageSection){.data = plain, .size = plain_size, .address = packed.address};
    return TRUE;
}

static gboolean
skip_header(ImageSection *section, gsize size)
{
    if (section->size < size)
        return FALSE;
    section->data += size;
    section->size -= size;
    return TRUE;
}

/* gABI "Compressed Sections". */
static gboolean
expand_gabi(const Image *image, Elf_Scn *scn, OpenSection *opened)
{
    static const struct {
        guint32 type;
        Expand expand;
    } methods[] = {{ELFCOMPRESS_ZLIB, expand_zlib}, {2 /* ELFCOMPRESS_ZSTD */, expand_zstd}};
    GElf_Chdr header;
    if (gelf_getchdr(scn, &header) == NULL)
        return FALSE;
    Elf64_Shdr *is64 = elf64_getshdr(scn);
    if (!skip_header(&opened->section, is64 != NULL ? sizeof(Elf64_Chdr) : sizeof(Elf32_Chdr)))
        return FALSE;
    for (gsize i = 0; i < G_N_ELEMENTS(methods); i++)
        if (methods[i].type == header.ch_type)
            return expand(image, opened, header.ch_size, methods[i].expand);
    return FALSE;
}

/* The older GNU form: .zdebug_NAME begins with "ZLIB" and the big-endian size. */
static gboolean
expand_gnu(const Image *image, OpenSection *opened)
{
    ImageSection *section = &opened->section;
    if (section->size < 12 || memcmp(section->data, "ZLIB", 4) != 0)
        return FALSE;
    guint64 size;
    memcpy(&size, section->data + 4, sizeof(size));
    return skip_header(section, 12) && expand(image, opened, GUINT64_FROM_BE(size), expand_zlib);
}

static gboolean
load(Image *image, Elf_Scn *scn, const GElf_Shdr *header, OpenSection *opened)
{
    Elf_Data *raw = header->sh_type == SHT_NOBITS ? NULL : elf_rawdata(scn, NULL);
    if (raw == NULL || raw->d_buf == NULL || raw->d_size == 0)
        return FALSE;
    const guint8 *map = image->map;
    opened->section = (ImageSection){
        .data = raw->d_buf,
        .size = raw->d_size,
        .address = header->sh_addr,
        .mapped = map != NULL && !image->copied && (const guint8 *)raw->d_buf >= map &&
                  (const guint8 *)raw->d_buf < map + image->map_size,
    };
    return TRUE;
}

gboolean
image_texts(const Image *image, gsize section, ImageSection *texts)
{
    Elf_Scn *scn = elf_getscn(image->elf, section);
    Elf_Data *data = scn != NULL ? elf_getdata(scn, NULL) : NULL;
    if (data == NULL || data->d_buf == NULL)
        return FALSE;
    *texts = (ImageSection){.data = data->d_buf, .size = data->d_size};
    return TRUE;
}

const char *
image_text_at(const ImageSection *texts, guint64 offset, gsize longest)
{
    if (offset >= texts->size)
        return NULL;
    const guint8 *text = texts->data + offset;
    return memchr(text, '\0', MIN(texts->size - offset, longest + 1)) != NULL ? (const char *)text : NULL;
}

static gboolean
load_named(Image *image, const char *name, OpenSection *opened)
{
    size_t names;
    ImageSection texts;
    if (elf_getshdrstrndx(image->elf, &names) != 0 || !image_texts(image, names, &texts))
        return FALSE;
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(image->elf, scn)) != NULL;) {
        GElf_Shdr header;
        const char *found =
            gelf_getshdr(scn, &header) != NULL ? image_text_at(&texts, header.sh_name, MAX_SECTION_NAME) : NULL;
        if (found == NULL)
            continue;
        if (!patience_spend(16))
            return FALSE;
        gboolean gnu = g_str_has_prefix(found, ".z") && g_strcmp0(found + 2, name + 1) == 0;
        if (!gnu && strcmp(found, name) != 0)
            continue;
        return load(image, scn, &header, opened) && (!gnu || expand_gnu(image, opened)) &&
               ((header.sh_flags & SHF_COMPRESSED) == 0 || expand_gabi(image, scn, opened));
    }
    return FALSE;
}

gboolean
image_section(Image *image, const char *name, ImageSection *section)
{
    OpenSection *opened = NULL;
    for (guint i = 0; i < image->opened->len && opened == NULL; i++) {
        OpenSection *candidate = image->opened->pdata[i];
        opened = strcmp(candidate->name, name) == 0 ? candidate : NULL;
    }
    if (opened == NULL) {
        opened = g_new0(OpenSection, 1);
        opened->name = g_strdup(name);
        if (!load_named(image, name, opened))
            opened->section = (ImageSection){0};
        g_ptr_array_add(image->opened, opened);
    }
    if (opened->section.data == NULL)
        return FALSE;
    *section = opened->section;
    return TRUE;
}

void
image_release(const ImageSection *section, gsize start, gsize end)
{
    if (!section->mapped || end > section->size || start >= end)
        return;
    guintptr page = (guintptr)sysconf(_SC_PAGESIZE);
    guintptr from = ((guintptr)section->data + start + page - 1) & ~(page - 1);
    guintptr to = ((guintptr)section->data + end) & ~(page - 1);
    if (from < to) {
        madvise((gpointer)from, to - from,
                MADV_DONTNEED); /* a private read-only mapping: the bytes come back from the file */
    }
}

gboolean
image_address(const Image *image, guint64 file_offset, guint64 *address)
{
    for (guint i = 0; i < image->segments->len; i++) {
        const GElf_Phdr *segment = &g_array_index(image->segments, GElf_Phdr, i);
        if (file_offset >= segment->p_offset && file_offset - segment->p_offset < segment->p_filesz) {
            *address = segment->p_vaddr + (file_offset - segment->p_offset);
            return TRUE;
        }
    }
    return FALSE;
}

static guint64
page_floor(guint64 value, guint64 page)
{
    return value & ~(page - 1);
}

gboolean
image_fits(const Image *image, const ImageMapping *mapping)
{
    guint64 end = mapping->file_offset + mapping->size;
    for (guint i = 0; i < image->segments->len; i++) {
        const GElf_Phdr *segment = &g_array_index(image->segments, GElf_Phdr, i);
        guint64 first = page_floor(segment->p_offset, mapping->page);
        guint64 last = page_floor(segment->p_offset + segment->p_filesz + mapping->page - 1, mapping->page);
        if ((segment->p_flags & PF_X) == 0 || mapping->file_offset < first || end > last)
            continue;
        return !mapping->whole || mapping->file_offset != first || end == last;
    }
    return FALSE;
}

guint64
image_code_start(const Image *image)
{
    guint64 lowest = G_MAXUINT64;
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(image->elf, scn)) != NULL;) {
        GElf_Shdr header;
        if (gelf_getshdr(scn, &header) != NULL && (header.sh_flags & SHF_EXECINSTR) != 0)
            lowest = MIN(lowest, header.sh_addr);
    }
    return lowest != G_MAXUINT64 ? lowest : 0;
}
