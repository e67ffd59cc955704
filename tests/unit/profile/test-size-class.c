/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/size-class.h"

static void
test_classes(void)
{
    static const struct {
        guint64 size;
        gdouble bytes;
        const char *text;
    } cases[] = {
        {0, 8, "8 B"},
        {1, 8, "8 B"},
        {8, 8, "8 B"},
        {9, 16, "16 B"},
        {24, 24, "24 B"},
        {33, 40, "40 B"},
        {96, 96, "96 B"},
        {129, 160, "160 B"},
        {1025, 1280, "1.25 KiB"},
        {4096, 4096, "4 KiB"},
        {4097, 5120, "5 KiB"},
        {3 << 20, 3 << 20, "3 MiB"},
        {((guint64)7 << 61) - 1, 0x1.cp63, "14 EiB"},
        {G_MAXUINT64, 0x1.cp63, "14 EiB"},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        guint32 found = size_class_of(cases[i].size);
        g_autofree char *text = size_class_text(found);
        g_assert_cmpuint(found, <, SIZE_CLASSES);
        g_assert_cmpfloat(size_class_bytes(found), ==, cases[i].bytes);
        g_assert_cmpstr(text, ==, cases[i].text);
    }
}

/* Each class is its own, and none lies between two neighbours. */
static void
test_all_classes(void)
{
    gdouble last = 0;

    for (guint64 size = 1; size < 1 << 20; size++) {
        gdouble bytes = size_class_bytes(size_class_of(size));
        g_assert_cmpfloat(bytes, >=, (gdouble)size);
        g_assert_cmpfloat(bytes, >=, last);
        g_assert_true(bytes == last || last < (gdouble)size);
        last = bytes;
    }
}

static void
test_means(void)
{
    static const struct {
        gdouble mean, bytes;
        gboolean one;
    } cases[] = {
        {64, 64, TRUE},    {63.5, 64, TRUE},   {64.4, 64, TRUE},       {65, 80, FALSE},
        {100, 112, FALSE}, {4096, 4096, TRUE}, {4100, 4096, TRUE},     {4300, 5120, FALSE},
        {8, 8, TRUE},      {1, 8, FALSE},      {0x1p90, 0x1p62, TRUE},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        guint32 found = SIZE_CLASSES;
        g_assert_cmpint(size_class_of_mean(cases[i].mean, &found), ==, cases[i].one);
        g_assert_cmpfloat(size_class_bytes(found), ==, cases[i].bytes);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/profile/size-class/classes", test_classes);
    g_test_add_func("/profile/size-class/all", test_all_classes);
    g_test_add_func("/profile/size-class/means", test_means);
    return g_test_run();
}
