/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/document.h"
#include "cli/duration.h"
#include "cli/report-arguments.h"
#include "cli/size.h"
#include "cli/via.h"

#include "blackbox/describe.h"
#include "confine/rights.h"
#include "report/headline.h"
#include "target/user-name.h"
#include "text/printable.h"

#include <stdio.h>
#include <string.h>

enum { GROWERS = 5 };

static char *directory;
static gboolean as_json;
static ReportArguments arguments = REPORT_ARGUMENTS_NONE;

static const GOptionEntry options[] = {
    {"directory", 0, 0, G_OPTION_ARG_FILENAME, &directory,
     "of the snapshots; default: JESCOPE_BLACKBOX, and the one of root's server", "DIRECTORY"},
    {"json", 0, 0, G_OPTION_ARG_NONE, &as_json, "print JSON: the end, and every snapshot that is kept", NULL},
    {"format", 'f', 0, G_OPTION_ARG_STRING, &arguments.format, "report the last profile in this format",
     REPORT_FORMAT_WORDS},
    {"output", 'o', 0, G_OPTION_ARG_FILENAME, &arguments.output,
     "write the report to this new file; its suffix chooses the format", "FILE"},
    TERMINAL_COLOR_OPTION,
    REPORT_SHAPE_OPTIONS(REPORT_ENTRY) REPORT_SELECT_ENTRIES REPORT_NAMES_ENTRIES{0},
};

/* ---- text ---- */

/* "2026-11-22 13:04:05". */
static char *
format_time(gint64 time_us)
{
    g_autoptr(GDateTime) time = g_date_time_new_from_unix_local(time_us / G_USEC_PER_SEC);
    return time != NULL ? g_date_time_format(time, "%F %T") : g_strdup("?");
}

static char *
format_difference(gint64 from_us, gint64 to_us)
{
    return duration_format((guint64)MAX(to_us - from_us, 0) / 1000);
}

static void
add_last_profile(GString *text, const BlackboxSnapshot *last)
{
    g_autofree char *memory = blackbox_format_used(last->memory.used, last->memory.limit);
    g_autofree char *time = format_time(last->time_us);
    g_autofree char *dump = text_printable(last->dump);
    g_string_append_printf(text, "last profile: %s, at %s, because of: %s\n%s\n", time, memory, last->reason, dump);
}

/* Explains why the latest snapshots have no dump, if they have none. */
static void
add_missing(GString *text, const BlackboxLife *life)
{
    const BlackboxSnapshot *latest = life->snapshots->len > 0 ? life->snapshots->pdata[life->snapshots->len - 1] : NULL;
    if (latest != NULL && latest->missing != NULL)
        g_string_append_printf(text, "the last snapshot has no profile: %s\n", latest->missing);
}

static void
add_memory(GString *text, const BlackboxLife *life)
{
    g_string_append_printf(text, "\n%6s  %-19s  %10s  %10s  %10s  %s\n", "NUMBER", "TIME", "USED", "RSS", "ALLOCATED",
                           "BECAUSE OF");
    for (guint i = 0; i < life->snapshots->len; i++) {
        const BlackboxSnapshot *snapshot = life->snapshots->pdata[i];
        const guint64 columns[] = {snapshot->memory.used, snapshot->memory.rss, snapshot->memory.allocated};
        g_autofree char *time = format_time(snapshot->time_us);
        g_string_append_printf(text, "%6u  %-19s", snapshot->number, time);
        for (gsize n = 0; n < G_N_ELEMENTS(columns); n++) {
            g_autofree char *size = columns[n] != BLACKBOX_UNKNOWN ? size_format(columns[n]) : g_strdup("-");
            g_string_append_printf(text, "  %10s", size);
        }
        g_string_append_printf(text, "  %s\n", snapshot->reason);
    }
    g_string_append_c(text, '\n');
}

/* ---- the answer: one line, the snapshots, and a table of what has grown ---- */

typedef struct {
    char *title; /* the title, as far as it is known without reading a profile */
    char *apart; /* the time between the profiles; NULL: there is only one */
    char *rest;  /* the text between the title and the table */
} Answer;

static void
answer_clear(Answer *answer)
{
    g_free(answer->title);
    g_free(answer->apart);
    g_free(answer->rest);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Answer, answer_clear)

static gboolean
write_preface(const Comparison *compared, const ReportOptions *report, GOutputStream *out, gconstpointer data,
              GError **error)
{
    const Answer *answer = data;
    const ReportInput *base = compared->base != NULL ? &compared->base->input : NULL;
    g_autofree char *headline = report_headline(&compared->now->input, base, report);
    const gboolean grew = headline != NULL && answer->apart != NULL && strstr(headline, "grew most") != NULL;
    return g_output_stream_printf(out, NULL, NULL, error, "%s%s%s%s%s\n%s", answer->title, headline != NULL ? ", " : "",
                                  headline != NULL ? headline : "", grew ? " in " : "", grew ? answer->apart : "",
                                  answer->rest);
}

/* Prints the growth from the first profile to the last one; if there is only one, its contents. */
static int
report_growth(const BlackboxLife *life, const BlackboxSnapshot *last, Answer *answer, GError **error)
{
    const BlackboxSnapshot *first = life->snapshots->pdata[0];
    const gboolean alone = first->dump == NULL || first == last;
    const ReportDefaults defaults = {
        .sort = alone ? REPORT_SORT_FLAT : REPORT_SORT_CHANGE, .preface = write_preface, .preface_data = answer};
    char *now[] = {last->dump, NULL};
    if (arguments.count < 0)
        arguments.count = GROWERS;
    arguments.owner = rights_lesser(first->owner, last->owner);
    if (alone)
        return report_run(&arguments, now, NULL, &defaults, error);
    answer->apart = format_difference(first->time_us, last->time_us);
    g_autofree char *rest = g_steal_pointer(&answer->rest);
    answer->rest = g_strdup_printf("%sgrown in the %s from snapshot %u to %u:\n", rest, answer->apart, first->number,
                                   last->number);
    return report_run(&arguments, now, first->dump, &defaults, error);
}

static int
print_life(const BlackboxLife *life, GError **error)
{
    const BlackboxSnapshot *last = blackbox_last_dump(life);
    g_autofree char *state = blackbox_describe_life(life);
    g_autofree char *time = format_time(life->latest_us);
    g_autoptr(GString) rest = g_string_new(NULL);
    g_auto(Answer) answer = {.title = g_strdup_printf("%s (%d): %s", life->name, (int)life->pid, state)};
    if (life->has_end)
        g_string_append_printf(rest, "ended: %s\n", time);
    if (life->has_end && life->end.unit_result[0] != '\0')
        g_string_append_printf(rest, "unit: %s, result: %s\n", life->end.unit, life->end.unit_result);
    if (last != NULL)
        add_last_profile(rest, last);
    add_missing(rest, life);
    add_memory(rest, life);
    answer.rest = g_strdup(rest->str);
    if (last != NULL)
        return report_growth(life, last, &answer, error);
    printf("%s\n%s", answer.title, answer.rest);
    return STATUS_PARTIAL;
}

static char *
name_of_user(const BlackboxLife *life)
{
    return life->user != (uid_t)-1 ? user_name(life->user) : g_strdup("?");
}

/* Any user may give a process any name. */
static void
tell_of_namesakes(const GPtrArray *lives, const char *name)
{
    const BlackboxLife *shown = lives->pdata[0];
    for (guint i = 1; i < lives->len; i++) {
        const BlackboxLife *other = lives->pdata[i];
        if (other->user == shown->user)
            continue;
        g_autofree char *user = name_of_user(shown), *another = name_of_user(other);
        command_say(
            "last: '%s' stands for processes of several users: the latest one, which is shown, is of %s, and %d "
            "of %s; 'jescope last' lists all, give a pid for another one",
            name, user, (int)other->pid, another);
        return;
    }
}

static int
print_lives(const GPtrArray *lives)
{
    printf("%-24s  %7s  %-12s  %-15s  %-19s  %9s\n", "NAME", "PID", "USER", "STATE", "LATEST", "SNAPSHOTS");
    for (guint i = 0; i < lives->len; i++) {
        const BlackboxLife *life = lives->pdata[i];
        g_autofree char *time = format_time(life->latest_us);
        g_autofree char *user = name_of_user(life);
        printf("%-24s  %7d  %-12s  %-15s  %-19s  %9u\n", life->name, (int)life->pid, user, blackbox_state_word(life),
               time, life->snapshots->len);
    }
    return STATUS_DONE;
}

static json_t *
life_json(const BlackboxLife *life)
{
    g_autofree char *text = blackbox_json(life);
    return json_loads(text, 0, NULL);
}

static int
print_json(const GPtrArray *lives, gboolean one)
{
    json_t *list = json_array();
    for (guint i = 0; i < lives->len && (i == 0 || !one); i++)
        json_array_append_new(list, life_json(lives->pdata[i]));
    document_print("jescope-last", json_pack("{s:o}", "lives", list));
    return STATUS_DONE;
}

/* ---- the command ---- */

static int
report_last(const BlackboxLife *life, GError **error)
{
    static const ReportDefaults defaults = {.sort = REPORT_SORT_FLAT};
    const BlackboxSnapshot *last = blackbox_last_dump(life);
    if (last == NULL) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_FAILED,
                    "no snapshot of %s (%d) has a profile; 'jescope last %d' says why", life->name, (int)life->pid,
                    (int)life->pid);
        return STATUS_FAILED;
    }
    char *now[] = {last->dump, NULL};
    arguments.owner = last->owner;
    return report_run(&arguments, now, arguments.base, &defaults, error);
}

static int
run(char **operands, GError **error)
{
    char *given[] = {directory, NULL};
    g_auto(GStrv) directories = directory != NULL ? g_strdupv(given) : blackbox_directories();
    g_autoptr(GPtrArray) left_out = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GPtrArray) lives = blackbox_all_lives((const char *const *)directories, operands[0], left_out, error);
    if (lives == NULL)
        return STATUS_FAILED;
    for (guint i = 0; i < left_out->len; i++)
        command_say("%s; it is left out", (const char *)left_out->pdata[i]);
    if (lives->len == 0) {
        g_autofree char *where = g_strjoinv(" and ", directories);
        g_set_error(error, CLI_ERROR, CLI_ERROR_FAILED,
                    "no snapshots%s%s in %s; 'jescope watch TARGET' and 'jescope serve' take them",
                    operands[0] != NULL ? " of " : "", operands[0] != NULL ? operands[0] : "", where);
        return STATUS_FAILED;
    }
    if (operands[0] != NULL)
        tell_of_namesakes(lives, operands[0]);
    if (as_json)
        return print_json(lives, operands[0] != NULL);
    if (operands[0] == NULL)
        return print_lives(lives);
    if (arguments.format != NULL || arguments.output != NULL)
        return report_last(lives->pdata[0], error);
    return print_life(lives->pdata[0], error);
}

static const Example examples[] = {
    {"jescope last redis-server", "show how it ended, the memory before that, and what had grown"},
    {"jescope last redis-server -o last.svg", "draw a flame graph of the last profile"},
    {0},
};

const Command cmd_last = {
    .name = "last",
    .synopsis = "[NAME|PID]",
    .summary = "show the last profile of a process that has ended",
    .description = "Shows what 'jescope watch' has kept: how the latest process called NAME (or process PID) ended, "
                   "how old the last profile is, the memory at each snapshot, and which functions have grown from the "
                   "first profile to the last one. With --format or -o, the last profile is reported as 'jescope "
                   "report' does. Without an operand, every process of which something is kept is listed.\n\n"
                   "The memory in use (USED) is that of the control group with a limit, without unused page cache, and "
                   "without such a group that of the process. A process is \"lost\" if it ended while it was not "
                   "watched, since jescope was ended as well: its last snapshots are kept all the same.",
    .examples = examples,
    .options = options,
    .operand = OPERAND_TARGET,
    .operands_min = 0,
    .operands_max = 1,
    .run = run,
};
