/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/reader.h"

#include "confine/input-file.h"

#include <gio/gio.h>
#include <gio/gunixinputstream.h>
#include <unistd.h>

enum {
    CHUNK = 256 * 1024,
    MAGIC_LENGTH = 2,
};

static gboolean
pump(GInputStream *input, StatsReader *reader, const char *name, GError **error)
{
    g_autofree char *chunk = g_malloc(CHUNK);
    const gboolean is_packed = G_IS_CONVERTER_INPUT_STREAM(input);
    for (guint64 read = 0;;) {
        gssize got = g_input_stream_read(input, chunk, CHUNK, NULL, error);
        if (got < 0)
            g_prefix_error(error, "cannot read %s: ", name);
        if (got <= 0)
            return got == 0;
        read += (guint64)got;
        if (is_packed && read > INPUT_FILE_MAX_UNPACKED) {
            g_autofree char *most = g_format_size_full(INPUT_FILE_MAX_UNPACKED, G_FORMAT_SIZE_IEC_UNITS);
            g_set_error(error, STATS_ERROR, STATS_ERROR_OVERFLOW,
                        "%s: more than %s once decompressed; if it is genuine, decompress it first", name, most);
            return FALSE;
        }
        if (!stats_reader_feed(reader, chunk, (gsize)got, error))
            return FALSE;
    }
}

/* The stream, decompressed if it begins with gzip's magic (RFC 1952). */
static GInputStream *
unpacked(GInputStream *raw)
{
    GInputStream *buffered = g_buffered_input_stream_new_sized(raw, CHUNK);
    GBufferedInputStream *peeked = G_BUFFERED_INPUT_STREAM(buffered);
    gsize available = 0;
    while (available < MAGIC_LENGTH && g_buffered_input_stream_fill(peeked, -1, NULL, NULL) > 0)
        g_buffered_input_stream_peek_buffer(peeked, &available);
    const guchar *start = g_buffered_input_stream_peek_buffer(peeked, &available);
    if (available < MAGIC_LENGTH || start[0] != 0x1f || start[1] != 0x8b)
        return buffered;
    g_autoptr(GConverter) converter = G_CONVERTER(g_zlib_decompressor_new(G_ZLIB_COMPRESSOR_FORMAT_GZIP));
    GInputStream *unzipped = g_converter_input_stream_new(buffered, converter);
    g_object_unref(buffered);
    return unzipped;
}

int
stats_open_file(const char *path, GError **error)
{
    if (g_str_equal(path, "-"))
        return dup(STDIN_FILENO);
    int fd = input_file_open(path, error);
    if (fd < 0)
        g_prefix_error(error, "cannot open %s: ", path);
    return fd;
}

gboolean
stats_read_file(const StatsFile *file, StatsSampleFunc func, gpointer data, StatsReport *report, GError **error)
{
    g_autoptr(GInputStream) raw = g_unix_input_stream_new(file->fd, FALSE);
    g_autoptr(GInputStream) input = unpacked(raw);
    g_autoptr(StatsReader) reader = stats_reader_new(func, data);
    if (file->rows > 0)
        stats_reader_limit(reader, file->rows);
    return pump(input, reader, file->path, error) && stats_reader_finish(reader, report, error);
}
