/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/confined-work.h"
#include "cli/document.h"
#include "cli/duration.h"
#include "cli/kept.h"
#include "cli/moment.h"
#include "cli/size.h"
#include "cli/via.h"
#include "cli/words.h"

#include "client/document.h"
#include "client/exchange.h"
#include "confine/input-file.h"
#include "history/handed.h"
#include "rules/check.h"
#include "rules/file.h"
#include "text/printable.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    STATUS_MAX = 64 * 1024 * 1024, /* bytes of a server's answer */
    STATUS_DEADLINE_MS = 30 * 1000,
};

static char *history_file;
static char **targets;
static char *from;
static char *to;
static gboolean as_json;

static const GOptionEntry options[] = {
    {"history", 0, 0, G_OPTION_ARG_FILENAME, &history_file, "history file", "FILE"},
    {"target", 0, 0, G_OPTION_ARG_STRING_ARRAY, &targets, "only this target; may be given again", "SERIES"},
    {"from", 0, 0, G_OPTION_ARG_STRING, &from, "begin here: -2h, 2026-11-21, 2026-11-21T14:05Z", "TIME"},
    {"to", 0, 0, G_OPTION_ARG_STRING, &to, "end before this", "TIME"},
    {"json", 0, 0, G_OPTION_ARG_NONE, &as_json, "print JSON", NULL},
    ACCESS_OPTIONS,
    {0},
};

/* ---- rule files ---- */

static gboolean
read_file(const char *path, GPtrArray *rules, GPtrArray *problems, GError **error)
{
    gsize length;
    g_autoptr(GError) why = NULL;
    int fd = input_file_open(path, &why);
    g_autofree char *text = fd >= 0 ? rules_file_read(fd, &length) : NULL;
    if (text == NULL)
        g_set_error(error, CLI_ERROR, CLI_ERROR_FAILED, "cannot read the rules in %s: %s", path,
                    why != NULL ? why->message : g_strerror(errno));
    if (fd >= 0)
        close(fd);
    if (text == NULL)
        return FALSE;
    rules_file_parse(path, text, length, rules, problems);
    return TRUE;
}

/* ---- text ---- */

static char *
format_time(gint64 time_us)
{
    g_autoptr(GDateTime) time = g_date_time_new_from_unix_utc(time_us / G_USEC_PER_SEC);
    return time != NULL ? g_date_time_format(time, "%FT%TZ") : g_strdup("?");
}

static void
print_firings(const RulesCheck *check)
{
    for (guint i = 0; i < check->firings->len; i++) {
        const RuleFiring *firing = &g_array_index(check->firings, RuleFiring, i);
        g_autofree char *time = format_time(firing->time_us);
        printf("  %s  %s\n", time, firing->because);
    }
}

static void
print_held_back(const RulesCheck *check)
{
    for (guint i = 0; i < RULE_REASONS; i++)
        if (check->held_back[i] > 0)
            printf("  held back by %s: %u %s\n", rule_reason_name((RuleReason)i), check->held_back[i],
                   check->held_back[i] == 1 ? "time" : "times");
}

static void
print_cost(const RulesCheck *check)
{
    const RulesCost *cost = &check->cost;
    if (check->firings->len == 0)
        return;
    printf("  cost:");
    for (guint i = 0, n = 0; i < RULE_ACTIONS; i++)
        if (cost->times[i] > 0)
            printf("%s %" G_GUINT64_FORMAT " x %s", n++ == 0 ? "" : ",", cost->times[i],
                   rule_action_name((RuleActionKind)i));
    if (cost->recorded_ms > 0) {
        g_autofree char *time = duration_format(cost->recorded_ms);
        printf("; profiling on for %s", time);
    }
    if (cost->dumps > 0 && cost->dump_bytes > 0) {
        g_autofree char *one = size_format(cost->dump_bytes);
        g_autofree char *all = size_format(cost->dumps * cost->dump_bytes);
        printf("; dumps of %s, before compression, as those in the history are %s each", all, one);
    } else if (cost->dumps > 0) {
        printf("; the history has no dump of it that would tell their size");
    }
    putchar('\n');
}

static void
print_text(const GPtrArray *checks)
{
    for (guint i = 0; i < checks->len; i++) {
        const RulesCheck *check = checks->pdata[i];
        printf("%s  %s: fires %u %s in %" G_GUINT64_FORMAT " samples\n", check->rule->name, check->series,
               check->firings->len, check->firings->len == 1 ? "time" : "times", check->samples);
        print_firings(check);
        print_held_back(check);
        print_cost(check);
        printf("  at the end: %s, %s\n", rule_state_name(check->state), check->why);
    }
    if (checks->len == 0)
        printf("no rule chooses a target in the history\n");
}

/* ---- JSON ---- */

static json_t *
firings_json(const RulesCheck *check)
{
    json_t *list = json_array();
    for (guint i = 0; i < check->firings->len; i++) {
        const RuleFiring *firing = &g_array_index(check->firings, RuleFiring, i);
        g_autofree char *time = format_time(firing->time_us);
        json_array_append_new(list, json_pack("{s:s, s:s}", "time", time, "because", firing->because));
    }
    return list;
}

static json_t *
held_back_json(const RulesCheck *check)
{
    json_t *counts = json_object();
    for (guint i = 0; i < RULE_REASONS; i++)
        if (check->held_back[i] > 0)
            json_object_set_new(counts, rule_reason_name((RuleReason)i), json_integer(check->held_back[i]));
    return counts;
}

static json_t *
cost_json(const RulesCost *cost)
{
    json_t *actions = json_object();
    for (guint i = 0; i < RULE_ACTIONS; i++)
        if (cost->times[i] > 0)
            json_object_set_new(actions, rule_action_name((RuleActionKind)i), json_integer((json_int_t)cost->times[i]));
    return json_pack("{s:o, s:f, s:I, s:o}", "actions", actions, "recorded_seconds", (double)cost->recorded_ms / 1000,
                     "dumps", (json_int_t)cost->dumps, "dump_bytes",
                     cost->dump_bytes > 0 ? json_integer((json_int_t)cost->dump_bytes) : json_null());
}

static json_t *
checks_json(const GPtrArray *checks)
{
    json_t *list = json_array();
    for (guint i = 0; i < checks->len; i++) {
        const RulesCheck *check = checks->pdata[i];
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:I, s:o, s:o, s:o, s:s, s:s}", "rule",
                                              check->rule->name, "place", check->rule->place, "series", check->series,
                                              "samples", (json_int_t)check->samples, "firings", firings_json(check),
                                              "held_back", held_back_json(check), "cost", cost_json(&check->cost),
                                              "state", rule_state_name(check->state), "why", check->why));
    }
    return list;
}

/* ---- check ---- */

/* The work of the confined child. */
typedef struct {
    const char *path;
    char **files;
    GPtrArray *rules;
    RulesCheckQuery query;
} Check;

static int
check_history(gpointer data, GOutputStream *out, GError **error)
{
    const Check *check = data;
    history_take_handed();
    g_autoptr(History) history = history_open(check->path, HISTORY_READ, error);
    g_autoptr(GPtrArray) checks = history != NULL ? rules_check(history, check->rules, &check->query, error) : NULL;
    if (checks == NULL)
        return STATUS_FAILED;
    if (as_json)
        document_print("jescope-rules-check", json_pack("{s:o}", "checks", checks_json(checks)));
    else
        print_text(checks);
    return kept_warn(check->path, history_damaged_blocks(history)) ? STATUS_PARTIAL : STATUS_DONE;
}

static gboolean
parse_range(HistoryRange *range, GError **error)
{
    *range = HISTORY_ALL_TIME;
    if ((from != NULL && !moment_parse(from, "--from", &range->from_us, error)) ||
        (to != NULL && !moment_parse(to, "--to", &range->to_us, error)))
        return FALSE;
    if (range->from_us < range->to_us)
        return TRUE;
    g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "--from '%s' is not before --to '%s'", from, to);
    return FALSE;
}

static int
check(char **files, GError **error)
{
    static const char *const every[] = {NULL};
    g_autoptr(GPtrArray) rules = rules_new();
    g_autoptr(GPtrArray) problems = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *path = history_file != NULL ? g_strdup(history_file) : history_default_path();
    Check wanted = {
        .path = path, .rules = rules, .query = {.series = targets != NULL ? (const char *const *)targets : every}};
    if (!parse_range(&wanted.query.range, error))
        return STATUS_USAGE;
    for (char **file = files; *file != NULL; file++)
        if (!read_file(*file, rules, problems, error))
            return STATUS_FAILED;
    for (guint i = 0; i < problems->len; i++)
        command_say("%s", (const char *)problems->pdata[i]);
    if (rules->len == 0) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_FAILED, "the files have no rule that can be used");
        return STATUS_FAILED;
    }
    history_hand_over(path);
    const Confined confined = {.work = check_history,
                               .data = &wanted,
                               .memory = CONFINED_WORK_STATISTICS,
                               .seconds = history_handed_seconds()};
    int status = confined_work_print(&confined, "checking rules", error);
    return status == STATUS_DONE && problems->len > 0 ? STATUS_PARTIAL : status;
}

/* ---- status ---- */

static json_t *
ask_server(const char *address, GError **error)
{
    const ExchangeRequest request = {.method = "GET",
                                     .path = "/api/v1/rules",
                                     .type = "application/json",
                                     .limit = STATUS_MAX,
                                     .deadline_ms = STATUS_DEADLINE_MS};
    ClientUrl url = {0};
    const ClientAccess access = via_access();
    if (!client_url_parse(address, &url, error))
        return NULL;
    g_autoptr(Connection) connection = connection_new(&url, &access, error);
    int fd = connection != NULL ? connection_exchange(connection, &request, error) : -1;
    gsize length;
    g_autoptr(GError) why = NULL;
    g_autofree char *text = fd >= 0 ? document_read(fd, &length, error) : NULL;
    json_t *document = text != NULL ? document_parse(text, length, &why) : NULL;
    if (text != NULL && !json_is_array(json_object_get(document, "rules"))) {
        g_clear_pointer(&document, json_decref);
        g_set_error(error, CLI_ERROR, CLI_ERROR_FAILED, "%s did not answer with a list of rules%s%s", url.server,
                    why != NULL ? ": " : "", why != NULL ? why->message : "");
    }
    client_url_clear(&url);
    return document;
}

/* The printable text of KEY. To be freed. */
static char *
text_of(const json_t *row, const char *key)
{
    const char *text = json_string_value(json_object_get(row, key));
    return text_printable(text != NULL ? text : "");
}

static void
print_standings(const json_t *rules)
{
    static const char *const columns[] = {"rule", "series", "state", "why"};
    gsize i;
    json_t *row;
    printf("%-24s  %-24s  %-8s  %5s  %s\n", "RULE", "SERIES", "STATE", "FIRED", "WHY IT DID NOT FIRE");
    json_array_foreach(rules, i, row)
    {
        char *texts[G_N_ELEMENTS(columns)];
        for (gsize c = 0; c < G_N_ELEMENTS(columns); c++)
            texts[c] = text_of(row, columns[c]);
        printf("%-24s  %-24s  %-8s  %5d  %s\n", texts[0], texts[1], texts[2],
               (int)json_integer_value(json_object_get(row, "fired")), texts[3]);
        for (gsize c = 0; c < G_N_ELEMENTS(columns); c++)
            g_free(texts[c]);
    }
}

static int
status(char **operands, GError **error)
{
    static const char root_address[] = "http+unix://%2Frun%2Fjescope%2Fserve.sock";
    const char *address = operands[0] != NULL ? operands[0] : geteuid() == 0 ? root_address : "http://127.0.0.1:7469";
    json_t *document = ask_server(address, error);
    gsize i;
    json_t *problem;
    if (document == NULL)
        return STATUS_FAILED;
    const json_t *problems = json_object_get(document, "problems");
    json_array_foreach(problems, i, problem) if (json_is_string(problem)) command_say("%s", json_string_value(problem));
    int result = json_array_size(problems) > 0 ? STATUS_PARTIAL : STATUS_DONE;
    if (as_json) {
        document_print("jescope-rules-status", document);
        return result;
    }
    print_standings(json_object_get(document, "rules"));
    json_decref(document);
    return result;
}

/* ---- the command ---- */

static int
check_operands(char **operands, GError **error)
{
    if (operands[0] != NULL)
        return check(operands, error);
    g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "'rules check' needs a file with rules");
    return STATUS_USAGE;
}

static int
run(char **operands, GError **error)
{
    static const char *const verbs[] = {"check", "status", NULL};
    static int (*const functions[])(char **operands, GError **error) = {check_operands, status};
    guint verb;
    if (!words_find(verbs, "rules", operands[0], &verb, error))
        return STATUS_USAGE;
    return functions[verb](operands + 1, error);
}

static const Example examples[] = {
    {"jescope rules check heap.rules --history=/var/lib/jescope/kept.db --from=-30d",
     "when the rules of a file would have fired in the last 30 days"},
    {"jescope rules status", "each rule of the server on this machine, and why it did not fire"},
    {0},
};

const Command cmd_rules = {
    .name = "rules",
    .synopsis = "check FILE... | status [URL]",
    .summary = "check rules over a history; show the state of a server's",
    .description =
        "Rules define for which processes, when and how often an action is taken: \"if redis-server holds more than 2 "
        "GiB for five minutes, record for 30 seconds, at most three times a day\". 'serve' and 'collect' execute the "
        "rules in the directory of --rules. docs/rules.md describes their language.\n\n"
        "'check' reads the rules of each FILE and reports when each would have fired over the statistics in the "
        "history "
        "(of 'collect', 'serve' or 'import'), with the value, the limits that would have prevented it, and the costs "
        "of "
        "its actions. It takes no action and contacts no process.\n\n"
        "'status' requests from the server at URL (http://127.0.0.1:7469, or for root the unix socket of root's "
        "server) "
        "the state of each rule for each target: armed, holding or cooling, how often it has fired in its window, and "
        "why it does not fire now.\n\n"
        "Invalid rules are skipped with a message that names the line and key; the exit status is then 3. Of the "
        "filters, only process and series apply, since the history lacks the other properties.",
    .examples = examples,
    .options = options,
    .operand = OPERAND_FILE,
    .operands_min = 1,
    .operands_max = OPERANDS_ANY,
    .run = run,
};
