/* SPDX-License-Identifier: Apache-2.0 */
/* --help and the man pages of every command. */
#include "cli/command.h"
#include "cli/help.h"
#include "text/printable.h"

#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
/* Values of options are in static variables, as a process parses once: parsing again forgets those of the time before.
 */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *
__asan_default_options(void)
{
    return "detect_leaks=0";
}
#endif

enum {
    WIDTH = 80,
};

static void
check_lines(const char *name, const char *text)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line != NULL; line++) {
        if (text_columns(*line) > WIDTH)
            g_error("%s: a line of %u columns: %s", name, text_columns(*line), *line);
        g_assert_false(g_str_has_suffix(*line, " "));
    }
}

static void
test_lines(void)
{
    g_autofree char *overview = help_overview();
    check_lines("the overview", overview);
    for (const Command *const *command = commands; *command != NULL; command++) {
        g_autofree char *text = help_command(*command);
        check_lines((*command)->name, text);
    }
}

static void
test_overview_has_all(void)
{
    g_autofree char *overview = help_overview();
    g_assert_nonnull(command_begins_group(commands[0]));
    for (const Command *const *command = commands; *command != NULL; command++) {
        g_autofree char *row = g_strdup_printf("\n  %s ", (*command)->name);
        g_assert_nonnull(strstr(overview, row));
    }
}

static void
check_example(const Command *command, const Example *example)
{
    g_auto(GStrv) words = NULL;
    g_autoptr(GError) error = NULL;
    g_assert_true(g_shell_parse_argv(example->line, NULL, &words, NULL));
    g_assert_cmpstr(words[0], ==, "jescope");
    g_assert_cmpstr(words[1], ==, command->name);
    if (!command_parse(command, words + 1, &error))
        g_error("%s: %s", example->line, error->message);
}

static void
test_examples(void)
{
    for (const Command *const *command = commands; *command != NULL; command++) {
        const Example *example = (*command)->examples;
        g_assert_true(example != NULL && example->line != NULL);
        for (; example->line != NULL; example++)
            check_example(*command, example);
    }
}

static void
test_a_wrong_example_is_found(void)
{
    static const char *const wrong[] = {"jescope ps --sorted", "jescope status", "jescope disable 4711 4712"};
    for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_auto(GStrv) words = NULL;
        g_autoptr(GError) error = NULL;
        g_assert_true(g_shell_parse_argv(wrong[i], NULL, &words, NULL));
        g_assert_false(command_parse(command_find(words[1]), words + 1, &error));
        g_assert_error(error, CLI_ERROR, CLI_ERROR_USAGE);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/help/lines", test_lines);
    g_test_add_func("/help/overview", test_overview_has_all);
    g_test_add_func("/help/examples", test_examples);
    g_test_add_func("/help/wrong-example", test_a_wrong_example_is_found);
    return g_test_run();
}
