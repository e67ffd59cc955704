/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One ELF file, mapped for reading: identity, segments, sections. ELF, not DWARF: nothing here knows what a section
 * means.
 *
 * Images are reference counted and, once opened, may be read by any number of threads; opening a section is not
 * thread-safe (ELF sections are expanded and kept on first use), so sections are opened before the work is distributed.
 * Returned bytes live as long as the Image. A file that another user may change is copied, unless it is larger than 256
 * MiB; files of root and the caller are mapped. Truncating a mapped file raises SIGBUS.
 */
#ifndef JESCOPE_SYMBOLIZE_IMAGE_H
#define JESCOPE_SYMBOLIZE_IMAGE_H

#include "confine/target-files.h"

#include <gelf.h>
#include <gio/gio.h>

typedef struct Image Image;

typedef struct {
    const guint8 *data;
    gsize size;
    guint64 address; /* link-time, 0 in sections that are not loaded */
    gboolean mapped; /* data is in the mapped file: image_release() has an effect */
} ImageSection;

/*
 * Opens path with files. Fails with G_FILE_ERROR (cannot be read) or G_IO_ERROR_INVALID_DATA (not an ELF program or
 * library). Calls image_join_patience(), as do those below; patience_end() ends it.
 */
Image *image_open(TargetFiles *files, const char *path, GError **error);

/* Opens a file with debug information only: a .dwo (an ET_REL), a .dwp. Fails as image_open(). */
Image *image_open_part(TargetFiles *files, const char *path, GError **error);

/* The same for an open file, which is not closed; files (or NULL) limits the memory. */
Image *image_open_descriptor(TargetFiles *files, int fd, const char *path, GError **error);

/* The same for a file that a debuginfod server has sent, which is not trusted even if it is ours. */
Image *image_open_fetched(TargetFiles *files, int fd, const char *path, GError **error);

/* The xz-compressed ELF file in section .gnu_debugdata (a symbol table of local functions), or NULL. */
Image *image_open_embedded(Image *image);

Image *image_ref(Image *image);
void image_unref(Image *image);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Image, image_unref)

Elf *image_elf(const Image *image);             /* borrowed */
const char *image_path(const Image *image);     /* as opened */
const char *image_place(const Image *image);    /* the same with links resolved: the base of its relative names */
const char *image_build_id(const Image *image); /* lower-case hex, or NULL */
const struct stat *image_stat(const Image *image);

/* Whether only root and the caller may have written or can change the file, and it is not from a debuginfod server. */
gboolean image_is_trusted(const Image *image);

/* patience_join() if it is not trusted. */
void image_join_patience(const Image *image);

/* The crc32 of the whole file that .gnu_debuglink records (the one of RFC 1952). FALSE: the time is up (patience.h). */
gboolean image_crc(const Image *image, guint32 *crc);

/* Finds section name, or its compressed forms, and expands it. FALSE if missing, empty or damaged. */
gboolean image_section(Image *image, const char *name, ImageSection *section);

/* The strings of the section with this number. */
gboolean image_texts(const Image *image, gsize section, ImageSection *texts);

/* The string at offset; NULL if it has no end, or more than longest bytes. elf_strptr() looks for the end of all. */
const char *image_text_at(const ImageSection *texts, guint64 offset, gsize longest);

/* Tells the kernel that these bytes of a section will not be needed again soon; they stay readable. */
void image_release(const ImageSection *section, gsize start, gsize end);

/*
 * Converts a mapping of the file: page is the page size of the machine that mapped it. image_address(): the link-time
 * address of a file offset, FALSE if no loaded segment has it. image_fits(): whether [file_offset, file_offset + size)
 * can be an executable mapping of this file; whole says that it is the only executable mapping, which then must cover
 * the segment.
 */
typedef struct {
    guint64 file_offset;
    guint64 size;
    guint64 page;
    gboolean whole;
} ImageMapping;

gboolean image_address(const Image *image, guint64 file_offset, guint64 *address);
gboolean image_fits(const Image *image, const ImageMapping *mapping);

/* The lowest link-time address of code; 0 without code. */
guint64 image_code_start(const Image *image);

#endif
