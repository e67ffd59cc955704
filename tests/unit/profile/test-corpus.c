/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Real dumps of every version: totals equal jeprof's, every stack equals jeprof's formula (tests/data/profile/expect
 * computed both without this reader).
 */
#include "profile/profile.h"

#include <math.h>
#include <string.h>

enum { FILE_COLUMN, FIRST_NUMBER, N_TOTALS_COLUMNS = FIRST_NUMBER + 1 + PROFILE_N_PPROF_VALUES };

static char *
data_path(const char *name)
{
    return g_test_build_filename(G_TEST_DIST, "..", "..", "data", "profile", name, NULL);
}

static Profile *
read_dump(const char *name)
{
    g_autofree char *path = data_path(name);
    g_autoptr(GError) error = NULL;
    Profile *profile = profile_read_file(path, PROFILE_READ_DEFAULT, &error);

    g_assert_no_error(error);
    return profile;
}

/* jeprof cuts fractions off where it prints. */
static void
test_totals(void)
{
    g_autofree char *path = data_path("totals.tsv");
    g_autofree char *text = NULL;

    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_auto(GStrv) lines = g_strsplit(g_strchomp(text), "\n", -1);
    g_assert_cmpuint(g_strv_length(lines), >=, 15);
    for (char **line = lines; *line != NULL; line++) {
        g_auto(GStrv) columns = g_strsplit(*line, "\t", -1);
        g_assert_cmpuint(g_strv_length(columns), ==, N_TOTALS_COLUMNS);
        g_autoptr(Profile) profile = read_dump(columns[FILE_COLUMN]);
        g_assert_cmpuint(profile_n_stacks(profile), ==, g_ascii_strtoull(columns[FIRST_NUMBER], NULL, 10));
        for (int value = 0; value < PROFILE_N_PPROF_VALUES; value++) {
            gdouble expected = g_ascii_strtod(columns[FIRST_NUMBER + 1 + value], NULL);
            g_assert_cmpfloat_with_epsilon(floor(profile_total(profile)->estimate[value] + 1e-3), expected, 1);
        }
    }
}

static char *
stack_key(const Profile *profile, const ProfileStack *stack)
{
    g_autoptr(GString) key = g_string_new(NULL);

    for (guint32 i = 0; i < stack->depth; i++) {
        guint32 location = profile_frames(profile)[stack->first + i];
        g_string_append_printf(key, "%s%" G_GINT64_MODIFIER "x", i > 0 ? " " : "",
                               profile_locations(profile)[location].address);
    }
    return g_string_free(g_steal_pointer(&key), FALSE);
}

/* Address text to index + 1. */
static GHashTable *
index_stacks(const Profile *profile)
{
    GHashTable *stacks = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

    for (guint32 i = 0; i < profile_n_stacks(profile); i++)
        g_hash_table_insert(stacks, stack_key(profile, &profile_stacks(profile)[i]), GUINT_TO_POINTER(i + 1));
    return stacks;
}

static GDataInputStream *
open_lines(const char *name)
{
    g_autofree char *path = data_path(name);
    g_autoptr(GFile) file = g_file_new_for_path(path);
    g_autoptr(GFileInputStream) packed = g_file_read(file, NULL, NULL);
    g_autoptr(GZlibDecompressor) gzip = g_zlib_decompressor_new(G_ZLIB_COMPRESSOR_FORMAT_GZIP);

    g_assert_nonnull(packed);
    g_autoptr(GInputStream) stream = g_converter_input_stream_new(G_INPUT_STREAM(packed), G_CONVERTER(gzip));
    return g_data_input_stream_new(stream);
}

static void
check_stack(const Profile *profile, GHashTable *stacks, char **columns)
{
    guint32 index = GPOINTER_TO_UINT(g_hash_table_lookup(stacks, columns[1]));

    g_assert_cmpuint(index, >, 0);
    for (int value = 0; value < PROFILE_N_PPROF_VALUES; value++) {
        gdouble expected = g_ascii_strtod(columns[2 + value], NULL);
        g_assert_cmpfloat_with_epsilon(profile_weights(profile)[index - 1].estimate[value], expected,
                                       0.001 + expected * 1e-9);
    }
}

static void
test_stacks(void)
{
    g_autoptr(GDataInputStream) lines = open_lines("stacks.tsv.gz");
    g_autoptr(Profile) profile = NULL;
    g_autoptr(GHashTable) stacks = NULL;
    g_autofree char *name = NULL;
    guint n = 0;

    for (char *line; (line = g_data_input_stream_read_line(lines, NULL, NULL, NULL)) != NULL; g_free(line), n++) {
        g_auto(GStrv) columns = g_strsplit(line, "\t", -1);
        if (g_strcmp0(name, columns[FILE_COLUMN]) != 0) {
            g_free(name);
            name = g_strdup(columns[FILE_COLUMN]);
            g_clear_pointer(&stacks, g_hash_table_unref);
            profile_free(profile);
            profile = read_dump(name);
            stacks = index_stacks(profile);
        }
        check_stack(profile, stacks, columns);
    }
    g_assert_cmpuint(n, >, 1500);
}

/* The rows of the threads of one stack, before scaling, are those of all threads together. */
static void
test_threads(void)
{
    g_autofree char *path = data_path("5.2.1-accum.heap.gz");
    g_autoptr(Profile) together = profile_read_file(path, PROFILE_READ_DEFAULT, NULL);
    g_autoptr(Profile) apart = profile_read_file(path, PROFILE_READ_THREADS, NULL);
    g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);

    g_assert_cmpuint(profile_n_stacks(apart), >, profile_n_stacks(together));
    g_assert_cmpuint(profile_n_locations(apart), ==, profile_n_locations(together));
    for (guint32 i = 0; i < profile_n_stacks(apart); i++)
        g_assert_cmpuint(profile_stacks(apart)[i].thread, <, profile_n_threads(apart));
    for (guint32 i = 0; i < profile_n_threads(apart); i++)
        g_hash_table_add(names, (gpointer)(gsize)profile_threads(apart)[i].name);
    g_assert_true(g_hash_table_contains(names, "worker 0"));
    g_assert_true(g_hash_table_contains(names, "net-io-1"));
}

static void
test_mappings(void)
{
    g_autoptr(Profile) profile = read_dump("5.3.0-accum.heap.gz");
    guint32 n_mapped = 0;

    for (guint32 i = 0; i < profile_n_locations(profile); i++) {
        const ProfileLocation *location = &profile_locations(profile)[i];
        g_assert_cmpuint(location->object, !=, PROFILE_NONE);
        n_mapped += g_str_has_suffix(profile_objects(profile)[location->object].path, "/wl");
        if (location->address == 0x55b44fdfda23) {
            g_assert_cmphex(location->file_offset, ==, 0x2a23);
            g_assert_cmpuint(profile_objects(profile)[location->object].inode, ==, 5466106);
        }
    }
    g_assert_cmpuint(n_mapped, >, 10);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/profile/corpus/totals-equal-jeprof", test_totals);
    g_test_add_func("/profile/corpus/stacks-equal-formula", test_stacks);
    g_test_add_func("/profile/corpus/threads", test_threads);
    g_test_add_func("/profile/corpus/mappings", test_mappings);
    return g_test_run();
}
