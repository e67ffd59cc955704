/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/help.h"
#include "cli/multicall.h"
#include "cli/suggest.h"
#include "routes/render.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int
print_help(void)
{
    g_autofree char *text = help_overview();
    fputs(text, stdout);
    return STATUS_DONE;
}

static int
print_version(void)
{
    puts("jescope " JESCOPE_VERSION);
    return STATUS_DONE;
}

static const struct {
    const char *word;
    int (*run)(void);
} top_options[] = {
    {"--help", print_help},       {"-h", print_help},    {"help", print_help},
    {"--version", print_version}, {"-V", print_version},
};

static int
refuse_word(const char *word)
{
    g_autoptr(GArray) names = g_array_new(TRUE, FALSE, sizeof(char *));
    for (const Command *const *command = commands; *command != NULL; command++)
        g_array_append_val(names, (*command)->name);
    for (size_t i = 0; i < G_N_ELEMENTS(top_options); i++)
        g_array_append_val(names, top_options[i].word);
    const char *meant = suggest(word, (const char *const *)(void *)names->data);
    const char *kind = word[0] == '-' ? "option" : "command";
    if (meant != NULL)
        fprintf(stderr, "jescope: unknown %s '%s'; did you mean '%s'?\n", kind, word, meant);
    else
        fprintf(stderr, "jescope: unknown %s '%s'; see 'jescope --help'\n", kind, word);
    return STATUS_USAGE;
}

static int
run(int argc, char **argv)
{
    const Multicall *tool = argc > 0 ? multicall_find(argv[0]) : NULL;
    if (tool != NULL)
        return tool->run(argc, argv);
    if (argc < 2) {
        fputs("jescope: a command is missing; see 'jescope --help'\n", stderr);
        return STATUS_USAGE;
    }
    const Command *command = command_find(argv[1]);
    if (command != NULL)
        return command_main(command, g_strdupv(argv + 1));
    for (size_t i = 0; i < G_N_ELEMENTS(top_options); i++)
        if (strcmp(argv[1], top_options[i].word) == 0)
            return top_options[i].run();
    return refuse_word(argv[1]);
}

/* A parent that cannot rely on wait() has given us a descriptor to tell how it went. */
static void
tell_parent(const char *descriptor, int status)
{
    const guint8 byte = (guint8)status;
    guint64 number;
    if (descriptor != NULL && g_ascii_string_to_unsigned(descriptor, 10, STDERR_FILENO + 1, G_MAXINT, &number, NULL) &&
        write((int)number, &byte, 1) != 1)
        fputs("jescope: the parent does not listen\n", stderr);
}

int
main(int argc, char **argv)
{
    /* Not for those we start ourselves. */
    g_autofree char *descriptor = g_strdup(g_getenv(RENDER_STATUS_VARIABLE));
    g_unsetenv(RENDER_STATUS_VARIABLE);
    /* For texts in options that are not ASCII; numbers stay as programs write them. */
    setlocale(LC_CTYPE, "");
    int status = run(argc, argv);
    tell_parent(descriptor, status);
    return status;
}
