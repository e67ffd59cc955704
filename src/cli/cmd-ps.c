/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/document.h"
#include "cli/progress.h"
#include "cli/size.h"
#include "cli/state.h"
#include "cli/terminal.h"
#include "cli/words.h"

#include "confine/account.h"
#include "confine/aside.h"
#include "confine/keyed-hash.h"
#include "routes/unprofiled.h"
#include "target/agent.h"
#include "target/candidates.h"
#include "target/diagnosis.h"
#include "target/discovery.h"
#include "target/obstacle.h"
#include "text/printable.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    ANSWER_MS = 1000,
    QUICK_MS = 100,          /* slower answers are counted */
    SLOW_MS = 5000,          /* total time for slow answers of one user's agents */
    SLOW_OF_ALL_MS = 8000,   /* total for all agents, after which only quick answers are waited for */
    LOOK_S = 15,             /* total time for reading processes of other users */
    TOTAL_S = 30,            /* total time including queries of agents */
    USERS_NAMED = 8,         /* maximum number of users named in the note on omitted processes */
    COLUMNS_ELSEWHERE = 160, /* if stdout is not a terminal */
    COMMAND_MIN = 12,        /* columns reserved for the command before other columns are shown */
};

/* A process that uses jemalloc. */
typedef struct {
    Candidate *candidate;
    guint64 rss;
    ProcessFacts *facts;
    Target *target; /* NULL: not queried */
    gboolean asked;
    RouteStatus status; /* of a queried process */
    gboolean prepared;  /* not queried: its environment has prof:true */
    char *trouble;      /* why its agent cannot be queried */
    gboolean left_out;  /* there was no time for it */
} Row;

/* Answers of agents, in milliseconds. */
typedef struct {
    GHashTable *slow; /* of each user, the time that slow ones have taken */
    guint all;        /* of all users */
} Waits;

typedef enum {
    SORT_RSS,
    SORT_HELD,
    SORT_PID,
    SORT_NAME,
    SORT_USER,
} Sort;

static gboolean as_json;
static gboolean quiet;
static char *sort_word;

static const GOptionEntry options[] = {
    {"sort", 0, 0, G_OPTION_ARG_STRING, &sort_word, "sort by this (default: rss)", "rss|held|pid|name|user"},
    {"quiet", 'q', 0, G_OPTION_ARG_NONE, &quiet, "print only pids and names, without a heading", NULL},
    {"json", 0, 0, G_OPTION_ARG_NONE, &as_json, "print JSON", NULL},
    TERMINAL_COLOR_OPTION,
    {0},
};

static const char *const sort_words[] = {
    [SORT_RSS] = "rss", [SORT_HELD] = "held", [SORT_PID] = "pid", [SORT_NAME] = "name", [SORT_USER] = "user", NULL};

static void
row_free(gpointer data)
{
    Row *row = data;
    candidate_free(row->candidate);
    target_free(row->target);
    process_facts_unref(row->facts);
    g_free(row->trouble);
    g_free(row);
}

/* A target that does not answer must not delay the list. */
static void
ask_agent(Row *row, guint ms)
{
    const Process *process = &row->candidate->process;
    AgentAddress address = {
        .path = row->candidate->socket, .process = process, .deadlines = {.connect = ms, .answer = ms, .output = ms}};
    g_autoptr(GError) error = NULL;
    if (process->state == 'T' || process->state == 't') {
        row->trouble = g_strdup("stopped");
        return;
    }
    row->target = agent_open(&address, &error);
    row->asked = row->target != NULL && state_read(row->target, &row->status, &error);
    if (row->asked)
        return;
    /* Left by an agent that no longer listens: commands work without it. */
    if (g_error_matches(error, TARGET_ERROR, OUTCOME_NO_AGENT) && obstacle_may_attach(process, NULL))
        row->candidate->reach = REACH_ATTACH;
    else
        row->trouble = g_strdup(error->message);
}

/* The same for many targets of one user, or of many users. */
static void
ask(Row *row, Waits *waits)
{
    const gpointer user = GUINT_TO_POINTER(account_of(row->candidate->process.uids[1]));
    const guint before = GPOINTER_TO_UINT(g_hash_table_lookup(waits->slow, user));
    if (before >= SLOW_MS) {
        row->trouble = g_strdup("not asked: other agents of its user do not answer in time");
        return;
    }
    if (aside_has_ended()) {
        row->left_out = TRUE;
        row->trouble = g_strdup("not asked: agents of other users took all the time");
        return;
    }
    const gint64 begin = g_get_monotonic_time();
    ask_agent(row, waits->all < SLOW_OF_ALL_MS ? ANSWER_MS : QUICK_MS);
    const guint ms = (guint)((g_get_monotonic_time() - begin) / 1000);
    if (ms <= QUICK_MS)
        return;
    g_hash_table_insert(waits->slow, user, GUINT_TO_POINTER(before + ms));
    waits->all += ms;
}

/* Takes over CANDIDATE. NULL: it does not use jemalloc, may not be examined, or has ended. */
static Row *
row_of(Candidate *taken, Waits *waits)
{
    g_autoptr(Candidate) candidate = taken;
    const Process *process = &candidate->process;
    if (candidate->reach == REACH_NO_JEMALLOC || candidate->hidden)
        return NULL;
    Row *row = g_new0(Row, 1);
    row->candidate = g_steal_pointer(&candidate);
    row->rss = process_rss(process->pid);
    row->facts = process_facts_new(process);
    row->left_out = row->candidate->left_out;
    if (row->candidate->reach == REACH_AGENT)
        ask(row, waits);
    else
        row->prepared = !row->left_out && diagnosis_prepared(process->pid);
    if (row->asked || process_alive(process->pid, process->start_time))
        return row;
    row_free(row);
    return NULL;
}

static guint64
held_of(const Row *row)
{
    guint64 bytes = row->asked ? row->status.figures[STATUS_HELD] : STATUS_UNKNOWN;
    return bytes == STATUS_UNKNOWN ? 0 : bytes;
}

static gint
compare_numbers(guint64 left, guint64 right)
{
    return (left > right) - (left < right);
}

static gint
compare_rows(gconstpointer a, gconstpointer b, gpointer data)
{
    const Row *left = *(const Row *const *)a;
    const Row *right = *(const Row *const *)b;
    const Process *one = &left->candidate->process;
    const Process *other = &right->candidate->process;
    gint order = 0;
    switch (*(const Sort *)data) {
    case SORT_RSS:
        order = compare_numbers(right->rss, left->rss);
        break;
    case SORT_HELD:
        order = compare_numbers(held_of(right), held_of(left));
        break;
    case SORT_NAME:
        order = strcmp(one->name, other->name);
        break;
    case SORT_USER:
        order = compare_numbers(one->uids[1], other->uids[1]);
        break;
    case SORT_PID:
        break;
    }
    return order != 0 ? order : compare_numbers((guint64)one->pid, (guint64)other->pid);
}

static GPtrArray *
collect_rows(Sort sort, ProcessListGaps *gaps)
{
    g_autoptr(Progress) progress = progress_begin("looking at processes");
    GPtrArray *rows = g_ptr_array_new_with_free_func(row_free);
    g_autoptr(GHashTable) slow = g_hash_table_new(NULL, NULL);
    Waits waits = {.slow = slow};
    const gint64 begin = g_get_monotonic_time();
    g_autoptr(GArray) processes = process_list(gaps);
    for (guint i = processes->len; i-- > 0;) {
        const Process *process = &g_array_index(processes, Process, i);
        if (!process_is_ours(process) || process_has_ended(process))
            g_array_remove_index(processes, i);
    }
    aside_set_end(begin + LOOK_S * G_USEC_PER_SEC);
    g_autoptr(GPtrArray) candidates = candidates_look(processes);
    g_ptr_array_set_free_func(candidates, NULL);
    aside_set_end(begin + TOTAL_S * G_USEC_PER_SEC);
    for (guint i = 0; i < candidates->len; i++) {
        progress_share(progress, i, candidates->len);
        Row *row = row_of(candidates->pdata[i], &waits);
        if (row != NULL)
            g_ptr_array_add(rows, row);
    }
    g_ptr_array_sort_with_data(rows, compare_rows, &sort);
    return rows;
}

/* The way to reach it, in one word. */
static const char *
reach_word(const Row *row)
{
    if (row->asked)
        return target_via_name(TARGET_VIA_AGENT);
    if (row->candidate->reach == REACH_ATTACH)
        return target_via_name(TARGET_VIA_ATTACH);
    return g_strcmp0(row->trouble, "stopped") == 0 ? "stopped" : "unreachable";
}

/* "no": only after a restart. */
static const char *
profiling_word(const Row *row)
{
    if (row->asked)
        return unprofiled_applies(&row->status.hello) ? "no" : state_profiling_word(&row->status);
    return row->prepared ? "likely" : "unknown";
}

static const char *
trouble_of(const Row *row)
{
    return row->trouble != NULL ? row->trouble : row->candidate->obstacle;
}

static json_t *
row_json(const Row *row)
{
    const Process *process = &row->candidate->process;
    RouteStatus status = row->status;
    if (!row->asked) {
        status_init(&status);
        status.pid = process->pid;
        status.name = process->name;
        status.uid = process->uids[1];
    }
    state_set_facts(&status, row->facts);
    json_t *object = state_json(&status);
    json_t *more =
        json_pack("{s:i, s:I, s:s, s:s, s:s?}", "parent", (int)process->parent, "rss", (json_int_t)row->rss, "reach",
                  reach_word(row), "profiling_state", profiling_word(row), "trouble", trouble_of(row));
    json_object_update(object, more);
    json_decref(more);
    return object;
}

static void
print_json(GPtrArray *rows)
{
    json_t *list = json_array();
    for (guint i = 0; i < rows->len; i++)
        json_array_append_new(list, row_json(rows->pdata[i]));
    document_print("jescope-ps", json_pack("{s:o}", "processes", list));
}

static char *
cell_pid(const Row *row)
{
    return g_strdup_printf("%d", (int)row->candidate->process.pid);
}

static char *
cell_user(const Row *row)
{
    return g_strdup(row->facts->user);
}

static char *
cell_parent(const Row *row)
{
    return g_strdup_printf("%d", (int)row->candidate->process.parent);
}

static char *
cell_rss(const Row *row)
{
    return size_format(row->rss);
}

static char *
cell_memory(const Row *row, StatusFigure figure)
{
    guint64 bytes = row->asked ? row->status.figures[figure] : STATUS_UNKNOWN;
    return bytes == STATUS_UNKNOWN ? g_strdup("-") : size_format(bytes);
}

static char *
cell_held(const Row *row)
{
    return cell_memory(row, STATUS_HELD);
}

static char *
cell_resident(const Row *row)
{
    return cell_memory(row, STATUS_RESIDENT);
}

/* "5.3.0-0-g54eaed1d8b56b1aa528be3bdd1877e59c56fa90c" is shortened to the number. */
static char *
cell_version(const Row *row)
{
    const char *version = row->asked ? row->status.hello.jemalloc_version : "";
    return version[0] != '\0' ? g_strndup(version, strcspn(version, "-")) : g_strdup("-");
}

/* Whether jescope's own sampler is in use. */
static gboolean
is_sampled(const Row *row)
{
    return row->asked && (row->status.hello.flags & WIRE_FLAG_SAMPLER_SERVES) != 0;
}

static char *
cell_profiling(const Row *row)
{
    return g_strconcat(profiling_word(row), is_sampled(row) ? "*" : "", NULL);
}

static char *
cell_reach(const Row *row)
{
    return g_strdup(reach_word(row));
}

typedef struct {
    const char *title;
    guint width;
    gboolean number; /* aligned right */
    guint rank;      /* columns with a higher rank are shown on wider terminals only */
    char *(*cell)(const Row *row);
} Column;

static const Column columns[] = {
    {"PID", 7, TRUE, 0, cell_pid},           {"USER", 8, FALSE, 2, cell_user},
    {"PARENT", 7, TRUE, 3, cell_parent},     {"RSS", 8, TRUE, 0, cell_rss},
    {"HELD", 8, TRUE, 1, cell_held},         {"RESIDENT", 9, TRUE, 5, cell_resident},
    {"JEMALLOC", 8, FALSE, 4, cell_version}, {"PROFILE", 7, FALSE, 0, cell_profiling},
    {"REACH", 11, FALSE, 1, cell_reach},
};

enum {
    RANKS = 6,
};

static guint
width_of_rank(guint rank)
{
    guint width = 0;
    for (gsize i = 0; i < G_N_ELEMENTS(columns); i++)
        width += columns[i].rank <= rank ? columns[i].width + 1 : 0;
    return width;
}

/* The highest rank that leaves room for the command. */
static guint
rank_for(guint width)
{
    guint rank = 0;
    while (rank + 1 < RANKS && width_of_rank(rank + 1) + COMMAND_MIN <= width)
        rank++;
    return rank;
}

static void
append_cell(GString *line, const Column *column, const char *text)
{
    g_autofree char *field = text_field(text, column->width);
    if (column->number && text_columns(text) <= column->width)
        g_string_append_printf(line, "%*s ", (int)column->width, text);
    else
        g_string_append_printf(line, "%s ", field);
}

/* ROW NULL: the headings. */
static char *
format_row(const Row *row, guint rank, guint width)
{
    g_autoptr(GString) line = g_string_new(NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(columns); i++) {
        g_autofree char *cell = row == NULL ? g_strdup(columns[i].title) : columns[i].cell(row);
        if (columns[i].rank <= rank)
            append_cell(line, &columns[i], cell);
    }
    if (row == NULL)
        g_string_append(line, "COMMAND");
    else
        g_string_append(line, row->facts->arguments[0] != '\0' ? row->facts->arguments : row->candidate->process.name);
    return text_cut(line->str, width);
}

static Style
style_of(const Row *row)
{
    if (row->asked && (row->status.hello.flags & WIRE_FLAG_PROF_ACTIVE) != 0)
        return STYLE_STRONG;
    return row->asked || row->candidate->reach == REACH_ATTACH ? STYLE_PLAIN : STYLE_TROUBLE;
}

static void
print_line(const char *line, Style style)
{
    if (style != STYLE_PLAIN && terminal_colored(STDOUT_FILENO))
        printf("%s%s%s\n", text_style(style), line, text_style(STYLE_PLAIN));
    else
        puts(line);
}

/* A note of one line for any number of processes. */
static void
explain_left_out(GPtrArray *rows, const ProcessListGaps *gaps)
{
    g_autoptr(GHashTable) users = g_hash_table_new(keyed_hash_string, g_str_equal);
    g_autoptr(GString) names = g_string_new(NULL);
    guint n = 0;
    for (guint i = 0; i < rows->len; i++) {
        const Row *row = rows->pdata[i];
        if (!row->left_out)
            continue;
        n++;
        if (g_hash_table_add(users, row->facts->user) && g_hash_table_size(users) <= USERS_NAMED)
            g_string_append_printf(names, "%s%s", names->len > 0 ? ", " : "", row->facts->user);
    }
    if (g_hash_table_size(users) > USERS_NAMED)
        g_string_append_printf(names, " and %u more", g_hash_table_size(users) - USERS_NAMED);
    if (n > 0)
        command_say(
            "%u processes were left out, since others did not answer in time; their users: %s; 'jescope status PID' "
            "examines one",
            n, names->str);
    if (gaps->slow + gaps->unread > 0)
        command_say("%u processes in user namespaces were left out: too many, or with too many groups, to read in time",
                    gaps->slow + gaps->unread);
}

/* Explanations of words and of unreachable processes, for a terminal. */
static void
explain(GPtrArray *rows)
{
    gboolean no = FALSE;
    gboolean unknown = FALSE;
    gboolean sampled = FALSE;
    for (guint i = 0; i < rows->len; i++) {
        const Row *row = rows->pdata[i];
        no |= strcmp(profiling_word(row), "no") == 0;
        sampled |= is_sampled(row);
        unknown |= !row->asked && row->candidate->reach == REACH_ATTACH;
        if (trouble_of(row) != NULL && !row->left_out && strcmp(reach_word(row), "unreachable") == 0)
            command_say("%s", trouble_of(row));
    }
    if (!isatty(STDOUT_FILENO))
        return;
    if (no)
        fputs("\nprofiling no: started without prof:true; 'jescope status PID' says what to change.\n", stderr);
    if (sampled)
        fputs(
            "\nprofiling *: by jescope's own sampler, since jemalloc cannot profile; 'jescope status PID' says why.\n",
            stderr);
    if (unknown)
        fputs("\nprofiling unknown, likely: not checked; 'jescope status PID' checks it, which stops it\nbriefly.\n",
              stderr);
}

static void
print_table(GPtrArray *rows)
{
    if (rows->len == 0) {
        fputs("jescope: no process of yours uses jemalloc; start one with 'jescope run'\n", stderr);
        return;
    }
    guint width = terminal_columns(STDOUT_FILENO, COLUMNS_ELSEWHERE);
    guint rank = rank_for(width);
    g_autofree char *headings = format_row(NULL, rank, width);
    print_line(headings, STYLE_HEADING);
    for (guint i = 0; i < rows->len; i++) {
        g_autofree char *line = format_row(rows->pdata[i], rank, width);
        print_line(line, style_of(rows->pdata[i]));
    }
    explain(rows);
}

static void
print_names(GPtrArray *rows)
{
    for (guint i = 0; i < rows->len; i++) {
        const Process *process = &((const Row *)rows->pdata[i])->candidate->process;
        printf("%d %s\n", (int)process->pid, process->name);
    }
}

static int
run(char **operands, GError **error)
{
    guint sort = SORT_RSS;
    if (!terminal_check_color(error) ||
        (sort_word != NULL && !words_find(sort_words, "--sort", sort_word, &sort, error)))
        return STATUS_USAGE;
    discovery_remove_dead();
    ProcessListGaps gaps;
    g_autoptr(GPtrArray) rows = collect_rows((Sort)sort, &gaps);
    if (as_json)
        print_json(rows);
    else if (quiet)
        print_names(rows);
    else
        print_table(rows);
    explain_left_out(rows, &gaps);
    return STATUS_DONE;
}

static const Example examples[] = {
    {"jescope ps", "list the processes that use jemalloc, the largest first"},
    {"jescope ps --json", "the same for a program"},
    {0},
};

const Command cmd_ps = {
    .name = "ps",
    .synopsis = "",
    .summary = "list the processes that use jemalloc",
    .description =
        "Lists your processes that use jemalloc (as root, those of every user), also those in containers, the largest "
        "first. A narrow terminal shows fewer columns.\n"
        "\n"
        "PROFILE is active, ready ('jescope record' works) or no (the process was not started with prof:true, and "
        "jescope's own sampler cannot be used in it: only statistics are available until it is restarted under "
        "'jescope run' or with MALLOC_CONF=prof:true,prof_active:false). A star says that jescope's own sampler takes "
        "the place of jemalloc's profiler, since jemalloc was built or started without; the object that --json prints "
        "says why. Processes without an agent are not stopped for this list: likely means that prof:true is in their "
        "environment; for unknown, use 'jescope status'.\n"
        "\n"
        "RSS is what the kernel counts, HELD what the program holds of jemalloc's memory (jescope-stats(1)). REACH is "
        "agent, attach (no agent; commands briefly stop one of its threads), stopped or unreachable. Why something is "
        "unreachable is printed to stderr.\n"
        "\n"
        "Where processes do not answer, the list is printed after 30 seconds all the same, and a line on stderr says "
        "how "
        "many processes were left out, and of which users.",
    .examples = examples,
    .options = options,
    .operand = OPERAND_NONE,
    .run = run,
};
