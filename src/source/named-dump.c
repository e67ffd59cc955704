/* SPDX-License-Identifier: Apache-2.0 */
#include "source/named-dump.h"

#include "confine/confined.h"
#include "confine/input-file.h"
#include "confine/rights.h"
#include "report/report.h"
#include "target/process.h"

#include <stdlib.h>
#include <unistd.h>

NamedDump *
named_dump_new(int fd, const Target *target)
{
    NamedDump *dump = g_new(NamedDump, 1);

    /* The pid of a server's target is 0, and the server chooses which files of this machine its dump names. */
    *dump = (NamedDump){.fd = fd,
                        .of_server = target_via(target) == TARGET_VIA_SERVER,
                        .label = g_strdup(target_label(target)),
                        .pid = target_pid(target),
                        .start = target_start_time(target),
                        .owner = RIGHTS_NOBODY,
                        .author = target_user(target)};
    return dump;
}

/* The files that the dump may name, with the rights of its process and its author; if that has ended, of its owner. */
static TargetFiles *
open_files(NamedDump *dump, SymbolizeOptions *options)
{
    *options = (SymbolizeOptions){.pid = dump->pid, .owner = dump->owner, .author = dump->author};
    g_autoptr(TargetFiles) files = symbolize_files(options);
    /* What was opened is the process's if it still exists. */
    if (dump->pid == 0 || dump->start == 0 || process_start_time(dump->pid) == dump->start)
        return g_steal_pointer(&files);
    dump->pid = 0; /* it has ended, or the pid now belongs to another process, whose rights and root do not apply to
                      this dump */
    *options = (SymbolizeOptions){.owner = dump->owner};
    return symbolize_files(options);
}

void
named_dump_free(NamedDump *dump)
{
    close(dump->fd);
    g_free(dump->label);
    g_free(dump);
}

typedef struct {
    const NamedDump *dump;
    SymbolizeOptions symbolize;
} Naming;

/* Runs in the confined child. */
static int
write_named(gpointer data, GOutputStream *out, GError **error)
{
    const Naming *naming = data;
    const char *label = naming->dump->label;
    g_autoptr(GMappedFile) mapped = g_mapped_file_new_from_fd(naming->dump->fd, FALSE, error);
    g_autoptr(GBytes) text = mapped ? g_mapped_file_get_bytes(mapped) : NULL;
    g_autoptr(Profile) profile = text ? profile_read_bytes(text, label, 0, error) : NULL;
    g_autoptr(Symbols) symbols = profile ? symbolize(profile, &naming->symbolize, error) : NULL;
    ReportInput input = {.profile = profile, .symbols = symbols, .name = label, .text = text};
    ReportOptions options;

    report_options_init(&options);
    if (!symbols || !report_write(report_format_find("symbolized"), &input, NULL, &options, out, error))
        return EXIT_FAILURE;
    return EXIT_SUCCESS;
}

gboolean
named_dump_finish(NamedDump *dump, GError **error)
{
    Naming naming = {.dump = dump};
    const Confined confined = {.work = write_named,
                               .data = &naming,
                               .keep = &dump->fd,
                               .n_keep = 1,
                               .seconds = input_seconds_of(dump->author, INPUT_FILE_FOREIGN_REPORT_SECONDS)};
    ConfinedResult result;

    if (dump->of_server)
        return TRUE;
    g_autoptr(TargetFiles) files = open_files(dump, &naming.symbolize);
    naming.symbolize.taken = dump->pid ? 0 : g_get_real_time() / G_USEC_PER_SEC;
    naming.symbolize.files = files;
    int status = confined_run(&confined, &result, error);
    g_free(result.words);
    if (status != EXIT_SUCCESS) {
        g_prefix_error(error, "cannot name the functions of %s: ", dump->label);
        if (result.output >= 0)
            close(result.output);
        return FALSE;
    }
    close(dump->fd);
    dump->fd = result.output;
    return TRUE;
}
