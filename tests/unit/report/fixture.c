/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include <string.h>

const char fixture_text[] = "--- symbol\n"
                            "binary=/bin/app\n"
                            "0x0000000000001000 malloc\n"
                            "0x0000000000002000 insert--make_node\n"
                            "0x0000000000003000 main\n"
                            "0x0000000000004000 recurse\n"
                            "0x0000000000005000 shop::Cart<int>::push_back(int const&)\n"
                            "---\n"
                            "--- heap\n"
                            "heap profile: 10: 640 [20: 1280] @ heapprofile\n"
                            "1: 100 [2: 200] @ 0x1000 0x2001 0x3001\n"
                            "2: 200 [4: 400] @ 0x1000 0x4001 0x4001 0x3001\n"
                            "3: 300 [6: 600] @ 0x1000 0x5001 0x3001\n"
                            "4: 40 [8: 80] @ 0x1000 0x6001 0x3001\n"
                            "\n"
                            "MAPPED_LIBRARIES:\n"
                            "00001000-00008000 r-xp 00000000 08:01 17 /bin/app\n";

void
fixture_init(Fixture *fixture, const char *text, ProfileReadFlags flags)
{
    SymbolizeOptions options = {.no_cache = TRUE, .sysroot = "/nonexistent"};
    g_autoptr(GError) error = NULL;

    memset(fixture, 0, sizeof(*fixture));
    fixture->text = g_bytes_new(text, strlen(text));
    fixture->profile = profile_read_bytes(fixture->text, "fixture", flags, &error);
    g_assert_no_error(error);
    fixture->symbols = symbolize(fixture->profile, &options, &error);
    g_assert_no_error(error);
    fixture->input = (ReportInput){.profile = fixture->profile,
                                   .symbols = fixture->symbols,
                                   .name = "fixture",
                                   .text = fixture->text,
                                   .time = 1000};
}

void
fixture_clear(Fixture *fixture)
{
    g_clear_pointer(&fixture->symbols, symbols_free);
    g_clear_pointer(&fixture->profile, profile_free);
    g_clear_pointer(&fixture->text, g_bytes_unref);
}

GBytes *
fixture_report_bytes(const Fixture *now, const Fixture *base, const char *format, const ReportOptions *options)
{
    g_autoptr(GOutputStream) out = g_memory_output_stream_new_resizable();
    g_autoptr(GError) error = NULL;

    report_write(report_format_find(format), &now->input, base ? &base->input : NULL, options, out, &error);
    g_assert_no_error(error);
    g_output_stream_close(out, NULL, &error);
    g_assert_no_error(error);
    return g_memory_output_stream_steal_as_bytes(G_MEMORY_OUTPUT_STREAM(out));
}

char *
fixture_report(const Fixture *now, const Fixture *base, const char *format, const ReportOptions *options)
{
    g_autoptr(GBytes) bytes = fixture_report_bytes(now, base, format, options);

    const char *text = g_bytes_get_data(bytes, NULL);

    return g_strndup(text ? text : "", g_bytes_get_size(bytes));
}
