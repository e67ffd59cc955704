/* SPDX-License-Identifier: Apache-2.0 */
#include "rules/file.h"

#include "rules/action.h"
#include "rules/condition.h"

#include "routes/values.h"
#include "text/suggest.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#define BYTE_ORDER_MARK "\xef\xbb\xbf" /* of UTF-8, which some editors write */

enum { DAYS_MAX = 365 };

/* A rule that is being read: lines [first, first + n) of its file; the first is "[NAME]". */
typedef struct {
    const char *file;
    char **lines;
    guint first, n;
    GKeyFile *keys;
    Rule *rule;
} Section;

/* A key of a rule. PARSE stores its value in RULE, or returns FALSE with a sentence in *WHY; MEMBER tells a parser for
 * several keys where to store it. */
typedef struct KeyRow KeyRow;
struct KeyRow {
    const char *name;
    gboolean (*parse)(const KeyRow *row, const char *value, Rule *rule, char **why);
    gsize member;
};

/* ---- values ---- */

static gboolean
parse_filter(const KeyRow *row, const char *value, Rule *rule, char **why)
{
    if (value[0] == '\0') {
        *why = g_strdup("the pattern is empty; write one such as 'redis-*', or leave the key out");
        return FALSE;
    }
    rule->filters[row->member] = g_pattern_spec_new(value);
    rule->patterns[row->member] = g_strdup(value);
    return TRUE;
}

/* The labels that a process has automatically (export/labels.h), and its user. */
static const char *const label_names[] = {"user", "unit", "container", "pod", NULL};

/* Parses "NAME=PATTERN"; FALSE if it is invalid. */
static gboolean
parse_label(const char *text, RuleLabel *label)
{
    const char *equals = strchr(text, '=');
    const gsize length = equals != NULL ? (gsize)(equals - text) : 0;
    g_autofree char *name = g_strndup(text, length);
    if (!g_strv_contains(label_names, name) || equals[1] == '\0')
        return FALSE;
    *label = (RuleLabel){.name = g_steal_pointer(&name), .pattern = g_pattern_spec_new(equals + 1)};
    return TRUE;
}

static gboolean
parse_labels(const KeyRow *row, const char *value, Rule *rule, char **why)
{
    enum { LABELS_MAX = 32 };
    g_auto(GStrv) words = g_strsplit(value, ";", -1);
    for (char **word = words; *word != NULL; word++) {
        RuleLabel label;
        if (g_strstrip(*word)[0] == '\0')
            continue;
        if (rule->labels->len == LABELS_MAX || !parse_label(*word, &label)) {
            *why = rule->labels->len == LABELS_MAX
                       ? g_strdup_printf("more than %d labels", LABELS_MAX)
                       : g_strdup_printf("'%s' is not NAME=PATTERN, where NAME is user, unit, container or pod; write "
                                         "one such as 'pod=7d0c*'",
                                         *word);
            return FALSE;
        }
        g_array_append_val(rule->labels, label);
    }
    if (rule->labels->len > 0)
        return TRUE;
    *why = g_strdup("no label; write one such as 'pod=7d0c*', or leave the key out");
    return FALSE;
}

static gboolean
parse_when(const KeyRow *row, const char *value, Rule *rule, char **why)
{
    return condition_parse(value, rule->conditions, why);
}

static gboolean
parse_time(const KeyRow *row, const char *value, Rule *rule, char **why)
{
    gdouble ms;
    if (value_duration(value, &ms) && ms <= DAYS_MAX * 86400e3) {
        G_STRUCT_MEMBER(gint64, rule, row->member) = (gint64)(ms * 1000);
        return TRUE;
    }
    *why = g_strdup_printf("'%s' is not a time up to %dd; write one like 90s, 5m or 1h30m", value, DAYS_MAX);
    return FALSE;
}

static gboolean
parse_time_limit(const KeyRow *row, const char *value, Rule *rule, char **why)
{
    enum { LIMIT_MAX_S = 3600 };
    if (!parse_time(row, value, rule, why))
        return FALSE;
    if (rule->time_limit_us >= G_USEC_PER_SEC && rule->time_limit_us <= LIMIT_MAX_S * (gint64)G_USEC_PER_SEC)
        return TRUE;
    *why = g_strdup_printf("'%s' is out of range; a command or a request may take 1s to 1h", value);
    return FALSE;
}

static gboolean
parse_window(const KeyRow *row, const char *value, Rule *rule, char **why)
{
    if (!parse_time(row, value, rule, why))
        return FALSE;
    if (rule->window_us > 0)
        return TRUE;
    *why = g_strdup("a window of 0 counts nothing; write one like 1d");
    return FALSE;
}

static gboolean
parse_count(const KeyRow *row, const char *value, Rule *rule, char **why)
{
    enum { COUNT_MAX = 1000 };
    uint64_t count;
    if (value_unsigned(value, &count) && count >= 1 && count <= COUNT_MAX) {
        G_STRUCT_MEMBER(guint, rule, row->member) = (guint)count;
        return TRUE;
    }
    *why = g_strdup_printf("'%s' is not a number from 1 to %d", value, COUNT_MAX);
    return FALSE;
}

static gboolean
parse_disk(const KeyRow *row, const char *value, Rule *rule, char **why)
{
    uint64_t bytes;
    if (value_size(value, &bytes) && bytes > 0) {
        rule->disk = bytes;
        return TRUE;
    }
    *why = g_strdup_printf("'%s' is not a size; write one like 1GiB", value);
    return FALSE;
}

static gboolean
parse_spare(const KeyRow *row, const char *value, Rule *rule, char **why)
{
    gdouble share;
    if (amount_parse(value, (AmountUnit){.kind = AMOUNT_SHARE}, &share) && share >= 0 && share < 1) {
        rule->spare = share;
        return TRUE;
    }
    *why = g_strdup_printf("'%s' is not a share of the machine's memory; write one like 5%%, or 0%% for any", value);
    return FALSE;
}

static gboolean
parse_run_as(const KeyRow *row, const char *value, Rule *rule, char **why)
{
    if (value[0] == '\0') {
        *why = g_strdup("the name of a user is missing");
        return FALSE;
    }
    rule->run_as = g_strdup(value);
    return TRUE;
}

/* Whether the rule pushes a dump before an action has made one. */
static gboolean
pushes_nothing(const Rule *rule)
{
    for (guint i = 0; i < rule->actions->len; i++) {
        const RuleActionKind kind = g_array_index(rule->actions, RuleAction, i).kind;
        if (kind == RULE_DUMP || kind == RULE_RECORD)
            return FALSE;
        if (kind == RULE_PUSH)
            return TRUE;
    }
    return FALSE;
}

static gboolean
parse_do(const KeyRow *row, const char *value, Rule *rule, char **why)
{
    g_auto(GStrv) words = g_strsplit(value, ";", -1);
    for (char **word = words; *word != NULL; word++) {
        RuleAction action;
        if (g_strstrip(*word)[0] == '\0')
            continue;
        if (rule->actions->len == ACTIONS_MAX) {
            *why = g_strdup_printf("more than %d actions; write another rule", ACTIONS_MAX);
            return FALSE;
        }
        if (!action_parse(*word, &action, why))
            return FALSE;
        g_array_append_val(rule->actions, action);
    }
    if (rule->actions->len == 0)
        *why = g_strdup("no action; write one such as 'dump'");
    else if (pushes_nothing(rule))
        *why = g_strdup("'push' sends a dump; put 'dump' or 'record 30s' before it");
    return *why == NULL;
}

/* Parsed after all other keys: its unit is that of the first condition, which may follow it in the file. */
static gboolean
parse_again(const KeyRow *row, const char *value, Rule *rule, char **why)
{
    const RuleCondition *first = rule->conditions->len > 0 ? &g_array_index(rule->conditions, RuleCondition, 0) : NULL;
    if (first == NULL)
        return TRUE; /* a missing or invalid 'when' is reported elsewhere */
    if (first->side == RULE_IS) {
        *why = g_strdup("grows() has no amount; put a condition with 'above' or 'below' first");
        return FALSE;
    }
    if (amount_parse(value, first->quantity.unit, &rule->again) && rule->again > 0)
        return TRUE;
    *why = g_strdup_printf("'%s' is not an amount of '%s' above 0; write one like %s", value, first->quantity.text,
                           amount_example(first->quantity.unit));
    return FALSE;
}

static const KeyRow rows[] = {
    {"process", parse_filter, RULE_FILTER_PROCESS},
    {"arguments", parse_filter, RULE_FILTER_ARGUMENTS},
    {"user", parse_filter, RULE_FILTER_USER},
    {"unit", parse_filter, RULE_FILTER_UNIT},
    {"cgroup", parse_filter, RULE_FILTER_CGROUP},
    {"series", parse_filter, RULE_FILTER_SERIES},
    {"label", parse_labels, 0},
    {"when", parse_when, 0},
    {"for", parse_time, offsetof(Rule, for_us)},
    {"warm-up", parse_time, offsetof(Rule, warm_up_us)},
    {"do", parse_do, 0},
    {"time-limit", parse_time_limit, offsetof(Rule, time_limit_us)},
    {"run-as", parse_run_as, 0},
    {"count", parse_count, offsetof(Rule, count)},
    {"user-count", parse_count, offsetof(Rule, user_count)},
    {"window", parse_window, offsetof(Rule, window_us)},
    {"cooldown", parse_time, offsetof(Rule, cooldown_us)},
    {"disk", parse_disk, 0},
    {"spare", parse_spare, 0},
    {"again", parse_again, 0},
};

static const KeyRow *
find_row(const char *key)
{
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
        if (strcmp(rows[i].name, key) == 0)
            return &rows[i];
    return NULL;
}

/* ---- a rule ---- */

/* The key of LINE, to be freed; NULL: a comment, or an empty line. A line without '=', such as "[NAME]", is a key as a
 * whole. */
static char *
key_of(const char *line)
{
    g_autofree char *key = g_strstrip(g_strndup(line, strcspn(line, "=")));
    return key[0] == '\0' && strchr(line, '=') == NULL ? NULL : key[0] == '#' ? NULL : g_steal_pointer(&key);
}

/* The index of KEY's first line in the section, from BEGIN on; n if there is none. */
static guint
find_line(const Section *section, const char *key, guint begin)
{
    guint i = begin;
    for (; i < section->n; i++) {
        g_autofree char *found = key_of(section->lines[section->first + i]);
        if (g_strcmp0(found, key) == 0)
            break;
    }
    return i;
}

static char *
describe_problem(const Section *section, guint line, const char *key, const char *why)
{
    return g_strdup_printf("%s:%u: [%s]%s%s: %s", section->file, section->first + line + 1, section->rule->name,
                           key != NULL ? " " : "", key != NULL ? key : "", why);
}

static char *
describe_unknown_key(const char *key)
{
    const char *names[G_N_ELEMENTS(rows) + 1] = {0};
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
        names[i] = rows[i].name;
    const char *near = suggest(key, names);
    if (near != NULL)
        return g_strdup_printf("unknown key; did you mean '%s'?", near);
    g_autofree char *list = g_strjoinv(", ", (char **)(guintptr)names);
    return g_strdup_printf("unknown key; the keys are %s", list);
}

/* Checks that each line is a comment or a known key that occurs once. Returns a problem, to be freed, or NULL. */
static char *
check_lines(const Section *section)
{
    for (guint i = 1; i < section->n; i++) {
        const char *line = section->lines[section->first + i];
        g_autofree char *key = key_of(line);
        g_autofree char *why = NULL;
        if (key == NULL)
            continue;
        if (strchr(line, '=') == NULL)
            why = g_strdup("expected KEY = VALUE");
        else if (find_row(key) == NULL)
            why = describe_unknown_key(key);
        else if (find_line(section, key, 1) < i)
            why =
                g_strdup_printf("given again; it is also in line %u", section->first + find_line(section, key, 1) + 1);
        if (why != NULL)
            return describe_problem(section, i, key, why);
    }
    return NULL;
}

static char *
take_value(Section *section, const KeyRow *row)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *why = NULL;
    guint line = find_line(section, row->name, 1);
    if (line == section->n)
        return NULL;
    g_autofree char *value = g_key_file_get_string(section->keys, section->rule->name, row->name, &error);
    if (value != NULL && row->parse(row, g_strstrip(value), section->rule, &why))
        return NULL;
    return describe_problem(section, line, row->name, why != NULL ? why : error->message);
}

static char *
check_whole(const Section *section)
{
    static const char *const needed[] = {"when", "do"};
    for (gsize i = 0; i < G_N_ELEMENTS(needed); i++)
        if (find_line(section, needed[i], 1) == section->n) {
            g_autofree char *why = g_strdup_printf("the key '%s' is missing", needed[i]);
            return describe_problem(section, 0, NULL, why);
        }
    return NULL;
}

/* The lines of the section, without comments and empty lines, as one text, to be freed. */
static char *
section_text(const Section *section)
{
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < section->n; i++) {
        g_autofree char *key = key_of(section->lines[section->first + i]);
        if (key != NULL)
            g_string_append_printf(text, "%s\n", section->lines[section->first + i]);
    }
    return g_string_free(text, FALSE);
}

/* Reads section->rule. Returns a problem, to be freed, or NULL. */
static char *
read_section(Section *section)
{
    g_autoptr(GError) error = NULL;
    char *problem = check_lines(section);
    if (problem != NULL)
        return problem;
    section->rule->text = section_text(section);
    section->rule->place = g_strdup_printf("%s:%u", section->file, section->first + 1);
    if (!g_key_file_load_from_data(section->keys, section->rule->text, (gsize)-1, G_KEY_FILE_NONE, &error))
        return describe_problem(section, 0, NULL, error->message);
    for (gsize i = 0; i < G_N_ELEMENTS(rows) && problem == NULL; i++)
        problem = take_value(section, &rows[i]);
    return problem != NULL ? problem : check_whole(section);
}

/* ---- the file ---- */

/* The name in "[NAME]", to be freed; "" if the bracket is not closed; NULL for any other line. */
static char *
name_of(const char *line)
{
    g_autofree char *stripped = g_strstrip(g_strdup(line));
    gsize length = strlen(stripped);
    if (stripped[0] != '[')
        return NULL;
    return stripped[length - 1] == ']' ? g_strndup(stripped + 1, length - 2) : g_strdup("");
}

static gboolean
is_good_name(const char *name)
{
    gsize length = strlen(name);
    for (gsize i = 0; i < length; i++)
        if (!g_ascii_isalnum(name[i]) && strchr("-_.", name[i]) == NULL)
            return FALSE;
    return length > 0 && length <= 64;
}

static const Rule *
find_rule(const GPtrArray *rules, const char *name)
{
    for (guint i = 0; i < rules->len; i++)
        if (strcmp(((const Rule *)rules->pdata[i])->name, name) == 0)
            return rules->pdata[i];
    return NULL;
}

static void
take_section(Section *section, const char *name, GPtrArray *rules, GPtrArray *problems)
{
    g_autoptr(Rule) rule = rule_new(name);
    g_autoptr(GKeyFile) keys = g_key_file_new();
    const Rule *same = find_rule(rules, name);
    char *problem = NULL;
    section->rule = rule;
    section->keys = keys;
    if (!is_good_name(name))
        problem = describe_problem(section, 0, NULL, "a rule's name has 1 to 64 letters, digits, '-', '_' and '.'");
    else if (same != NULL)
        problem = g_strdup_printf("%s:%u: [%s]: the name is taken by the rule at %s; give it another", section->file,
                                  section->first + 1, name, same->place);
    else if (rules->len == RULES_MAX)
        problem = describe_problem(section, 0, NULL, "there are too many rules");
    else
        problem = read_section(section);
    if (problem == NULL)
        g_ptr_array_add(rules, g_steal_pointer(&rule));
    else
        g_ptr_array_add(problems, problem);
}

/* Reports the first line before the first rule that is not a comment. */
static void
check_head(const char *file, char **lines, guint n, GPtrArray *problems)
{
    for (guint i = 0; i < n; i++) {
        g_autofree char *key = key_of(lines[i]);
        if (key == NULL)
            continue;
        g_ptr_array_add(problems, g_strdup_printf("%s:%u: '%s' stands before the first rule; begin one with [NAME]",
                                                  file, i + 1, key));
        return;
    }
}

static guint
next_section(char **lines, guint from)
{
    for (; lines[from] != NULL; from++) {
        g_autofree char *name = name_of(lines[from]);
        if (name != NULL)
            break;
    }
    return from;
}

GPtrArray *
rules_new(void)
{
    return g_ptr_array_new_with_free_func((GDestroyNotify)rule_unref);
}

char *
rules_file_read(int fd, gsize *length)
{
    enum { MOST = RULES_FILE_MAX + 1 };
    g_autofree char *text = g_malloc(MOST);
    ssize_t n = 1;
    *length = 0;
    while (*length < MOST && n != 0) {
        n = read(fd, text + *length, MOST - *length);
        if (n < 0 && errno != EINTR)
            return NULL;
        *length += (gsize)MAX(n, 0);
    }
    return g_steal_pointer(&text);
}

void
rules_file_parse(const char *file, const char *text, gsize length, GPtrArray *rules, GPtrArray *problems)
{
    if (length > RULES_FILE_MAX || !g_utf8_validate_len(text, length, NULL)) {
        g_ptr_array_add(problems,
                        length > RULES_FILE_MAX
                            ? g_strdup_printf("%s: larger than %d KiB; use several files", file, RULES_FILE_MAX / 1024)
                            : g_strdup_printf("%s: not UTF-8 text; none of its rules is used", file));
        return;
    }
    g_autofree char *copy = g_strndup(text, length);
    const gsize mark = g_str_has_prefix(copy, BYTE_ORDER_MARK) ? strlen(BYTE_ORDER_MARK) : 0;
    g_auto(GStrv) lines = g_strsplit(copy + mark, "\n", -1);
    guint at = next_section(lines, 0);
    check_head(file, lines, at, problems);
    while (lines[at] != NULL) {
        guint next = next_section(lines, at + 1);
        Section section = {.file = file, .lines = lines, .first = at, .n = next - at};
        g_autofree char *name = name_of(lines[at]);
        take_section(&section, name, rules, problems);
        at = next;
    }
}
