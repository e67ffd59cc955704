/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/symbolize.h"

#include "fake-profile.h"

#include <string.h>
#include <unistd.h>

static const SymbolizeOptions no_cache = {.no_cache = TRUE};

static Symbols *
names_of(const Profile *profile)
{
    GError *error = NULL;
    Symbols *symbols = symbolize(profile, &no_cache, &error);
    g_assert_no_error(error);
    return symbols;
}

static const SymbolFrame *
only_frame(const Symbols *symbols, guint32 location)
{
    const Symbol *symbol = symbols_location(symbols, location);
    g_assert_cmpuint(symbol->n_frames, ==, 1);
    return &symbol->frames[0];
}

static void
test_lost_address_has_no_name(void)
{
    g_autoptr(Profile) profile = fake_profile_new();
    guint32 lost = fake_profile_lost(profile, 0xdeadbeef, NULL);
    g_autoptr(Symbols) symbols = names_of(profile);
    const SymbolFrame *frame = only_frame(symbols, lost);
    g_assert_cmpstr(frame->function, ==, "[0xdeadbeef]");
    g_assert_cmpstr(frame->system_name, ==, "[0xdeadbeef]");
    g_assert_false(frame->known);
}

static void
test_embedded_names_are_taken(void)
{
    g_autoptr(Profile) profile = fake_profile_new();
    guint32 plain = fake_profile_lost(profile, 0x1000, "main");
    guint32 inlined = fake_profile_lost(profile, 0x2000, "outer--_ZN1a1bEv");
    g_autoptr(Symbols) symbols = names_of(profile);
    g_assert_cmpstr(only_frame(symbols, plain)->function, ==, "main");
    const Symbol *symbol = symbols_location(symbols, inlined);
    g_assert_cmpuint(symbol->n_frames, ==, 2);
    g_assert_cmpstr(symbol->frames[0].function, ==, "a::b()");
    g_assert_cmpstr(symbol->frames[0].system_name, ==, "_ZN1a1bEv");
    g_assert_cmpstr(symbol->frames[1].function, ==, "outer");
    g_assert_true(symbol->frames[1].known);
}

static void
test_pseudo_objects_have_no_names(void)
{
    static const struct {
        ProfileObject object;
        const char *expected;
    } cases[] = {
        {{.path = "[vdso]", .flags = PROFILE_OBJECT_VDSO}, "[vdso+0x123]"},
        {{.path = "[heap]", .flags = PROFILE_OBJECT_ANONYMOUS}, "[0x40000123]"},
        {{.path = "", .flags = PROFILE_OBJECT_ANONYMOUS}, "[0x40000123]"},
        {{.path = "/nowhere/libgone.so.1"}, "[libgone.so.1+0x123]"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(Profile) profile = fake_profile_new();
        guint32 object = fake_profile_object(profile, &cases[i].object, 0x40000000, 0, 0x2000);
        guint32 location = fake_profile_offset(profile, object, 0x123);
        g_autoptr(Symbols) symbols = names_of(profile);
        g_assert_cmpstr(only_frame(symbols, location)->function, ==, cases[i].expected);
        g_assert_cmpint(symbols_object(symbols, object)->source, ==, SYMBOLS_NONE);
    }
}

static void
test_missing_file_is_explained(void)
{
    g_autoptr(Profile) profile = fake_profile_new();
    const ProfileObject gone = {.path = "/nowhere/libgone.so.1"};
    guint32 object = fake_profile_object(profile, &gone, 0x40000000, 0, 0x2000);
    fake_profile_offset(profile, object, 0x123);
    g_autoptr(Symbols) symbols = names_of(profile);
    g_assert_nonnull(strstr(symbols_object(symbols, object)->note, "/nowhere/libgone.so.1"));
}

extern const char __ehdr_start[]; /* the linker's: where this program's file begins in memory */

__attribute__((noinline)) static int
own_function(int x)
{
    __asm__ volatile("" : "+r"(x));
    return x + 1;
}

static guint64
own_address(void)
{
    return (guint64)(guintptr)own_function - (guint64)(guintptr)__ehdr_start;
}

static SymbolsSource
source_of_self(const ProfileObject *object, const SymbolizeOptions *options, const char *note)
{
    g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
    g_autoptr(Profile) profile = fake_profile_new();
    ProfileObject named = *object;
    named.path = self;
    guint32 index = fake_profile_mapped(profile, self, &named, 0);
    guint32 location = fake_profile_address(profile, index, own_address());
    g_autoptr(Symbols) symbols = symbolize(profile, options, NULL);
    const SymbolObject *about = symbols_object(symbols, index);
    const SymbolFrame *frame = only_frame(symbols, location);
    g_assert_cmpint(own_function(1), ==, 2);
    if (about->source == SYMBOLS_DWARF) {
        g_assert_cmpstr(frame->function, ==, "own_function");
        g_assert_true(g_str_has_suffix(frame->file, "test-symbolize.c"));
        g_assert_cmpuint(frame->line, >=, frame->start_line);
        g_assert_cmpuint(frame->start_line, >, 0);
    } else {
        g_assert_false(frame->known);
        g_assert_nonnull(strstr(about->note, note));
        g_assert_nonnull(strstr(about->note, self));
    }
    return about->source;
}

static void
test_own_function_has_name_and_line(void)
{
    const ProfileObject object = {0};
    g_assert_cmpint(source_of_self(&object, &no_cache, NULL), ==, SYMBOLS_DWARF);
}

static void
test_deleted_file_is_not_guessed(void)
{
    const ProfileObject object = {.flags = PROFILE_OBJECT_DELETED};
    g_assert_cmpint(source_of_self(&object, &no_cache, "--sysroot"), ==, SYMBOLS_MISMATCH);
}

static void
test_other_inode_of_a_live_target_is_refused(void)
{
    const ProfileObject object = {.inode = 1};
    const SymbolizeOptions options = {.pid = getpid(), .no_cache = TRUE};
    g_assert_cmpint(source_of_self(&object, &options, "replaced"), ==, SYMBOLS_MISMATCH);
}

static void
test_live_target_through_its_root(void)
{
    const ProfileObject object = {0};
    const SymbolizeOptions options = {.pid = getpid(), .no_cache = TRUE};
    g_assert_cmpint(source_of_self(&object, &options, NULL), ==, SYMBOLS_DWARF);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/symbolize/lost-address-has-no-name", test_lost_address_has_no_name);
    g_test_add_func("/symbolize/embedded-names-are-taken", test_embedded_names_are_taken);
    g_test_add_func("/symbolize/pseudo-objects-have-no-names", test_pseudo_objects_have_no_names);
    g_test_add_func("/symbolize/missing-file-is-explained", test_missing_file_is_explained);
    g_test_add_func("/symbolize/own-function-has-name-and-line", test_own_function_has_name_and_line);
    g_test_add_func("/symbolize/deleted-file-is-not-guessed", test_deleted_file_is_not_guessed);
    g_test_add_func("/symbolize/other-inode-of-a-live-target-is-refused", test_other_inode_of_a_live_target_is_refused);
    g_test_add_func("/symbolize/live-target-through-its-root", test_live_target_through_its_root);
    return g_test_run();
}
