/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/keyed-hash.h"

#include <string.h>

/* The key 00 01 .. 0f and the texts 00 01 .. of the reference implementation of SipHash-2-4. */
static void
test_reference_vectors(void)
{
    static const struct {
        gsize size;
        guint64 expected;
    } vectors[] = {
        {0, G_GUINT64_CONSTANT(0x726fdb47dd0e0e31)},
        {1, G_GUINT64_CONSTANT(0x74f839c593dc67fd)},
        {8, G_GUINT64_CONSTANT(0x93f5f5799a932462)},
        {15, G_GUINT64_CONSTANT(0xa129ca6149be45e5)},
    };
    const SipHash hash = {{G_GUINT64_CONSTANT(0x0706050403020100), G_GUINT64_CONSTANT(0x0f0e0d0c0b0a0908)}, 2, 4};
    guint8 text[16];
    for (guint8 i = 0; i < sizeof(text); i++)
        text[i] = i;
    for (gsize i = 0; i < G_N_ELEMENTS(vectors); i++)
        g_assert_cmphex(sip_hash(&hash, text, vectors[i].size), ==, vectors[i].expected);
}

/* SipHash-1-3 with the key 0, as CPython 3.11 hashes bytes under PYTHONHASHSEED=0. */
static void
test_fewer_rounds(void)
{
    static const SipHash hash = {{0, 0}, 1, 3};
    g_assert_cmphex(sip_hash(&hash, "a", 1), ==, G_GUINT64_CONSTANT(0x407448d2b89b1813));
    g_assert_cmphex(sip_hash(&hash, "abcdefgh", 8), ==, G_GUINT64_CONSTANT(0x3f7b849c0b8e35ea));
    g_assert_cmphex(sip_hash(&hash, "abcdefghijklmno", 15), ==, G_GUINT64_CONSTANT(0x1fd27a29b0e9dc7a));
}

/* How many different values hash gives n texts of "Ez" and "FY", which are all one to g_str_hash(). */
static guint
distinct(GHashFunc hash, guint bits)
{
    g_autoptr(GHashTable) values = g_hash_table_new(NULL, NULL);
    for (guint i = 0; i < 1u << bits; i++) {
        g_autoptr(GString) text = g_string_new(NULL);
        for (guint bit = 0; bit < bits; bit++)
            g_string_append(text, (i >> bit & 1) != 0 ? "Ez" : "FY");
        g_hash_table_add(values, GUINT_TO_POINTER(hash(text->str)));
    }
    return g_hash_table_size(values);
}

static void
test_names_made_to_collide_do_not(void)
{
    g_assert_cmpuint(distinct(g_str_hash, 12), ==, 1);
    g_assert_cmpuint(distinct(keyed_hash_string, 12), >, 4000);
}

static void
test_numbers_made_to_collide_do_not(void)
{
    g_autoptr(GHashTable) values = g_hash_table_new(NULL, NULL);
    for (guint64 i = 0; i < 4096; i++) {
        const guint64 number = i << 32 | i; /* g_int64_hash() of some versions folds, of others truncates */
        g_hash_table_add(values, GUINT_TO_POINTER(keyed_hash_int64(&number)));
    }
    g_assert_cmpuint(g_hash_table_size(values), >, 4000);
}

static void
test_pool_keeps_one_copy(void)
{
    g_autoptr(StringPool) pool = string_pool_new();
    char text[] = "name";
    const char *kept = string_pool_insert(pool, text);
    g_assert_true(kept != text && string_pool_insert(pool, "name") == kept);
    g_assert_true(string_pool_insert(pool, "other") != kept);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/confine/keyed-hash/reference-vectors", test_reference_vectors);
    g_test_add_func("/confine/keyed-hash/fewer-rounds", test_fewer_rounds);
    g_test_add_func("/confine/keyed-hash/names-made-to-collide-do-not", test_names_made_to_collide_do_not);
    g_test_add_func("/confine/keyed-hash/numbers-made-to-collide-do-not", test_numbers_made_to_collide_do_not);
    g_test_add_func("/confine/keyed-hash/pool-keeps-one-copy", test_pool_keeps_one_copy);
    return g_test_run();
}
