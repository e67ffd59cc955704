/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/output.h"
#include "cli/via.h"

#include "target/target.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char *path;

static const GOptionEntry options[] = {
    {.long_name = "output",
     .short_name = 'o',
     .arg = G_OPTION_ARG_FILENAME,
     .arg_data = &path,
     .description = "write to this file, which must not exist; - is stdout",
     .arg_description = "FILE"},
    VIA_OPTION,
    {0},
};

static gboolean
dump(Target *target, Output *output, GError **error)
{
    int fd = target_dump(target, error);
    if (fd < 0)
        return FALSE;
    gboolean written = output_copy(output, fd, error) && output_commit(output, error);
    close(fd);
    return written;
}

static int
run(char **operands, GError **error)
{
    g_autoptr(Target) target = via_open(operands[0], error);
    if (target == NULL)
        return STATUS_FAILED;
    if (path == NULL)
        path = output_dump_name(target_name(target), (int)target_pid(target));
    g_autoptr(Output) output = output_open(path, error);
    if (output == NULL || !dump(target, output, error))
        return STATUS_FAILED;
    if (strcmp(path, "-") != 0)
        puts(path);
    return STATUS_DONE;
}

const Command cmd_dump = {
    .name = "dump",
    .synopsis = "TARGET",
    .summary = "write a heap dump to a file",
    .description =
        "Writes TARGET's heap profile as jemalloc dumps it and prints the name of the file, by default "
        "NAME.PID.YYYYmmddTHHMMSS.heap. A file that exists is never replaced. TARGET needs no access to the file.",
    .options = options,
    .operand = OPERAND_TARGET,
    .operands_min = 1,
    .operands_max = 1,
    .run = run,
};
