/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names link-time addresses of one ELF file, read from stdin, as the tests and benchmarks need it to compare us with
 * other symbolizers. Prints, per address, "FUNCTION" and "FILE:LINE" of each frame and an empty line, as
 * llvm-symbolizer does, and what it says of the object on stderr.
 */
#include "symbolize/symbolize.h"

#include "fake-profile.h"

#include <stdio.h>
#include <stdlib.h>

static void
print(const Symbols *symbols, guint32 n, gboolean linkage)
{
    for (guint32 i = 0; i < n; i++) {
        const Symbol *symbol = symbols_location(symbols, i);
        for (guint32 k = 0; k < symbol->n_frames; k++) {
            const SymbolFrame *frame = &symbol->frames[k];
            printf("%s\n%s:%u\n", linkage ? frame->system_name : frame->function,
                   frame->file != NULL ? frame->file : "??", frame->line);
        }
        putchar('\n');
    }
}

static void
describe(const SymbolObject *object)
{
    static const char *const sources[] = {"none", "dynsym", "symtab", "dwarf", "embedded", "mismatch"};
    fprintf(stderr, "source: %s\npath: %s\nbuild id: %s\nnote: %s\n", sources[object->source],
            object->debug_path != NULL ? object->debug_path : "", object->build_id != NULL ? object->build_id : "",
            object->note != NULL ? object->note : "");
}

static Profile *
read_addresses(const char *path, const ProfileObject *mapped, guint64 start)
{
    Profile *profile = fake_profile_new();
    guint32 object = fake_profile_mapped(profile, path, mapped, start);
    char line[64];
    while (fgets(line, sizeof(line), stdin) != NULL)
        fake_profile_address(profile, object, g_ascii_strtoull(line, NULL, 16));
    return profile;
}

int
main(int argc, char **argv)
{
    g_auto(GStrv) debug_paths = NULL;
    g_autofree char *sysroot = NULL;
    g_autofree char *mapped_as = NULL;
    gint pid = 0;
    gint64 start = 0;
    gboolean deleted = FALSE;
    gboolean linkage = FALSE;
    gboolean quiet = FALSE;
    SymbolizeOptions options = {0};
    const GOptionEntry entries[] = {
        {"debug-path", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &debug_paths, "Directory of debug files", "DIR"},
        {"sysroot", 0, 0, G_OPTION_ARG_FILENAME, &sysroot, "Root of the target's files", "DIR"},
        {"mapped-as", 0, 0, G_OPTION_ARG_FILENAME, &mapped_as, "Path in the target's maps", "PATH"},
        {"pid", 0, 0, G_OPTION_ARG_INT, &pid, "Live target", "PID"},
        {"start", 0, 0, G_OPTION_ARG_INT64, &start, "Where the code is mapped", "ADDRESS"},
        {"deleted", 0, 0, G_OPTION_ARG_NONE, &deleted, "The maps said (deleted)", NULL},
        {"cache", 0, G_OPTION_FLAG_REVERSE, G_OPTION_ARG_NONE, &options.no_cache, "Use the cache", NULL},
        {"no-inlines", 0, 0, G_OPTION_ARG_NONE, &options.no_inlines, "Physical functions only", NULL},
        {"linkage", 0, 0, G_OPTION_ARG_NONE, &linkage, "Names as linked", NULL},
        {"time", 0, 0, G_OPTION_ARG_NONE, &quiet, "Print the seconds that symbolize() took instead", NULL},
        {"debuginfod", 0, 0, G_OPTION_ARG_NONE, &options.debuginfod, "Ask debuginfod", NULL},
        {0},
    };
    options.no_cache = TRUE;
    g_autoptr(GError) error = NULL;
    g_autoptr(GOptionContext) context = g_option_context_new("FILE");
    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, &argc, &argv, &error) || argc != 2) {
        fprintf(stderr, "symbolize-addresses: %s\n", error != NULL ? error->message : "needs one FILE");
        return 2;
    }
    options.debug_paths = (const char *const *)debug_paths;
    options.sysroot = sysroot;
    options.pid = (pid_t)pid;
    const ProfileObject object = {
        .path = mapped_as != NULL ? mapped_as : argv[1],
        .flags = deleted ? PROFILE_OBJECT_DELETED : 0,
    };
    g_autoptr(Profile) profile = read_addresses(argv[1], &object, (guint64)start);
    gint64 begun = g_get_monotonic_time();
    g_autoptr(Symbols) symbols = symbolize(profile, &options, &error);
    if (symbols == NULL) {
        fprintf(stderr, "symbolize-addresses: %s\n", error->message);
        return 1;
    }
    if (quiet) {
        printf("%.6f\n", (gdouble)(g_get_monotonic_time() - begun) / G_USEC_PER_SEC);
        return 0;
    }
    print(symbols, profile_n_locations(profile), linkage);
    describe(symbols_object(symbols, 0));
    return 0;
}
