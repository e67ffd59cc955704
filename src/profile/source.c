/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/source.h"
#include "profile/profile.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

enum {
    BLOCK = 1 << 16, /* read at a time: fits in the second-level cache */
    N_MAGIC = 4,
    MAX_TEXTLESS = 16 << 20, /* packed bytes beyond those of their text */
};

typedef struct Packing Packing;

struct ByteSource {
    const char *name;
    int fd; /* -1: memory */
    GBytes *bytes;
    gsize bytes_at;
    const Packing *packing;
    char *packed; /* raw input waiting to be unpacked (or copied) */
    gsize packed_at, packed_size;
    gboolean raw_end;
    char *text; /* decompressed: [text_at, text_size) was not returned yet */
    gsize text_at, text_size, text_capacity;
    guint64 unpacked; /* bytes of text so far */
    guint64 taken;    /* bytes of raw input for it */
    gboolean text_end;
    GError *deferred;
    z_stream gzip;
    ZSTD_DStream *zstd;
    gboolean within_frame; /* the compressed stream is incomplete */
};

/* A compression format: its first bytes, and the function that decompresses `packed` into at most size bytes at to (0
 * only at the end). */
struct Packing {
    const char *magic;
    gsize n_magic;
    gboolean (*open)(ByteSource *source);
    gssize (*unpack)(ByteSource *source, char *to, gsize size, GError **error);
};

static gssize
read_raw(ByteSource *source, char *to, gsize size, GError **error)
{
    if (source->fd < 0) {
        gsize total = 0;
        const char *data = g_bytes_get_data(source->bytes, &total);
        gsize n = MIN(size, total - source->bytes_at);
        if (n > 0)
            memcpy(to, data + source->bytes_at, n);
        source->bytes_at += n;
        return (gssize)n;
    }
    for (;;) {
        gssize n = read(source->fd, to, size);
        if (n >= 0 || errno != EINTR) {
            if (n < 0) {
                int saved = errno;
                g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(saved), "cannot read %s: %s", source->name,
                            g_strerror(saved));
            }
            return n;
        }
    }
}

/* Empty blocks and members and skippable frames become no text, so that its bound does not count them; a hole in the
 * file holds any number of them. */
static gboolean
becomes_text(const ByteSource *source, GError **error)
{
    if (source->taken <= source->unpacked + MAX_TEXTLESS)
        return TRUE;
    g_autofree char *most = g_format_size_full(MAX_TEXTLESS, G_FORMAT_SIZE_IEC_UNITS);
    g_set_error(error, PROFILE_ERROR, PROFILE_ERROR_TOO_LARGE,
                "%s: the compressed data are more than %s longer than their text", source->name, most);
    return FALSE;
}

/* Refills `packed` once it is used up. */
static gboolean
fill_packed(ByteSource *source, GError **error)
{
    if (source->packed_at < source->packed_size || source->raw_end)
        return TRUE;
    if (!becomes_text(source, error))
        return FALSE;
    gssize n = read_raw(source, source->packed, BLOCK, error);
    if (n < 0)
        return FALSE;
    source->packed_at = 0;
    source->packed_size = (gsize)n;
    source->taken += (gsize)n;
    source->raw_end = n == 0;
    return TRUE;
}

static gssize
unpack_plain(ByteSource *source, char *to, gsize size, GError **error)
{
    gsize waiting = source->packed_size - source->packed_at;

    if (waiting == 0)
        return read_raw(source, to, size, error);
    gsize n = MIN(size, waiting);
    memcpy(to, source->packed + source->packed_at, n);
    source->packed_at += n;
    return (gssize)n;
}

static gssize
damaged(const ByteSource *source, const char *kind, const char *detail, GError **error)
{
    g_set_error(error, PROFILE_ERROR, PROFILE_ERROR_MALFORMED, "%s: the %s data are damaged: %s", source->name, kind,
                detail);
    return -1;
}

static gssize
cut_short(const ByteSource *source, const char *kind, GError **error)
{
    g_set_error(error, PROFILE_ERROR, PROFILE_ERROR_TRUNCATED, "%s: the %s data end too early", source->name, kind);
    return -1;
}

static gboolean
open_gzip(ByteSource *source)
{
    return inflateInit2(&source->gzip, 15 + 16) == Z_OK;
}

static gssize
unpack_gzip(ByteSource *source, char *to, gsize size, GError **error)
{
    source->gzip.next_out = (Bytef *)to;
    source->gzip.avail_out = (uInt)size;
    while (source->gzip.avail_out == size) {
        if (!fill_packed(source, error))
            return -1;
        if (source->raw_end)
            return source->within_frame ? cut_short(source, "gzip", error) : 0;
        source->gzip.next_in = (Bytef *)source->packed + source->packed_at;
        source->gzip.avail_in = (uInt)(source->packed_size - source->packed_at);
        int status = inflate(&source->gzip, Z_NO_FLUSH);
        source->packed_at = source->packed_size - source->gzip.avail_in;
        source->within_frame = status != Z_STREAM_END;
        if (status == Z_STREAM_END)
            inflateReset(&source->gzip);
        else if (status != Z_OK && status != Z_BUF_ERROR)
            return damaged(source, "gzip", source->gzip.msg != NULL ? source->gzip.msg : zError(status), error);
    }
    return (gssize)(size - source->gzip.avail_out);
}

static gboolean
open_zstd(ByteSource *source)
{
    source->zstd = ZSTD_createDStream();
    return source->zstd != NULL;
}

static gssize
unpack_zstd(ByteSource *source, char *to, gsize size, GError **error)
{
    ZSTD_outBuffer out = {to, size, 0};

    while (out.pos == 0) {
        if (!fill_packed(source, error))
            return -1;
        if (source->raw_end && !source->within_frame)
            return 0;
        ZSTD_inBuffer in = {source->packed, source->packed_size, source->packed_at};
        size_t left = ZSTD_decompressStream(source->zstd, &out, &in);
        if (ZSTD_isError(left))
            return damaged(source, "zstd", ZSTD_getErrorName(left), error);
        source->packed_at = in.pos;
        source->within_frame = left != 0;
        if (source->raw_end && out.pos == 0)
            return left != 0 ? cut_short(source, "zstd", error) : 0;
    }
    return (gssize)out.pos;
}

static gboolean
open_plain(ByteSource *source)
{
    return TRUE;
}

static const Packing packings[] = {
    {"\x1f\x8b\x08", 3, open_gzip, unpack_gzip},
    {"\x28\xb5\x2f\xfd", N_MAGIC, open_zstd, unpack_zstd},
    {"", 0, open_plain, unpack_plain},
};

/* Reads until the first bytes determine the compression. */
static gboolean
recognise(ByteSource *source, GError **error)
{
    while (source->packed_size < N_MAGIC) {
        gssize n = read_raw(source, source->packed + source->packed_size, BLOCK - source->packed_size, error);
        if (n < 0)
            return FALSE;
        if (n == 0)
            break;
        source->packed_size += (gsize)n;
    }
    for (const Packing *packing = packings;; packing++) {
        if (packing->n_magic <= source->packed_size && memcmp(source->packed, packing->magic, packing->n_magic) == 0) {
            source->packing = packing;
            source->within_frame = packing->n_magic > 0;
            if (!packing->open(source))
                g_error("not enough memory to unpack %s", source->name);
            return TRUE;
        }
    }
}

static ByteSource *
byte_source_new(const char *name)
{
    ByteSource *source = g_new0(ByteSource, 1);

    source->name = name;
    source->fd = -1;
    source->packed = g_malloc(BLOCK);
    return source;
}

ByteSource *
byte_source_new_fd(int fd, const char *name)
{
    ByteSource *source = byte_source_new(name);

    source->fd = fd;
    return source;
}

ByteSource *
byte_source_new_bytes(GBytes *bytes, const char *name)
{
    ByteSource *source = byte_source_new(name);

    source->bytes = g_bytes_ref(bytes);
    return source;
}

void
byte_source_free(ByteSource *source)
{
    if (source == NULL)
        return;
    inflateEnd(&source->gzip);
    ZSTD_freeDStream(source->zstd);
    g_clear_pointer(&source->bytes, g_bytes_unref);
    g_clear_error(&source->deferred);
    g_free(source->packed);
    g_free(source->text);
    g_free(source);
}

/* Unpacks at most BLOCK bytes to TO, 0 at the end; -1: an error. */
static gssize
unpack_block(ByteSource *source, char *to, GError **error)
{
    gssize n = source->packing->unpack(source, to, BLOCK, error);
    source->unpacked += n > 0 ? (guint64)n : 0;
    if (source->packing->n_magic == 0 || source->unpacked <= INPUT_FILE_MAX_UNPACKED)
        return n;
    g_autofree char *most = g_format_size_full(INPUT_FILE_MAX_UNPACKED, G_FORMAT_SIZE_IEC_UNITS);
    g_set_error(error, PROFILE_ERROR, PROFILE_ERROR_TOO_LARGE,
                "%s: more than %s once decompressed; if it is genuine, decompress it first", source->name, most);
    return -1;
}

/* Adds the next block of text; at the end, or before an error to be reported later, sets text_end. */
static gboolean
fill_text(ByteSource *source, GError **error)
{
    GError *fault = NULL;

    if (source->text_size + BLOCK + BYTE_SOURCE_SLACK > source->text_capacity) {
        source->text_capacity = 2 * (source->text_size + BLOCK) + BYTE_SOURCE_SLACK;
        source->text = g_realloc(source->text, source->text_capacity);
    }
    gssize n = unpack_block(source, source->text + source->text_size, &fault);

    if (n > 0) {
        source->text_size += (gsize)n;
        return TRUE;
    }
    source->text_end = TRUE;
    if (n == 0)
        return TRUE;
    if (source->text_size > 0) {
        source->deferred = fault;
        return TRUE;
    }
    g_propagate_error(error, fault);
    return FALSE;
}

static void
hand_out(ByteSource *source, gsize size, TextRun *run)
{
    run->start = source->text + source->text_at;
    run->limit = run->start + size;
    run->cut = size > 0 && run->limit[-1] != '\n';
    source->text_at += size;
}

gboolean
byte_source_next(ByteSource *source, TextRun *run, GError **error)
{
    if (source->packing == NULL && !recognise(source, error))
        return FALSE;
    if (source->deferred != NULL && source->text_at == source->text_size) {
        g_propagate_error(error, g_steal_pointer(&source->deferred));
        return FALSE;
    }
    gsize left = source->text_size - source->text_at;
    if (left > 0)
        memmove(source->text, source->text + source->text_at, left);
    source->text_at = 0;
    source->text_size = left;
    while (!source->text_end && source->text_size <= BYTE_SOURCE_MAX_LINE) {
        gsize before = source->text_size;
        if (!fill_text(source, error))
            return FALSE;
        memset(source->text + source->text_size, 0, BYTE_SOURCE_SLACK);
        const char *last = memrchr(source->text + before, '\n', source->text_size - before);
        if (last != NULL) {
            hand_out(source, (gsize)(last + 1 - source->text), run);
            return TRUE;
        }
    }
    if (!source->text_end) {
        g_set_error(error, PROFILE_ERROR, PROFILE_ERROR_TOO_LARGE, "%s: a line is longer than %d bytes", source->name,
                    BYTE_SOURCE_MAX_LINE);
        return FALSE;
    }
    hand_out(source, source->text_size, run);
    return TRUE;
}
