/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/keyed-hash.h"

#include <string.h>
#include <sys/random.h>

enum { POOL_BLOCK = 1 << 16 };

static inline guint64
rotate(guint64 word, guint bits)
{
    return word << bits | word >> (64 - bits);
}

static inline void
rounds(guint64 v[4], guint n)
{
    for (; n > 0; n--) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = rotate(v[1], 13) ^ v[0];
        v[3] = rotate(v[3], 16) ^ v[2];
        v[0] = rotate(v[0], 32);
        v[2] += v[1];
        v[0] += v[3];
        v[1] = rotate(v[1], 17) ^ v[2];
        v[3] = rotate(v[3], 21) ^ v[0];
        v[2] = rotate(v[2], 32);
    }
}

static inline void
take(guint64 v[4], guint64 word, guint n)
{
    v[3] ^= word;
    rounds(v, n);
    v[0] ^= word;
}

guint64
sip_hash(const SipHash *hash, gconstpointer data, gsize size)
{
    const guint8 *bytes = data;
    guint64 v[4] = {
        hash->key[0] ^ G_GUINT64_CONSTANT(0x736f6d6570736575),
        hash->key[1] ^ G_GUINT64_CONSTANT(0x646f72616e646f6d),
        hash->key[0] ^ G_GUINT64_CONSTANT(0x6c7967656e657261),
        hash->key[1] ^ G_GUINT64_CONSTANT(0x7465646279746573),
    };
    gsize at = 0;
    for (; size - at >= 8; at += 8) {
        guint64 word;
        memcpy(&word, bytes + at, sizeof(word));
        take(v, GUINT64_FROM_LE(word), hash->compression);
    }
    guint64 last = 0;
    memcpy(&last, bytes + at, size - at);
    take(v, GUINT64_FROM_LE(last) | (guint64)size << 56, hash->compression);
    v[2] ^= 0xff;
    rounds(v, hash->finalization);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static const SipHash *
own_hash(void)
{
    static SipHash own = {.compression = 1, .finalization = 3};
    static gsize drawn;
    if (g_once_init_enter(&drawn)) {
        if (getrandom(own.key, sizeof(own.key), 0) != sizeof(own.key)) { /* cannot fail for 16 bytes since Linux 3.17 */
            own.key[0] = (guint64)g_random_int() << 32 | g_random_int();
            own.key[1] = (guint64)g_random_int() << 32 | g_random_int();
        }
        g_once_init_leave(&drawn, 1);
    }
    return &own;
}

guint
keyed_hash_bytes(gconstpointer data, gsize size)
{
    return (guint)sip_hash(own_hash(), data, size);
}

guint
keyed_hash_string(gconstpointer text)
{
    return keyed_hash_bytes(text, strlen(text));
}

guint
keyed_hash_int64(gconstpointer number)
{
    return keyed_hash_bytes(number, sizeof(guint64));
}

guint
keyed_hash_pointer(gconstpointer number)
{
    return keyed_hash_bytes(&number, sizeof(number));
}

struct StringPool {
    GStringChunk *chunk;
    GHashTable *known; /* of strings in chunk */
};

StringPool *
string_pool_new(void)
{
    StringPool *pool = g_new(StringPool, 1);
    pool->chunk = g_string_chunk_new(POOL_BLOCK);
    pool->known = g_hash_table_new(keyed_hash_string, g_str_equal);
    return pool;
}

void
string_pool_free(StringPool *pool)
{
    if (pool == NULL)
        return;
    g_hash_table_unref(pool->known);
    g_string_chunk_free(pool->chunk);
    g_free(pool);
}

const char *
string_pool_find(const StringPool *pool, const char *text)
{
    return g_hash_table_lookup(pool->known, text);
}

const char *
string_pool_insert(StringPool *pool, const char *text)
{
    const char *known = string_pool_find(pool, text);
    if (known == NULL) {
        char *copy = g_string_chunk_insert(pool->chunk, text);
        g_hash_table_add(pool->known, copy);
        known = copy;
    }
    return known;
}
