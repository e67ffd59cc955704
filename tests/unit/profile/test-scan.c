/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/maps.h"
#include "profile/scan.h"

#include <string.h>

/* Every byte in every place of a word against the C library's own idea of a digit. */
static void
test_hex_bytes(void)
{
    for (guint place = 0; place < 8; place++) {
        for (guint byte = 0; byte < 256; byte++) {
            char text[32] = "9aF04cB7\n";
            guint64 word = 0;
            text[place] = (char)byte;
            g_assert_cmpuint(scan_hex_run(text, &word), ==, g_ascii_isxdigit((char)byte) ? 8 : place);
        }
    }
}

static void
check_hex(const char *digits, guint64 expected)
{
    g_autofree char *text = g_strconcat(digits, "\n               ", NULL);
    guint64 value = 42;

    g_assert_true(scan_hex(text, &value) == text + strlen(digits));
    g_assert_cmphex(value, ==, expected);
}

static void
test_hex_values(void)
{
    check_hex("0", 0);
    check_hex("a", 10);
    check_hex("dEadBeef", 0xdeadbeef);
    check_hex("123456789", 0x123456789);
    check_hex("7f80d19d5a20", 0x7f80d19d5a20);
    check_hex("ffffffffffffffff", G_MAXUINT64);
    check_hex("8000000000000000", 0x8000000000000000);
    check_hex("00000000000000000000123456789", 0x123456789);
}

static void
test_hex_rejects(void)
{
    static const char *const texts[] = {"\n", "g", " 1", "10000000000000000\n", "123456781234567812345678\n"};

    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
        char text[64] = {0};
        guint64 value = 42;
        g_strlcpy(text, texts[i], sizeof(text));
        g_assert_null(scan_hex(text, &value));
        g_assert_cmpuint(value, ==, 42);
    }
}

static void
test_decimal(void)
{
    guint64 value = 0;

    g_assert_nonnull(scan_decimal("18446744073709551615 ", &value));
    g_assert_cmpuint(value, ==, G_MAXUINT64);
    g_assert_null(scan_decimal("18446744073709551616 ", &value));
    g_assert_null(scan_decimal("99999999999999999999 ", &value));
    g_assert_null(scan_decimal(" 1", &value));
    g_assert_nonnull(scan_decimal("000000000000000000000007:", &value));
    g_assert_cmpuint(value, ==, 7);
}

static const struct {
    const char *line;
    const char *path;
    guint64 start, limit, file_offset, inode;
    gboolean executable;
    guint flags;
} lines[] = {
    {"55b44fdfd000-55b44fdff000 r-xp 00002000 fe:00 5466106                    /opt/wl\n", "/opt/wl", 0x55b44fdfd000,
     0x55b44fdff000, 0x2000, 5466106, TRUE, 0},
    {"1000-2000 r--p 00000000 08:01 12 /a b/c (deleted)\n", "/a b/c", 0x1000, 0x2000, 0, 12, FALSE,
     PROFILE_OBJECT_DELETED},
    {"1000-2000 r-xp 00000000 00:00 0                  [vdso]\n", "[vdso]", 0x1000, 0x2000, 0, 0, TRUE,
     PROFILE_OBJECT_VDSO},
    {"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n", "[vsyscall]", 0xffffffffff600000,
     0xffffffffff601000, 0, 0, TRUE, PROFILE_OBJECT_VDSO},
    {"1000-2000 rwxp 00000000 00:00 0 \n", "", 0x1000, 0x2000, 0, 0, TRUE, PROFILE_OBJECT_ANONYMOUS},
    {"1000-2000 rwxp 00000000 00:00 0\n", "", 0x1000, 0x2000, 0, 0, TRUE, PROFILE_OBJECT_ANONYMOUS},
    {"1000-2000 rw-p 00000000 00:00 0 [heap]\n", "[heap]", 0x1000, 0x2000, 0, 0, FALSE, PROFILE_OBJECT_ANONYMOUS},
    {"1000-2000 r-xs 00000000 00:01 9 /memfd:jit (deleted)\n", "/memfd:jit", 0x1000, 0x2000, 0, 9, TRUE,
     PROFILE_OBJECT_DELETED},
    {"0x400000 0x45d000 93 0 0xfffff80004b1e000 r-x 1 0 0x1000 COW NC vnode /usr/bin/x NCH -1\n", "/usr/bin/x",
     0x400000, 0x45d000, 0, 0, TRUE, 0},
    {"0x65c000 0x65d000 1 0 0xfffff8 rw- 1 0 0x2180 COW NNC default - CH 0\n", "", 0x65c000, 0x65d000, 0, 0, FALSE,
     PROFILE_OBJECT_ANONYMOUS},
    {"0000000100000000-0000000100004000: /usr/lib/dyld one\n", "/usr/lib/dyld one", 0x100000000, 0x100004000, 0, 0,
     TRUE, 0},
};

static void
test_maps_lines(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(lines); i++) {
        g_autofree char *padded = g_strconcat(lines[i].line, "                ", NULL);
        MapsLine map = {0};
        const char *expected = NULL;
        g_assert_null(maps_line_parse(padded, &map, &expected));
        g_autofree char *path = g_strndup(map.path, map.n_path);
        g_assert_cmpstr(path, ==, lines[i].path);
        g_assert_cmphex(map.start, ==, lines[i].start);
        g_assert_cmphex(map.limit, ==, lines[i].limit);
        g_assert_cmphex(map.file_offset, ==, lines[i].file_offset);
        g_assert_cmpuint(map.inode, ==, lines[i].inode);
        g_assert_cmpint(map.executable, ==, lines[i].executable);
        g_assert_cmpuint(map.flags, ==, lines[i].flags);
    }
}

static void
test_maps_faults(void)
{
    static const struct {
        const char *line;
        gsize column;
    } faults[] = {
        {"\n", 0},
        {"zz\n", 0},
        {"1000\n", 4},
        {"2000-1000 r-xp 00000000 00:00 0 /x\n", 0},
        {"1000-2000\n", 9},
        {"1000-2000 r-xp\n", 14},
        {"1000-2000 r-xp 0 00 0 /x\n", 19},
        {"1000-2000 r-xp 0 00:00 q /x\n", 23},
        {"11111111111111111-2 r-xp 0 00:00 0 /x\n", 0},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(faults); i++) {
        g_autofree char *padded = g_strconcat(faults[i].line, "                ", NULL);
        MapsLine map = {.start = 42};
        const char *expected = NULL;
        const char *fault = maps_line_parse(padded, &map, &expected);
        g_assert_nonnull(fault);
        g_assert_cmpuint((gsize)(fault - padded), ==, faults[i].column);
        g_assert_nonnull(expected);
        g_assert_cmpuint(map.start, ==, 42);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/profile/scan/hex-bytes", test_hex_bytes);
    g_test_add_func("/profile/scan/hex-values", test_hex_values);
    g_test_add_func("/profile/scan/hex-rejects", test_hex_rejects);
    g_test_add_func("/profile/scan/decimal", test_decimal);
    g_test_add_func("/profile/maps/lines", test_maps_lines);
    g_test_add_func("/profile/maps/faults", test_maps_faults);
    return g_test_run();
}
