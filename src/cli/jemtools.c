/* SPDX-License-Identifier: Apache-2.0 */
/* jemabs, jemdel, jemeff: [DATA] [numbers], all of them optional (Aerospike's tools/jem). */
#include "cli/analyses.h"
#include "cli/command.h"
#include "cli/multicall.h"
#include "text/printable.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    THRESHOLD_DEFAULT = 200,
    EXIT_TRACEBACK = 1, /* of a Python program that raised an exception */
};

static gboolean
all_digits(const char *text)
{
    return text[0] != '\0' && text[strspn(text, "0123456789")] == '\0';
}

/* The data module NAME is NAME.py in the current directory, "a.b" a/b.py. Beyond the original, NAME may be a file. */
static char *
data_file(const char *name, GError **error)
{
    g_autofree char *path = g_strdelimit(g_strdup(name), ".", '/');
    g_autofree char *module = g_strconcat(path, ".py", NULL);
    command_supervise_files((char *const[]){module, (char *)(gsize)name, NULL});
    if (g_file_test(module, G_FILE_TEST_EXISTS))
        return g_steal_pointer(&module);
    if (g_file_test(name, G_FILE_TEST_EXISTS))
        return g_strdup(name);
    g_set_error(error, CLI_ERROR, CLI_ERROR_FAILED,
                "no data file %s or file %s here; extract-jem-stats creates jemdata.py from a log", module, name);
    return NULL;
}

static gboolean
parse_integer(const char *text, gint64 *number, GError **error)
{
    if (g_ascii_string_to_signed(text, 10, G_MININT32, G_MAXINT32, number, NULL))
        return TRUE;
    g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "'%s' is not a whole number", text);
    return FALSE;
}

/* NUMBERS are assigned in order; missing ones are unchanged. */
static gboolean
parse_integers(char **arguments, gint64 **numbers, guint count, GError **error)
{
    for (guint i = 0; arguments[i] != NULL; i++) {
        if (i == count) {
            g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "at most %u numbers, not '%s' as well", count, arguments[i]);
            return FALSE;
        }
        if (!parse_integer(arguments[i], numbers[i], error))
            return FALSE;
    }
    return TRUE;
}

static gboolean
parse_request(char **arguments, AnalysisRequest *request, GError **error)
{
    gint64 *plain[] = {&request->threshold_mib, &request->start, &request->end};
    gint64 *delta[] = {&request->threshold_mib, &request->base, &request->start, &request->end};
    return request->kind == ANALYSIS_DELTA ? parse_integers(arguments, delta, G_N_ELEMENTS(delta), error)
                                           : parse_integers(arguments, plain, G_N_ELEMENTS(plain), error);
}

static gboolean
analyse(AnalysisKind kind, char **arguments, GError **error)
{
    const char *name = "jemdata";
    if (arguments[0] != NULL && !all_digits(arguments[0]))
        name = *arguments++;
    g_autofree char *file = data_file(name, error);
    if (file == NULL)
        return FALSE;
    AnalysisRequest request = {.kind = kind,
                               .flags = ANALYSIS_ORIGINAL,
                               .threshold_mib = THRESHOLD_DEFAULT,
                               .start = kind == ANALYSIS_DELTA,
                               .end = ANALYSES_END};
    if (!parse_request(arguments, &request, error))
        return FALSE;
    int status = analyses_print(file, NULL, &request, error);
    /* Skipped parts are reported on stderr only; the tools' exit status has no such case. */
    return status == STATUS_DONE || status == STATUS_PARTIAL;
}

static int
finish(const char *tool, gboolean fine, GError *error)
{
    g_autoptr(GError) owned = error;
    if (fine && fflush(stdout) == 0)
        return EXIT_SUCCESS;
    fflush(stdout);
    g_autofree char *why = g_strdup(owned != NULL ? owned->message : g_strerror(errno));
    text_clean(why, strlen(why) + 1);
    fprintf(stderr, "%s: %s\n", tool, why);
    return EXIT_TRACEBACK;
}

int
jemabs_main(int argc, char **argv)
{
    GError *error = NULL;
    gboolean fine = analyse(ANALYSIS_ABSOLUTE, argv + 1, &error);
    return finish("jemabs", fine, error);
}

int
jemdel_main(int argc, char **argv)
{
    GError *error = NULL;
    gboolean fine = analyse(ANALYSIS_DELTA, argv + 1, &error);
    return finish("jemdel", fine, error);
}

int
jemeff_main(int argc, char **argv)
{
    GError *error = NULL;
    gboolean fine = analyse(ANALYSIS_EFFICIENCY, argv + 1, &error);
    return finish("jemeff", fine, error);
}
