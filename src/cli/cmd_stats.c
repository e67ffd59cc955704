/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/output.h"

#include "target/target.h"

#include <string.h>
#include <unistd.h>

static gboolean as_json;
static char *letters;

static const GOptionEntry options[] = {
    {.long_name = "json", .arg_data = &as_json, .description = "print jemalloc's JSON"},
    {.long_name = "options",
     .arg = G_OPTION_ARG_STRING,
     .arg_data = &letters,
     .description = "leave out parts, by the letters of malloc_stats_print(3): g m d a b l x e h",
     .arg_description = "LETTERS"},
    {0},
};

static gboolean
check_letters(GError **error)
{
    const char *letter = letters;
    while (g_ascii_isalpha(*letter))
        letter++;
    if (*letter == '\0' && strlen(letters) < WIRE_LETTERS_MAX - 1)
        return TRUE;
    g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                "--options: '%s' is not a list of at most %d letters such as 'mdablx'", letters, WIRE_LETTERS_MAX - 2);
    return FALSE;
}

static int
run(char **operands, GError **error)
{
    if (letters != NULL && !check_letters(error))
        return STATUS_USAGE;
    g_autoptr(Target) target = target_open(operands[0], error);
    if (target == NULL)
        return STATUS_FAILED;
    g_autofree char *all = g_strconcat(letters != NULL ? letters : "", as_json ? "J" : "", NULL);
    int fd = target_stats(target, all, error);
    if (fd < 0)
        return STATUS_FAILED;
    g_autoptr(Output) output = output_open("-", error);
    gboolean copied = output_copy(output, fd, error);
    close(fd);
    return copied ? STATUS_DONE : STATUS_FAILED;
}

const Command cmd_stats = {
    .name = "stats",
    .synopsis = "TARGET",
    .summary = "print jemalloc's own statistics",
    .description = "Prints exactly what malloc_stats_print() gives inside TARGET, as text or JSON.",
    .options = options,
    .operand = OPERAND_TARGET,
    .operands_min = 1,
    .operands_max = 1,
    .run = run,
};
