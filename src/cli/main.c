/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/document.h"
#include "cli/help.h"
#include "cli/multicall.h"
#include "confine/last-close.h"
#include "routes/render.h"
#include "target/candidates.h"
#include "target/target.h"
#include "text/suggest.h"

#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Internal: starts jescope to keep a lease if no agent does (target.h). */
#define KEEP_LEASE "--keep-lease"

static int
print_overview(FILE *out)
{
    g_autofree char *text = help_overview();
    fputs(text, out);
    return STATUS_DONE;
}

static int refuse_word(const char *word);

/* "jescope help record". */
static int
print_help(char **words)
{
    const Command *command = words[0] != NULL ? command_find(words[0]) : NULL;
    if (words[0] == NULL || strcmp(words[0], "--help") == 0)
        return print_overview(stdout);
    if (command == NULL)
        return refuse_word(words[0]);
    g_autofree char *text = help_command(command);
    fputs(text, stdout);
    return STATUS_DONE;
}

static const char *const top_options[] = {"--help", "-h", "help", "--version", "-V"};

static const char *
near_word(const char *word)
{
    g_autoptr(GArray) names = g_array_new(TRUE, FALSE, sizeof(char *));
    for (const Command *const *command = commands; *command != NULL; command++)
        g_array_append_val(names, (*command)->name);
    for (size_t i = 0; i < G_N_ELEMENTS(top_options); i++)
        g_array_append_val(names, top_options[i]);
    return suggest(word, (const char *const *)(void *)names->data);
}

/* A target or a file without a command. FALSE: WORD is neither. */
static gboolean
refuse_operand(const char *word)
{
    g_autoptr(GPtrArray) processes = word[0] != '-' ? candidates_find(word, CANDIDATES_NAMED, NULL) : NULL;
    if (processes != NULL)
        command_say("'%s' is a process, not a command; 'jescope status %s' describes it, 'jescope report %s' "
                    "shows what holds its memory",
                    word, word, word);
    else if (g_file_test(word, G_FILE_TEST_IS_REGULAR))
        command_say("'%s' is a file, not a command; did you mean 'jescope report %s'?", word, word);
    else if (word[0] != '\0' && strspn(word, "0123456789") == strlen(word))
        command_say("'%s' is not a command, and no process has this pid; see 'jescope ps'", word);
    else
        return FALSE;
    return TRUE;
}

static int
refuse_word(const char *word)
{
    const char *kind = word[0] == '-' ? "option" : "command";
    if (refuse_operand(word))
        return STATUS_USAGE;
    const char *meant = near_word(word);
    if (meant != NULL)
        command_say("unknown %s '%s'; did you mean '%s'?", kind, word, meant);
    else
        command_say("unknown %s '%s'; see 'jescope --help'", kind, word);
    return STATUS_USAGE;
}

static int
run(int argc, char **argv)
{
    const Multicall *tool = argc > 0 ? multicall_find(argv[0]) : NULL;
    if (tool != NULL)
        return tool->run(argc, argv);
    if (argc < 2) {
        print_overview(stderr);
        return STATUS_USAGE;
    }
    if (strcmp(argv[1], KEEP_LEASE) == 0) {
        prctl(PR_SET_NAME,
              "jescope"); /* it was executed as "exe"; jescope processes wait for each other by this name */
        return target_run_keeper(argv + 2) ? STATUS_DONE : STATUS_USAGE;
    }
    const Command *command = command_find(argv[1]);
    if (command != NULL)
        return command_main(command, g_strdupv(argv + 1));
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0)
        return print_help(argv + 2);
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        puts("jescope " JESCOPE_VERSION);
        return STATUS_DONE;
    }
    return refuse_word(argv[1]);
}

/* A parent that cannot rely on wait() has passed a descriptor for the exit status. */
static void
tell_parent(const char *descriptor, int status)
{
    const guint8 byte = (guint8)status;
    guint64 number;
    if (descriptor != NULL && g_ascii_string_to_unsigned(descriptor, 10, STDERR_FILENO + 1, G_MAXINT, &number, NULL) &&
        write((int)number, &byte, 1) != 1)
        fputs("jescope: the parent does not listen\n", stderr);
}

/* A file that is opened must not get the number of a standard descriptor that is closed. Its place is taken by one with
 * which reading or writing fails. */
static void
occupy_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int
main(int argc, char **argv)
{
    occupy_standard_descriptors();
    /* Not passed on to child processes. */
    g_autofree char *descriptor = g_strdup(g_getenv(RENDER_STATUS_VARIABLE));
    g_unsetenv(RENDER_STATUS_VARIABLE);
    /* For options with non-ASCII text; numbers stay in the C locale. */
    setlocale(LC_CTYPE, "");
    /* With privileges that the caller lacks, every variable and path could be used to gain them. */
    if (getauxval(AT_SECURE) != 0) {
        fputs("jescope: it must not have a set-user-ID or set-group-ID bit or file capabilities; remove them from its "
              "file (chmod "
              "ug-s, setcap -r), and run it by sudo\n",
              stderr);
        return STATUS_FAILED;
    }
    document_need_memory();
    target_set_keeper("/proc/self/exe", KEEP_LEASE);
    int status = run(argc, argv);
    tell_parent(descriptor, status);
    last_close_leave();
    return status;
}
