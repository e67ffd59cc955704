/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/duration.h"
#include "cli/fleet-tables.h"
#include "cli/moment.h"
#include "cli/progress.h"
#include "cli/report-arguments.h"
#include "cli/words.h"

#include "export/clickhouse-schema.h"
#include "export/sql.h"
#include "fleet/rows.h"
#include "report/trend.h"

#include <stdio.h>
#include <string.h>

enum {
    WINDOW_MS = 5 * 60 * 1000,
    WINDOW_MAX_DAYS = 7,
    KEEP_MAX_DAYS = 3650,
    TOP_COUNT = 20,
    DAY_MS = 86400 * 1000,
    STORE_SECONDS = 30, /* of processor time for a report; how much of it a row takes is the store's choice */
};
#define RANGE_US ((gint64)24 * 3600 * G_USEC_PER_SEC) /* of growth and trace */
#define TOP_US   ((gint64)3600 * G_USEC_PER_SEC)      /* of top */

/* One part of the fleet, as given on the command line. */
typedef struct {
    char *version, *host, *zone, *at, *from, *to;
    char **labels;
} Part;

static ReportArguments arguments = REPORT_ARGUMENTS_NONE;
static Part now, before;
static char *store_url, *token_file, *ca_file, *service, *window, *keep, *cluster, *server_version;
static gboolean sums, replicated;

#define PART_ENTRIES(prefix, part, of, when)                                                                           \
    {prefix "version", 0, 0, G_OPTION_ARG_STRING, &(part).version, of "processes of this version", "VERSION"},         \
        {prefix "host", 0, 0, G_OPTION_ARG_STRING, &(part).host, of "processes on this host", "HOST"},                 \
        {prefix "zone", 0, 0, G_OPTION_ARG_STRING, &(part).zone, of "processes in this zone", "ZONE"},                 \
        {prefix "label",                                                                                               \
         0,                                                                                                            \
         0,                                                                                                            \
         G_OPTION_ARG_STRING_ARRAY,                                                                                    \
         &(part).labels,                                                                                               \
         of "processes with this label; may be given again",                                                           \
         "NAME=VALUE"},                                                                                                \
        {prefix "at", 0, 0, G_OPTION_ARG_STRING, &(part).at, when "state at this time (default: of the latest dump)",  \
         "TIME"},                                                                                                      \
        {prefix "from", 0, 0, G_OPTION_ARG_STRING, &(part).from, when "range of time from here: -2h, 2026-11-21",      \
         "TIME"},                                                                                                      \
    {                                                                                                                  \
        prefix "to", 0, 0, G_OPTION_ARG_STRING, &(part).to, when "end of the range (default: now)", "TIME"             \
    }

static const GOptionEntry options[] = {
    {"store", 0, 0, G_OPTION_ARG_STRING, &store_url, "store to query (default: JESCOPE_STORE)", "URL"},
    {"token-file", 0, 0, G_OPTION_ARG_FILENAME, &token_file,
     "user and password for the store, in one line (default: JESCOPE_STORE_TOKEN_FILE)", "FILE"},
    {"ca-file", 0, 0, G_OPTION_ARG_FILENAME, &ca_file,
     "for clickhouse+https: trust these certificates, not the system's (default: JESCOPE_STORE_CA_FILE)", "FILE"},
    {"service", 0, 0, G_OPTION_ARG_STRING, &service, "trace: only of this service", "NAME"},
    PART_ENTRIES("", now, "only ", ""),
    {"window", 0, 0, G_OPTION_ARG_STRING, &window, "use the latest dump of each process within this time before (5m)",
     "DURATION"},
    PART_ENTRIES("base-", before, "diff: before, ", "diff: before, "),
    {"sum", 0, 0, G_OPTION_ARG_NONE, &sums, "diff: compare all processes together instead of the mean of one", NULL},
    {"keep", 0, 0, G_OPTION_ARG_STRING, &keep, "expire: keep this long (30d)", "DURATION"},
    {"cluster", 0, 0, G_OPTION_ARG_STRING, &cluster, "schema: distributed tables over the servers of this cluster",
     "NAME"},
    {"replicated", 0, 0, G_OPTION_ARG_NONE, &replicated, "schema: replicated on the replicas of each shard", NULL},
    {"server-version", 0, 0, G_OPTION_ARG_STRING, &server_version,
     "schema: for this version of ClickHouse (default: of the store, or 18.16)", "VERSION"},
    REPORT_SHAPE_ENTRIES REPORT_SELECT_ENTRIES{0},
};

/* ---- options ---- */

static FleetTableForm
table_form(void)
{
    return arguments.json ? FLEET_TABLE_JSON : FLEET_TABLE_TEXT;
}

static const char *
given_or(const char *given, const char *variable)
{
    return given != NULL ? given : g_getenv(variable);
}

static const char *
store_of_user(void)
{
    return given_or(store_url, "JESCOPE_STORE");
}

/* The defaults are the store's own: JESCOPE_TOKEN_FILE has a token of another receiver, which the store must not get.
 */
static FleetStore *
open_store(GError **error)
{
    const ExportAccess access = {.token_file = given_or(token_file, "JESCOPE_STORE_TOKEN_FILE"),
                                 .ca_file = given_or(ca_file, "JESCOPE_STORE_CA_FILE")};
    if (store_of_user() != NULL)
        return fleet_store_new(store_of_user(), &access, error);
    g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                "which store? give --store=clickhouse://HOST:8123/DATABASE, or set JESCOPE_STORE");
    return NULL;
}

static gboolean
parse_range(const Part *given, FleetPart *part, const char *from, const char *to, GError **error)
{
    if (given->from == NULL && given->to == NULL)
        return TRUE;
    if (given->at != NULL || given->from == NULL) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "%s needs %s, and excludes a time with 'at'",
                    given->from == NULL ? to : from, given->from == NULL ? from : "no other");
        return FALSE;
    }
    part->to = g_get_real_time();
    if (!moment_parse(given->from, from, &part->from, error) ||
        (given->to != NULL && !moment_parse(given->to, to, &part->to, error)))
        return FALSE;
    if (part->from < part->to)
        return TRUE;
    g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "%s '%s' is not before %s '%s'", from, given->from, to,
                given->to != NULL ? given->to : "now");
    return FALSE;
}

static gboolean
parse_window(gint64 *us, GError **error)
{
    guint64 ms = WINDOW_MS;
    if (window != NULL && !duration_parse_up_to(window, "--window", WINDOW_MAX_DAYS, &ms, error))
        return FALSE;
    *us = (gint64)ms * 1000;
    return TRUE;
}

static gboolean
parse_now(const char *of, FleetPart *part, GError **error)
{
    *part = (FleetPart){.filter = {of, now.version, now.host, now.zone, (const char *const *)now.labels}};
    return parse_window(&part->window, error) && fleet_filter_check(&part->filter, error) &&
           (now.at == NULL || moment_parse(now.at, "--at", &part->at, error)) &&
           parse_range(&now, part, "--from", "--to", error);
}

/* Missing values are taken from NOW_PART. */
static gboolean
parse_before(const FleetPart *now_part, FleetPart *part, GError **error)
{
    *part = *now_part;
    FleetFilter *filter = &part->filter;
    filter->version = before.version != NULL ? before.version : filter->version;
    filter->host = before.host != NULL ? before.host : filter->host;
    filter->zone = before.zone != NULL ? before.zone : filter->zone;
    filter->labels = before.labels != NULL ? (const char *const *)before.labels : filter->labels;
    if (before.at != NULL || before.from != NULL)
        part->at = part->from = part->to = 0;
    if (!fleet_filter_check(filter, error) ||
        (before.at != NULL && !moment_parse(before.at, "--base-at", &part->at, error)) ||
        !parse_range(&before, part, "--base-from", "--base-to", error))
        return FALSE;
    const char *const given[] = {before.version, before.host, before.zone, before.at, before.from};
    for (gsize i = 0; i < G_N_ELEMENTS(given); i++)
        if (given[i] != NULL)
            return TRUE;
    if (before.labels != NULL)
        return TRUE;
    g_set_error(
        error, CLI_ERROR, CLI_ERROR_USAGE,
        "diff: with what? give --base-version, --base-host, --base-zone, --base-label, --base-at or --base-from");
    return FALSE;
}

/* A time range, by default the last day. */
static void
default_range(FleetPart *part, gint64 length)
{
    if (part->to != 0)
        return;
    part->to = part->at != 0 ? part->at : g_get_real_time();
    part->from = part->to - length;
    part->at = 0;
}

/* ---- tables ---- */

/* The state of SERVICE (NULL: all) at the requested time. */
static gboolean
take_census(FleetStore *store, const char *of, FleetPart *part, FleetCensus *census, GError **error)
{
    gint64 times[FLEET_MOMENTS];
    guint n;
    if (!parse_now(of, part, error) || !fleet_part_moments(store, part, times, &n, error))
        return FALSE;
    return fleet_census(store, part, times[n - 1], census, error);
}

static int
run_services(FleetStore *store, char **operands, GError **error)
{
    FleetPart part;
    g_auto(FleetCensus) census = {0};
    if (!take_census(store, NULL, &part, &census, error))
        return STATUS_FAILED;
    fleet_print_services(&census, table_form());
    return STATUS_DONE;
}

static int
run_top(FleetStore *store, char **operands, GError **error)
{
    static const char *const words[] = {
        [FLEET_SORT_BYTES] = "bytes", [FLEET_SORT_WASTE] = "waste", [FLEET_SORT_GROWTH] = "growth", NULL};
    FleetPart part;
    g_auto(FleetCensus) census = {0}, old = {0};
    guint sort = FLEET_SORT_BYTES;
    guint count = arguments.count > 0 ? (guint)arguments.count : arguments.count == 0 ? G_MAXUINT : TOP_COUNT;
    if (operands[0] != NULL && !words_find(words, "top", operands[0], &sort, error))
        return STATUS_USAGE;
    if (!take_census(store, NULL, &part, &census, error) ||
        !fleet_census(store, &part, part.to != 0 ? part.from : census.time - TOP_US, &old, error))
        return STATUS_FAILED;
    fleet_print_top(&census, &old, (FleetSort)sort, count, table_form());
    return STATUS_DONE;
}

static int
run_hosts(FleetStore *store, char **operands, GError **error)
{
    FleetPart part;
    g_auto(FleetCensus) census = {0};
    if (!take_census(store, operands[0], &part, &census, error))
        return STATUS_FAILED;
    fleet_print_hosts(&census, table_form());
    return STATUS_DONE;
}

static void
trace_clear(gpointer data)
{
    g_clear_pointer(&((FleetTrace *)data)->holdings, g_ptr_array_unref);
}

static int
run_trace(FleetStore *store, char **operands, GError **error)
{
    FleetPart part;
    gint64 times[FLEET_MOMENTS];
    guint n;
    guint found = 0;
    g_autoptr(GArray) traces = g_array_new(FALSE, TRUE, sizeof(FleetTrace));
    g_array_set_clear_func(traces, trace_clear);
    if (!parse_now(service, &part, error))
        return STATUS_FAILED;
    default_range(&part, RANGE_US);
    if (!fleet_part_moments(store, &part, times, &n, error))
        return STATUS_FAILED;
    for (guint i = 0; i < n; i++) {
        FleetTrace trace = {times[i], fleet_trace(store, &part, times[i], operands[0], error)};
        if (trace.holdings == NULL)
            return STATUS_FAILED;
        found += trace.holdings->len;
        g_array_append_val(traces, trace);
    }
    fleet_print_trace(traces, table_form());
    if (found == 0)
        command_say("fleet: no stack with a function called '%s' is in the store for that time", operands[0]);
    return found > 0 ? STATUS_DONE : STATUS_PARTIAL;
}

/* ---- reports ---- */

/* Fetched answers, to be reported. */
typedef struct {
    FleetTaken now, base;
    const char *of; /* service */
    gboolean has_base;
} Taken;

static void
taken_clear(Taken *taken)
{
    fleet_taken_clear(&taken->now);
    fleet_taken_clear(&taken->base);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Taken, taken_clear)

static char *
describe(const char *of, const FleetTaken *taken, guint i)
{
    gint64 time_us = g_array_index(taken->times, gint64, i);
    g_autoptr(GDateTime) time = g_date_time_new_from_unix_local(time_us / G_USEC_PER_SEC);
    g_autofree char *when = g_date_time_format(time, "%F %T");
    g_autofree char *moments = taken->moments > 1 && taken->documents->len == 1
                                   ? g_strdup_printf("mean of %u times to ", taken->moments)
                                   : g_strdup("");
    return g_strdup_printf("%s, %u process%s on %u host%s, %s%s", of, taken->processes,
                           taken->processes == 1 ? "" : "es", taken->hosts, taken->hosts == 1 ? "" : "s", moments,
                           when);
}

/* TAKEN keeps ownership of the descriptor. */
static GPtrArray *
begin_document(const Taken *taken, const FleetTaken *from, const SourceOptions *wanted)
{
    g_autofree char *name = describe(taken->of, from, 0);
    return source_begin_document(dup(g_array_index(from->documents, int, 0)), fleet_document_read, name,
                                 g_array_index(from->times, gint64, 0) / G_USEC_PER_SEC, wanted);
}

static gboolean
begin_taken(Comparison *comparison, gpointer data, const SourceOptions *wanted, GError **error)
{
    const Taken *taken = data;
    *comparison = (Comparison){.now_parts = begin_document(taken, &taken->now, wanted)};
    if (taken->has_base)
        comparison->base_parts = begin_document(taken, &taken->base, wanted);
    return TRUE;
}

static int
run_report(FleetStore *store, char **operands, GError **error)
{
    static const ReportDefaults defaults = {.sort = REPORT_SORT_FLAT, .seconds = STORE_SECONDS};
    FleetPart part;
    g_auto(Taken) taken = {.of = operands[0]};
    if (!parse_now(operands[0], &part, error) || !fleet_take(store, &part, FLEET_SUM, &taken.now, error))
        return STATUS_FAILED;
    return report_run_begun(&arguments, &defaults, begin_taken, &taken, error);
}

static int
run_diff(FleetStore *store, char **operands, GError **error)
{
    static const ReportDefaults defaults = {.sort = REPORT_SORT_CHANGE, .seconds = STORE_SECONDS};
    FleetScale scale = sums ? FLEET_SUM : FLEET_PER_PROCESS;
    FleetPart part, old;
    g_auto(Taken) taken = {.of = operands[0], .has_base = TRUE};
    if (!parse_now(operands[0], &part, error) || !parse_before(&part, &old, error) ||
        !fleet_take(store, &part, scale, &taken.now, error) || !fleet_take(store, &old, scale, &taken.base, error))
        return STATUS_FAILED;
    return report_run_begun(&arguments, &defaults, begin_taken, &taken, error);
}

/* ---- growth ---- */

typedef struct {
    const Taken *taken;
    const ReportOptions *options;
    GPtrArray *names;
} Growing;

static int
make_growth(gpointer data, GOutputStream *out, GError **error)
{
    const Growing *growing = data;
    const FleetTaken *taken = &growing->taken->now;
    g_autoptr(GPtrArray) profiles = g_ptr_array_new_with_free_func((GDestroyNotify)profile_free);
    g_autoptr(GArray) times = g_array_new(FALSE, FALSE, sizeof(gdouble));
    for (guint i = 0; i < taken->documents->len; i++) {
        gdouble time = (gdouble)g_array_index(taken->times, gint64, i) / G_USEC_PER_SEC;
        Profile *profile =
            fleet_document_read(g_array_index(taken->documents, int, i), growing->names->pdata[i], error);
        if (profile == NULL)
            return STATUS_FAILED;
        g_ptr_array_add(profiles, profile);
        g_array_append_val(times, time);
    }
    g_autoptr(Growth) growth =
        growth_new((const Profile *const *)(void *)profiles->pdata, (const gdouble *)(const void *)times->data,
                   profiles->len, growing->options->value, error);
    g_autoptr(Symbols) symbols = growth != NULL ? symbolize(growth_profile(growth), NULL, error) : NULL;
    if (symbols == NULL)
        return STATUS_FAILED;
    const TrendInput input = {
        .growth = growth,
        .symbols = symbols,
        .names = (const char *const *)(void *)growing->names->pdata,
        .times = (const gdouble *)(const void *)times->data,
        .n_profiles = profiles->len,
        .has_times = TRUE,
    };
    return trend_write(&input, growing->options, arguments.json ? TREND_JSON : TREND_TEXT, out, error) ? STATUS_DONE
                                                                                                       : STATUS_FAILED;
}

static int
run_growth(FleetStore *store, char **operands, GError **error)
{
    static const ReportDefaults defaults = {.sort = REPORT_SORT_FLAT};
    FleetPart part;
    g_auto(ReportPrepared) prepared = {0};
    g_auto(Taken) taken = {.of = operands[0]};
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    if (!report_prepare(&prepared, &arguments, &defaults, error) || !parse_now(operands[0], &part, error))
        return STATUS_USAGE;
    default_range(&part, RANGE_US);
    if (!fleet_take_series(store, &part, &taken.now, error))
        return STATUS_FAILED;
    for (guint i = 0; i < taken.now.documents->len; i++)
        g_ptr_array_add(names, describe(operands[0], &taken.now, i));
    Growing growing = {&taken, &prepared.options, names};
    const ReportWork work = {make_growth, &growing, taken.now.documents, arguments.output, STORE_SECONDS};
    return report_confined(&work, error);
}

/* ---- the administrator's ---- */

static int
run_schema(FleetStore *store, char **operands, GError **error)
{
    g_autofree char *version = g_strdup(server_version != NULL ? server_version : "18.16");
    if (store != NULL && server_version == NULL) {
        g_free(version);
        version = fleet_store_version(store, error);
        if (version == NULL)
            return STATUS_FAILED;
    }
    if (cluster != NULL && !sql_is_name(cluster)) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "--cluster: '%s' is not a name of letters, digits and '_'",
                    cluster);
        return STATUS_USAGE;
    }
    if (replicated && cluster == NULL) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "--replicated needs the --cluster whose tables are replicated");
        return STATUS_USAGE;
    }
    const ClickhouseSchema schema = {.database = store != NULL ? fleet_store_database(store) : "jescope",
                                     .dialect = clickhouse_dialect(version),
                                     .cluster = cluster,
                                     .replicated = replicated};
    g_auto(GStrv) statements = clickhouse_schema_statements(&schema);
    for (char **statement = statements; *statement != NULL; statement++)
        printf("%s;\n", *statement);
    return STATUS_DONE;
}

static int
run_expire(FleetStore *store, char **operands, GError **error)
{
    guint64 ms = (guint64)30 * DAY_MS;
    if (keep != NULL && !duration_parse_up_to(keep, "--keep", KEEP_MAX_DAYS, &ms, error))
        return STATUS_USAGE;
    g_autoptr(GDateTime) time = g_date_time_new_from_unix_utc(g_get_real_time() / G_USEC_PER_SEC - (gint64)(ms / 1000));
    g_autofree char *day = g_date_time_format(time, "%F");
    int n = fleet_expire(store, day, error);
    if (n < 0)
        return STATUS_FAILED;
    printf("%d day%s before %s dropped\n", n, n == 1 ? "" : "s", day);
    return STATUS_DONE;
}

/* ---- the command ---- */

typedef enum {
    STORE_NEEDED,
    STORE_OPTIONAL,
} StoreNeed;

typedef struct {
    const char *name;
    const char *operand; /* NULL: none */
    gboolean optional;
    StoreNeed need;
    int (*run)(FleetStore *store, char **operands, GError **error);
} Question;

static const Question questions[] = {
    {"services", NULL, FALSE, STORE_NEEDED, run_services},  {"top", "bytes|waste|growth", TRUE, STORE_NEEDED, run_top},
    {"report", "SERVICE", FALSE, STORE_NEEDED, run_report}, {"diff", "SERVICE", FALSE, STORE_NEEDED, run_diff},
    {"growth", "SERVICE", FALSE, STORE_NEEDED, run_growth}, {"hosts", "SERVICE", FALSE, STORE_NEEDED, run_hosts},
    {"trace", "FUNCTION", FALSE, STORE_NEEDED, run_trace},  {"schema", NULL, FALSE, STORE_OPTIONAL, run_schema},
    {"expire", NULL, FALSE, STORE_NEEDED, run_expire},
};

static const Question *
find_question(const char *word, GError **error)
{
    const char *words[G_N_ELEMENTS(questions) + 1] = {0};
    guint index;
    for (gsize i = 0; i < G_N_ELEMENTS(questions); i++)
        words[i] = questions[i].name;
    return words_find(words, "fleet", word, &index, error) ? &questions[index] : NULL;
}

static gboolean
check_operands(const Question *question, char **operands, GError **error)
{
    guint n = g_strv_length(operands);
    if (n > (question->operand != NULL) || (n == 0 && question->operand != NULL && !question->optional)) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "usage: jescope fleet %s%s%s%s --store=URL", question->name,
                    question->operand != NULL ? " " : "", question->operand != NULL ? question->operand : "",
                    question->optional ? "?" : "");
        return FALSE;
    }
    if (arguments.thread == NULL)
        return TRUE;
    g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "--thread: the store has no threads");
    return FALSE;
}

static int
run(char **operands, GError **error)
{
    const Question *question = find_question(operands[0], error);
    if (question == NULL || !check_operands(question, operands + 1, error))
        return STATUS_USAGE;
    if (question->need == STORE_OPTIONAL && store_of_user() == NULL)
        return question->run(NULL, operands + 1, error);
    g_autoptr(GError) cause = NULL;
    g_autoptr(FleetStore) store = open_store(&cause);
    int status = store != NULL ? question->run(store, operands + 1, &cause) : STATUS_FAILED;
    gboolean nothing = g_error_matches(cause, FLEET_ERROR, FLEET_ERROR_EMPTY);
    if (cause != NULL)
        g_propagate_error(error, g_steal_pointer(&cause));
    return nothing ? STATUS_PARTIAL : status;
}

static const Example examples[] = {
    {"jescope fleet services --store=clickhouse://clickhouse:8123/jescope", "list the services and what they hold"},
    {"jescope fleet report checkout -o checkout.svg", "draw what all processes of a service hold, as a flame graph"},
    {"jescope fleet diff checkout --version=1.3 --base-version=1.2", "show what a release changed, a process"},
    {"jescope fleet diff checkout --base-at=-24h", "show what has changed in a day"},
    {"jescope fleet growth checkout --from=-7d", "show what grows over all hosts"},
    {"jescope fleet hosts checkout", "find hosts whose processes differ from the others"},
    {"jescope fleet trace cache_insert --service=checkout", "show what one function has held in the last day"},
    {"jescope fleet schema --cluster=fleet --replicated", "print the tables for an administrator"},
    {0},
};

const Command cmd_fleet = {
    .name = "fleet",
    .synopsis = "QUERY [SERVICE|FUNCTION]",
    .summary = "query a store of many processes' dumps",
    .description =
        "Queries the ClickHouse database that 'jescope push' fills (docs/fleet.md). QUERY is one of:\n\n"
        "services: the services with their processes, hosts, versions and memory in use\n\n"
        "top [bytes|waste|growth]: the services with most memory in use, most waste, or most growth in the last "
        "hour\n\n"
        "report SERVICE: what holds the memory of all its processes, in any format of 'jescope report'\n\n"
        "diff SERVICE: the difference from the processes, or the time, that the --base-... options select; what "
        "these do not set is the same on both sides. Values are means per process; with --sum, totals\n\n"
        "growth SERVICE: functions and stacks that grow, from 12 points in time of the last day or of --from and "
        "--to\n\n"
        "hosts SERVICE: memory in use per process on each host, and the hosts that differ from the others\n\n"
        "trace FUNCTION: memory held by stacks with this function at 12 points in time of the last day, and by "
        "host\n\n"
        "schema: print the statements that create the tables\n\n"
        "expire: drop the days that are older than --keep\n\n"
        "The state of a process at a point in time is its latest dump within the --window before it; a range of "
        "--from and --to is the mean of 12 points in time. Every value is an estimate; the variances of processes "
        "add up, so --error, noise marks and the verdicts of growth refer to all processes together.\n\n"
        "The file of --token-file has the line 'USER PASSWORD'; this user needs only the right to read. Exits with "
        "status 3 if the store has no matching data.",
    .examples = examples,
    .options = options,
    .operand = OPERAND_NONE,
    .operands_min = 1,
    .operands_max = 2,
    .run = run,
};
