/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/via.h"
#include "source/named-dump.h"

#include "source/capture.h"
#include "target/target.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char *path;
static gboolean symbolized;

static const GOptionEntry options[] = {
    {.long_name = "output",
     .short_name = 'o',
     .arg = G_OPTION_ARG_FILENAME,
     .arg_data = &path,
     .description = "write to this file, which must not exist; - is stdout",
     .arg_description = "FILE"},
    SYMBOLIZE_OPTION(symbolized),
    VIA_OPTION,
    MAX_OUTPUT_OPTION,
    FORCE_OPTION,
    {0},
};

static gboolean
dump(Target *target, Output *output, GError **error)
{
    g_autoptr(Progress) progress = progress_begin("dumping %s", target_label(target));
    int fd = capture_dump(target, NULL, symbolized ? CAPTURE_NAMES : CAPTURE_ADDRESSES, error);
    g_autoptr(NamedDump) dump = fd < 0 ? NULL : named_dump_new(fd, target);
    if (symbolized)
        progress_show(progress, "naming functions of %s", target_label(target));
    return dump != NULL && (!symbolized || named_dump_finish(dump, error)) && output_copy(output, dump->fd, error) &&
           output_commit(output, error);
}

static int
run(char **operands, GError **error)
{
    g_autoptr(Target) target = via_open(operands[0], error);
    if (target == NULL)
        return STATUS_FAILED;
    if (path == NULL)
        path = output_dump_name(target_name(target), (int)target_own_pid(target));
    g_autoptr(Output) output = output_open(path, OUTPUT_PRIVATE, error);
    if (output == NULL || !dump(target, output, error))
        return STATUS_FAILED;
    if (strcmp(path, "-") != 0)
        puts(path);
    return STATUS_DONE;
}

static const Example examples[] = {
    {"jescope dump 4711 -o now.heap", "write what is profiled so far to a file"},
    {0},
};

const Command cmd_dump = {
    .name = "dump",
    .synopsis = "TARGET",
    .summary = "write a heap dump to a file",
    .description =
        "Writes TARGET's heap profile as jemalloc dumps it and prints the name of the file, by default "
        "NAME.PID.YYYYmmddTHHMMSS.heap. A file that exists is never replaced. TARGET needs no access to the file. With "
        "--symbolize the dump includes the function names, for use on another machine or after an upgrade.",
    .examples = examples,
    .options = options,
    .operand = OPERAND_TARGET,
    .operands_min = 1,
    .operands_max = 1,
    .run = run,
};
