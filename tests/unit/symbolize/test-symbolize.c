/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/symbolize.h"

#include "fake-profile.h"

#include <string.h>

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

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/symbolize/lost-address-has-no-name", test_lost_address_has_no_name);
    g_test_add_func("/symbolize/embedded-names-are-taken", test_embedded_names_are_taken);
    g_test_add_func("/symbolize/pseudo-objects-have-no-names", test_pseudo_objects_have_no_names);
    g_test_add_func("/symbolize/missing-file-is-explained", test_missing_file_is_explained);
    return g_test_run();
}
