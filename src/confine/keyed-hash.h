/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hashes of untrusted keys (names, addresses, offsets): SipHash-1-3 with a random key of this process, so that an
 * attacker cannot make entries of a table collide. For GHashTable in place of g_str_hash() and similar; the values
 * differ from run to run. See docs/decisions/0011-keyed-hashes.md. Thread-safe.
 */
#ifndef JESCOPE_CONFINE_KEYED_HASH_H
#define JESCOPE_CONFINE_KEYED_HASH_H

#include <glib.h>

guint keyed_hash_string(gconstpointer text);
guint keyed_hash_int64(gconstpointer number);
guint keyed_hash_bytes(gconstpointer data, gsize size);
guint keyed_hash_pointer(gconstpointer number); /* in place of g_direct_hash(), for GSIZE_TO_POINTER() */

/* SipHash with c compression and d finalization rounds [Aumasson, Bernstein: SipHash, 2012]. */
typedef struct {
    guint64 key[2];
    guint8 compression, finalization;
} SipHash;
guint64 sip_hash(const SipHash *hash, gconstpointer data, gsize size);

/* Interns strings, like g_string_chunk_insert_const(), whose table has no key. */
typedef struct StringPool StringPool;
StringPool *string_pool_new(void);
void string_pool_free(StringPool *pool);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(StringPool, string_pool_free)
const char *string_pool_insert(StringPool *pool, const char *text);
const char *string_pool_find(const StringPool *pool, const char *text); /* NULL: it was not inserted */

#endif
