/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/thread-time.h"
#include "symbolize/dwarf-functions.h"
#include "symbolize/patience.h"
#include "symbolize/symbol-table.h"

#include <dwarf.h>
#include <fcntl.h>
#include <unistd.h>

enum {
    ENTRIES = 4 << 20,
    ATTRIBUTES = 1 << 20,
    SORTED = 1 << 16,
    LEFT_MS = 300,
    ENOUGH_S = 20, /* of processor time, for a slow build; the tables would take hours */
};

/* A unit of many functions of one byte each, with an abbreviation of many attributes of none. */
static void
add_unit(GByteArray *info, GByteArray *abbreviations)
{
    static const guint8 unit[] = {1, DW_TAG_compile_unit, 1, 0, 0, 2, DW_TAG_subprogram, 0};
    static const guint8 flag[] = {DW_AT_external, DW_FORM_flag_present}, ends[] = {0, 0, 0};
    const guint8 head[] = {0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 8, 1};
    g_byte_array_append(info, head, sizeof(head));
    g_byte_array_set_size(info, sizeof(head) + ENTRIES);
    memset(info->data + sizeof(head), 2, ENTRIES);
    const guint32 length = GUINT32_TO_LE(info->len - 4);
    memcpy(info->data, &length, sizeof(length));
    g_byte_array_append(abbreviations, unit, sizeof(unit));
    for (guint i = 0; i < ATTRIBUTES; i++)
        g_byte_array_append(abbreviations, flag, sizeof(flag));
    g_byte_array_append(abbreviations, ends, sizeof(ends));
}

static TargetFiles *
files_with_little_time(void)
{
    const TargetFilesOptions options = {.closed = TRUE};
    TargetFiles *files = target_files_new(&options);
    g_assert_true(target_files_take_time(files, TARGET_FILES_MAX_TIME - LEFT_MS * 1000));
    return files;
}

static void
test_tables_that_refer_to_each_other(void)
{
    g_autoptr(GByteArray) info = g_byte_array_new(), abbreviations = g_byte_array_new();
    g_autoptr(TargetFiles) files = files_with_little_time();
    g_autoptr(Names) names = names_new();
    int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    g_autoptr(Image) program = image_open_descriptor(NULL, self, "/proc/self/exe", NULL);
    ObjectAsked asked = {.address = 0x1000}, *all[] = {&asked};
    add_unit(info, abbreviations);
    const ImageSection sections[DWARF_N_SECTIONS] = {
        [DWARF_INFO] = {.data = info->data, .size = info->len},
        [DWARF_ABBREV] = {.data = abbreviations->data, .size = abbreviations->len},
    };
    gint64 began = thread_time_us();
    g_autoptr(DwarfFile) file = dwarf_file_from_sections(program, sections);
    g_assert_nonnull(file);
    const DwarfUnit *unit = &g_array_index(file->units, DwarfUnit, 0);
    patience_begin(files);
    dwarf_functions_answer(&(DwarfQuestion){unit, unit, all, 1, 0, names});
    patience_end();
    g_assert_true(target_files_ran_out(files));
    g_assert_cmpint(thread_time_us() - began, <, ENOUGH_S * G_USEC_PER_SEC);
    close(self);
}

static void
test_trusted_files_have_any_time(void)
{
    g_autoptr(TargetFiles) files = files_with_little_time();
    g_assert_false(target_files_take_time(files, TARGET_FILES_MAX_TIME));
    patience_begin(NULL);
    for (guint i = 0; i < 16; i++)
        g_assert_true(patience_spend(PATIENCE_UNSEEN));
    patience_end();
    patience_begin(files);
    g_assert_false(patience_spend(1));
    g_assert_false(patience_spend(1));
    patience_end();
    g_assert_true(patience_spend(PATIENCE_UNSEEN));
}

static gint
compare_tens(gconstpointer a, gconstpointer b)
{
    return *(const gint *)a / 10 - *(const gint *)b / 10;
}

static gint compared;

static gint
compare_counted(gconstpointer a, gconstpointer b)
{
    compared++;
    return compare_tens(a, b);
}

static GArray *
numbers(guint n)
{
    GArray *array = g_array_new(FALSE, FALSE, sizeof(gint));
    for (guint i = 0; i < n; i++) {
        const gint number = (gint)((guint64)i * 7919 % 1000003);
        g_array_append_val(array, number);
    }
    return array;
}

static void
test_sort(void)
{
    static const guint lengths[] = {0, 1, 4095, 4096, 4097, 8192, 12289, 65536, 100000};
    for (gsize i = 0; i < G_N_ELEMENTS(lengths); i++) {
        g_autoptr(GArray) ours = numbers(lengths[i]), theirs = numbers(lengths[i]);
        patience_sort(ours, compare_tens);
        g_array_sort(theirs, compare_tens);
        g_assert_cmpmem(ours->data, ours->len * sizeof(gint), theirs->data, theirs->len * sizeof(gint));
    }
}

static void
test_sort_ends(void)
{
    g_autoptr(TargetFiles) files = files_with_little_time();
    g_autoptr(GArray) array = numbers(SORTED);
    g_assert_false(target_files_take_time(files, TARGET_FILES_MAX_TIME));
    patience_begin(files);
    patience_sort(array, compare_counted);
    patience_end();
    g_assert_cmpuint(array->len, ==, 0);
    g_assert_cmpint(compared, ==, 0);
}

/* This program as a file of another user; NULL if that needs rights that are missing. */
static Image *
image_of_another_user(TargetFiles *files)
{
    g_autofree char *path = NULL, *program = NULL;
    gsize size;
    int fd = g_file_open_tmp("jescope-patience-XXXXXX", &path, NULL);
    g_assert_true(g_file_get_contents("/proc/self/exe", &program, &size, NULL));
    g_assert_cmpint(write(fd, program, size), ==, (gssize)size);
    Image *image = fchown(fd, 65534, 65534) == 0 ? image_open_descriptor(files, fd, path, NULL) : NULL;
    unlink(path);
    close(fd);
    return image;
}

/* Such as one that a program of root's names for a part of its debug information. */
static void
test_file_of_another_user(void)
{
    g_autoptr(TargetFiles) files = files_with_little_time();
    g_autoptr(Image) image = image_of_another_user(files);
    if (image == NULL || image_is_trusted(image)) {
        g_test_skip("only root can give a file away");
        return;
    }
    g_autoptr(DwarfFile) in_time = dwarf_file_open(image, "");
    patience_end();
    if (in_time == NULL) {
        g_test_skip("this program has no debug information");
        return;
    }
    g_assert_false(target_files_take_time(files, TARGET_FILES_MAX_TIME));
    g_assert_null(dwarf_file_open(image, ""));
    g_assert_false(patience_spend(1));
    patience_end();
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/patience/tables-that-refer-to-each-other", test_tables_that_refer_to_each_other);
    g_test_add_func("/patience/file-of-another-user", test_file_of_another_user);
    g_test_add_func("/patience/sort", test_sort);
    g_test_add_func("/patience/sort-ends", test_sort_ends);
    g_test_add_func("/patience/trusted-files-have-any-time", test_trusted_files_have_any_time);
    return g_test_run();
}
