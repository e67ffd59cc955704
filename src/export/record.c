/* SPDX-License-Identifier: Apache-2.0 */
#include "export/record.h"

#include "export/batch.h"

#include <string.h>
#include <zstd.h>

enum {
    MAGIC = 16,
    DIGEST = 32,
    HEAD = MAGIC + DIGEST,
    LEVEL = 3,
};

static const char magic[MAGIC + 1] = "jescope queue 1\n";

static void
digest_of(const guint8 *data, gsize size, guint8 digest[DIGEST])
{
    g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);
    gsize length = DIGEST;
    g_checksum_update(checksum, data, (gssize)size);
    g_checksum_get_digest(checksum, digest, &length);
}

GBytes *
record_wrap(GBytes *content)
{
    gsize size;
    gconstpointer bytes = g_bytes_get_data(content, &size);
    gsize bound = ZSTD_compressBound(size);
    guint8 *file = g_malloc(HEAD + bound);
    gsize packed = ZSTD_compress(file + HEAD, bound, bytes, size, LEVEL);
    if (ZSTD_isError(packed)) {
        g_free(file);
        return NULL;
    }
    memcpy(file, magic, MAGIC);
    digest_of(file + HEAD, packed, file + MAGIC);
    return g_bytes_new_take(g_realloc(file, HEAD + packed), HEAD + packed);
}

GBytes *
record_unwrap(GBytes *file, GError **error)
{
    gsize size;
    const guint8 *bytes = g_bytes_get_data(file, &size);
    guint8 digest[DIGEST];
    if (size > HEAD && memcmp(bytes, magic, MAGIC) == 0) {
        digest_of(bytes + HEAD, size - HEAD, digest);
        unsigned long long length = ZSTD_getFrameContentSize(bytes + HEAD, size - HEAD);
        if (memcmp(digest, bytes + MAGIC, DIGEST) == 0 && length > 0 && length <= BATCH_MAX_BYTES) {
            guint8 *content = g_malloc(length);
            if (ZSTD_decompress(content, length, bytes + HEAD, size - HEAD) == length)
                return g_bytes_new_take(content, length);
            g_free(content);
        }
    }
    g_set_error(error, BATCH_ERROR, BATCH_ERROR_FORMAT, "it is not an entry of a queue of jescope, or damaged");
    return NULL;
}
