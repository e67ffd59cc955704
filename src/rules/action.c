/* SPDX-License-Identifier: Apache-2.0 */
#include "rules/action.h"

#include "client/loopback.h"
#include "export/destination.h"
#include "routes/values.h"

#include <string.h>

enum { PERIOD_MIN = 1 };

#define DECAY_MAX_MS (365 * 86400e3)

static gboolean
parse_nothing(const char *words, RuleAction *action, char **why)
{
    if (words[0] == '\0')
        return TRUE;
    *why = g_strdup_printf("'%s' takes nothing behind it; leave '%s' out", rule_action_name(action->kind), words);
    return FALSE;
}

static gboolean
parse_record(const char *words, RuleAction *action, char **why)
{
    gdouble ms;
    if (value_duration(words, &ms) && ms >= 1000 && ms <= ACTION_RECORD_MAX_S * 1e3) {
        action->amount = (gint64)ms;
        return TRUE;
    }
    *why = g_strdup_printf("'%s' is not a time from 1s to 1h; write 'record 30s'", words);
    return FALSE;
}

static gboolean
parse_decay(const char *words, RuleAction *action, char **why)
{
    gdouble ms = -1;
    if (strcmp(words, "never") != 0 && (!value_duration(words, &ms) || ms > DECAY_MAX_MS)) {
        *why = g_strdup_printf("'%s' is not a time up to 365d; write 'decay 0s', 'decay 10s' or 'decay never'", words);
        return FALSE;
    }
    action->amount = (gint64)ms;
    return TRUE;
}

static gboolean
parse_renew(const char *words, RuleAction *action, char **why)
{
    uint64_t bytes = 0;
    if (words[0] != '\0' && (!value_size(words, &bytes) || bytes < PERIOD_MIN)) {
        *why = g_strdup_printf("'%s' is not a sampling period; write 'renew' or 'renew 128KiB'", words);
        return FALSE;
    }
    action->amount = (gint64)bytes;
    return TRUE;
}

static gboolean
parse_run(const char *words, RuleAction *action, char **why)
{
    g_autoptr(GError) error = NULL;
    if (!g_shell_parse_argv(words, NULL, &action->argv, &error)) {
        *why = g_strdup_printf("'run %s': %s; write the path of a program and its arguments", words, error->message);
        return FALSE;
    }
    if (g_path_is_absolute(action->argv[0]))
        return TRUE;
    *why = g_strdup_printf("'%s' is not an absolute path; no shell and no PATH is used", action->argv[0]);
    return FALSE;
}

/* Prefixes of the options of `jescope push` that a rule may use. */
static const char *const push_options[] = {"--token-file=", "--ca-file=", "--cert-file=", "--key-file=", "--queue=",
                                           "--queue-size=", "--service=", "--label=",     NULL};

static gboolean
is_push_option(const char *word)
{
    for (gsize i = 0; push_options[i] != NULL; i++)
        if (g_str_has_prefix(word, push_options[i]))
            return TRUE;
    return FALSE;
}

static char *
check_push(char *const *words)
{
    const ExportAccess access = {0};
    g_autoptr(GError) error = NULL;
    g_autoptr(Destination) destination = destination_new(words[0], &access, &error);
    if (destination == NULL)
        return g_strdup(error->message);
    for (guint i = 1; words[i] != NULL; i++)
        if (!is_push_option(words[i])) {
            g_autofree char *list = g_strjoinv("..., ", (char **)(guintptr)push_options);
            return g_strdup_printf("'%s' is not an option for a rule; there are %s...", words[i], list);
        }
    return NULL;
}

static gboolean
parse_push(const char *words, RuleAction *action, char **why)
{
    g_autoptr(GError) error = NULL;
    g_auto(GStrv) given = NULL;
    if (!g_shell_parse_argv(words, NULL, &given, &error)) {
        *why = g_strdup_printf("'push %s': %s; write 'push directory:///var/lib/profiles'", words, error->message);
        return FALSE;
    }
    *why = check_push(given);
    if (*why != NULL)
        return FALSE;
    g_autofree char *place = g_steal_pointer(&given[0]);
    given[0] = g_strconcat("--to=", place, NULL);
    action->argv = g_steal_pointer(&given);
    return TRUE;
}

static gboolean
is_http(const char *url)
{
    g_autoptr(GUri) uri = g_uri_parse(url, G_URI_FLAGS_NONE, NULL);
    if (uri == NULL || g_uri_get_host(uri) == NULL || g_uri_get_host(uri)[0] == '\0')
        return FALSE;
    return strcmp(g_uri_get_scheme(uri), "https") == 0 || strcmp(g_uri_get_scheme(uri), "http") == 0;
}

/* WORDS: the URL, and server-user=NAME if another user than the system's may listen on a loopback address. */
static gboolean
parse_receiver(const char *words, const char *example, RuleAction *action, char **why)
{
    static const char option[] = "server-user=";
    g_auto(GStrv) given = g_strsplit_set(words, " \t", -1);
    const char *user = NULL;
    gboolean sound = given[0] != NULL && is_http(given[0]);
    action->server_user = LOOPBACK_ANY_SYSTEM_USER;
    for (guint i = 1; sound && given[i] != NULL; i++) {
        if (given[i][0] == '\0')
            continue;
        sound = user == NULL && g_str_has_prefix(given[i], option);
        user = given[i] + strlen(option);
    }
    if (!sound) {
        *why = g_strdup_printf("'%s' is not a URL; write '%s'", words, example);
        return FALSE;
    }
    if (user != NULL && !loopback_parse_user(user, &action->server_user)) {
        *why = g_strdup_printf("server-user: there is no user '%s'", user);
        return FALSE;
    }
    action->url = g_steal_pointer(&given[0]);
    return TRUE;
}

static gboolean
parse_post(const char *words, RuleAction *action, char **why)
{
    return parse_receiver(words, "post https://alerts.example/jescope", action, why);
}

/* A collector's address without a path gets the default path for logs. */
static gboolean
parse_otlp(const char *words, RuleAction *action, char **why)
{
    if (!parse_receiver(words, "otlp http://localhost:4318", action, why))
        return FALSE;
    g_autoptr(GUri) uri = g_uri_parse(action->url, G_URI_FLAGS_NONE, NULL);
    const char *path = g_uri_get_path(uri);
    const gboolean bare = g_uri_get_query(uri) == NULL && g_uri_get_fragment(uri) == NULL;
    if (bare && (path[0] == '\0' || strcmp(path, "/") == 0)) {
        g_autofree char *given = g_steal_pointer(&action->url);
        action->url = g_strconcat(given, g_str_has_suffix(given, "/") ? "" : "/", "v1/logs", NULL);
    }
    return TRUE;
}

static gboolean
parse_syslog(const char *words, RuleAction *action, char **why)
{
    if (words[0] != '\0' && !g_path_is_absolute(words)) {
        *why = g_strdup_printf("'%s' is not the absolute path of a socket; write 'syslog' for /dev/log", words);
        return FALSE;
    }
    action->path = g_strdup(words[0] != '\0' ? words : "/dev/log");
    return TRUE;
}

static gboolean (*const parsers[RULE_ACTIONS])(const char *words, RuleAction *action, char **why) = {
    [RULE_RECORD] = parse_record, [RULE_DUMP] = parse_nothing,  [RULE_STATISTICS] = parse_nothing,
    [RULE_PURGE] = parse_nothing, [RULE_DECAY] = parse_decay,   [RULE_RENEW] = parse_renew,
    [RULE_RUN] = parse_run,       [RULE_PUSH] = parse_push,     [RULE_POST] = parse_post,
    [RULE_OTLP] = parse_otlp,     [RULE_SYSLOG] = parse_syslog, [RULE_LOG] = parse_nothing};

static char *
list_actions(void)
{
    GString *list = g_string_new(NULL);
    for (guint i = 0; i < RULE_ACTIONS; i++)
        g_string_append_printf(list, "%s%s", i == 0 ? "" : ", ", rule_action_name((RuleActionKind)i));
    return g_string_free(list, FALSE);
}

gboolean
action_parse(const char *text, RuleAction *action, char **why)
{
    gsize length = strcspn(text, " \t");
    g_autofree char *word = g_strndup(text, length);
    g_autofree char *words = g_strstrip(g_strdup(text + length));
    for (guint i = 0; i < RULE_ACTIONS; i++)
        if (strcmp(rule_action_name((RuleActionKind)i), word) == 0) {
            *action = (RuleAction){.kind = (RuleActionKind)i};
            if (parsers[i](words, action, why))
                return TRUE;
            g_strfreev(action->argv);
            return FALSE;
        }
    g_autofree char *list = list_actions();
    *why = g_strdup_printf("no action '%s'; there are %s", word, list);
    return FALSE;
}
