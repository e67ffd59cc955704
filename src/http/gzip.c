/* SPDX-License-Identifier: Apache-2.0 */
#include "http/gzip.h"

#include "wire/transfer.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

static const guint64 packable_max = G_GUINT64_CONSTANT(1) << 30; /* more would take too long */

enum {
    WORTH_BYTES = 1024,
    LEVEL = 4, /* dumps shrink to a tenth at any level; this one is three times as fast as the default */
    WINDOW_GZIP = 15 + 16,
    MEMORY = 8,
    CHUNK = 64 * 1024,
    WISH_BYTES = 16 * CHUNK, /* interval at which GzipWish is called */
};

/* "gzip;q=0" is a refusal; so is "*;q=0" where gzip is not named. */
static gboolean
has_weight(char **parameters)
{
    for (char **parameter = parameters; *parameter != NULL; parameter++) {
        const char *text = g_strstrip(*parameter);
        if (g_ascii_strncasecmp(text, "q=", 2) == 0)
            return g_ascii_strtod(text + 2, NULL) > 0;
    }
    return TRUE;
}

gboolean
gzip_is_accepted(const char *accept)
{
    if (accept == NULL)
        return FALSE;
    gboolean any = FALSE;
    g_auto(GStrv) codings = g_strsplit(accept, ",", 16);
    for (char **coding = codings; *coding != NULL; coding++) {
        g_auto(GStrv) parts = g_strsplit(*coding, ";", 4);
        if (parts[0] == NULL)
            continue;
        const char *name = g_strstrip(parts[0]);
        if (g_ascii_strcasecmp(name, "gzip") == 0 || g_ascii_strcasecmp(name, "x-gzip") == 0)
            return has_weight(parts + 1);
        if (strcmp(name, "*") == 0)
            any = has_weight(parts + 1);
    }
    return any;
}

gboolean
gzip_pays(const char *content_type, guint64 size)
{
    static const char *const packable[] = {"text/", "application/json", "application/x-jemalloc-heap-profile",
                                           "application/openmetrics-text", "image/svg+xml"};
    if (content_type == NULL || size < WORTH_BYTES || size > packable_max)
        return FALSE;
    for (size_t i = 0; i < G_N_ELEMENTS(packable); i++)
        if (g_str_has_prefix(content_type, packable[i]))
            return TRUE;
    return FALSE;
}

static gboolean
deflate_into(z_stream *stream, int flush, int out, guint64 *packed)
{
    guint8 buffer[CHUNK];
    do {
        stream->next_out = buffer;
        stream->avail_out = sizeof(buffer);
        deflate(stream, flush);
        size_t made = sizeof(buffer) - stream->avail_out;
        if (!transfer_write(out, buffer, made))
            return FALSE;
        *packed += made;
    } while (stream->avail_out == 0);
    return TRUE;
}

static gboolean
pack(int fd, guint64 size, const GzipWish *wish, int out, guint64 *packed)
{
    z_stream stream = {0};
    guint8 buffer[CHUNK];
    if (deflateInit2(&stream, LEVEL, Z_DEFLATED, WINDOW_GZIP, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK) {
        errno = ENOMEM;
        return FALSE;
    }
    gboolean ok = TRUE;
    for (guint64 done = 0; ok && done < size;) {
        gboolean wanted = wish == NULL || done % WISH_BYTES != 0 || wish->is_wanted(wish->data);
        ssize_t got = wanted ? pread(fd, buffer, MIN(sizeof(buffer), size - done), (off_t)done) : -1;
        if (got <= 0) {
            errno = wanted ? errno : ECANCELED;
            ok = FALSE;
            break;
        }
        done += (guint64)got;
        stream.next_in = buffer;
        stream.avail_in = (uInt)got;
        ok = deflate_into(&stream, done < size ? Z_NO_FLUSH : Z_FINISH, out, packed);
    }
    deflateEnd(&stream);
    return ok;
}

int
gzip_descriptor(int fd, guint64 size, const GzipWish *wish, guint64 *packed)
{
    guint64 made = 0;
    int out = memfd_create("jescope-gzip", MFD_CLOEXEC);
    if (out < 0)
        return -1;
    if (pack(fd, size, wish, out, &made)) {
        *packed = made;
        return out;
    }
    int code = errno;
    close(out);
    errno = code;
    return -1;
}

GBytes *
gzip_bytes(GBytes *plain)
{
    gsize size;
    const guint8 *bytes = g_bytes_get_data(plain, &size);
    z_stream stream = {0};
    if (deflateInit2(&stream, LEVEL, Z_DEFLATED, WINDOW_GZIP, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
        g_error("no memory for zlib");
    gsize room = deflateBound(&stream, size);
    g_autofree guint8 *packed = g_malloc(room);
    stream.next_in = (Bytef *)(gpointer)(gsize)bytes;
    stream.avail_in = (uInt)size;
    stream.next_out = packed;
    stream.avail_out = (uInt)room;
    deflate(&stream, Z_FINISH);
    gsize made = room - stream.avail_out;
    deflateEnd(&stream);
    return g_bytes_new_take(g_realloc(g_steal_pointer(&packed), made), made);
}
