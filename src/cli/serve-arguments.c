/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/serve-arguments.h"

#include "cli/command.h"
#include "cli/duration.h"
#include "cli/keeping.h"
#include "cli/size.h"

#include <string.h>

#define GROUP "serve"

/* ---- the settings ---- */

typedef enum { KIND_TEXT, KIND_FILE, KIND_LIST, KIND_FLAG } Kind;

typedef char *TEXT_TYPE;
typedef char *FILE_TYPE;
typedef char **LIST_TYPE;
typedef gboolean FLAG_TYPE;

typedef struct {
    char **targets;
#define SERVE_SETTING(kind, member, name, arg, about) kind##_TYPE member;
#include "cli/serve-settings.def"
#undef SERVE_SETTING
} Settings;

static const struct {
    Kind kind;
    const char *name;
    gsize offset;
} rows[] = {
    {KIND_LIST, "targets", G_STRUCT_OFFSET(Settings, targets)},
#define SERVE_SETTING(kind, member, name, arg, about) {KIND_##kind, name, G_STRUCT_OFFSET(Settings, member)},
#include "cli/serve-settings.def"
#undef SERVE_SETTING
};

static Settings given; /* on the command line */
static char *config_file;

enum {
    TEXT_ARG = G_OPTION_ARG_STRING,
    FILE_ARG = G_OPTION_ARG_FILENAME,
    LIST_ARG = G_OPTION_ARG_STRING_ARRAY,
    FLAG_ARG = G_OPTION_ARG_NONE,
};

const GOptionEntry serve_options[] = {
    {.long_name = "config",
     .arg = G_OPTION_ARG_FILENAME,
     .arg_data = &config_file,
     .description = "read options from this file too, and again on SIGHUP",
     .arg_description = "FILE"},
#define SERVE_SETTING(kind, member, name, argument, about)                                                             \
    {.long_name = name,                                                                                                \
     .arg = (GOptionArg)kind##_ARG,                                                                                    \
     .arg_data = &given.member,                                                                                        \
     .description = about,                                                                                             \
     .arg_description = argument},
#include "cli/serve-settings.def"
#undef SERVE_SETTING
    {0},
};

struct ServeArguments {
    Settings settings;
    ServeOptions options;
};

/* ---- the file ---- */

static gboolean
is_known(const char *key)
{
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
        if (strcmp(rows[i].name, key) == 0)
            return TRUE;
    return FALSE;
}

static gboolean
check_keys(GKeyFile *file, GError **error)
{
    g_auto(GStrv) groups = g_key_file_get_groups(file, NULL);
    for (char **group = groups; *group != NULL; group++) {
        if (strcmp(*group, GROUP) != 0) {
            g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "%s: unknown group [%s]; settings stand in [" GROUP "]",
                        config_file, *group);
            return FALSE;
        }
        g_auto(GStrv) keys = g_key_file_get_keys(file, *group, NULL, NULL);
        for (char **key = keys; *key != NULL; key++)
            if (!is_known(*key)) {
                g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                            "%s: unknown key '%s'; keys are the options of 'jescope serve' without '--', and targets",
                            config_file, *key);
                return FALSE;
            }
    }
    return TRUE;
}

static gboolean
take_value(GKeyFile *file, gsize row, Settings *settings, GError **error)
{
    gpointer member = G_STRUCT_MEMBER_P(settings, rows[row].offset);
    g_autoptr(GError) cause = NULL;
    if (rows[row].kind == KIND_FLAG)
        *(gboolean *)member = g_key_file_get_boolean(file, GROUP, rows[row].name, &cause);
    else if (rows[row].kind == KIND_LIST)
        *(char ***)member = g_key_file_get_string_list(file, GROUP, rows[row].name, NULL, &cause);
    else
        *(char **)member = g_key_file_get_string(file, GROUP, rows[row].name, &cause);
    if (cause == NULL)
        return TRUE;
    g_autofree char *value = g_key_file_get_value(file, GROUP, rows[row].name, NULL);
    g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "%s: %s: '%s' is %s", config_file, rows[row].name, value,
                rows[row].kind == KIND_FLAG ? "neither true nor false" : "no text");
    return FALSE;
}

static gboolean
read_file(Settings *settings, GError **error)
{
    g_autoptr(GKeyFile) file = g_key_file_new();
    g_autoptr(GError) cause = NULL;
    if (!g_key_file_load_from_file(file, config_file, G_KEY_FILE_NONE, &cause)) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "--config: cannot read '%s': %s", config_file, cause->message);
        return FALSE;
    }
    if (!check_keys(file, error))
        return FALSE;
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
        if (g_key_file_has_key(file, GROUP, rows[i].name, NULL) && !take_value(file, i, settings, error))
            return FALSE;
    return TRUE;
}

/* What the command line says replaces what the file does. */
static void
overlay(Settings *settings)
{
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        gpointer to = G_STRUCT_MEMBER_P(settings, rows[i].offset);
        gconstpointer from = G_STRUCT_MEMBER_P(&given, rows[i].offset);
        if (rows[i].kind == KIND_FLAG) {
            *(gboolean *)to = *(gboolean *)to || *(const gboolean *)from;
        } else if (rows[i].kind == KIND_LIST && *(char *const *const *)from != NULL) {
            g_strfreev(*(char ***)to);
            *(char ***)to = g_strdupv(*(char **const *)from);
        } else if (rows[i].kind != KIND_LIST && *(const char *const *)from != NULL) {
            g_free(*(char **)to);
            *(char **)to = g_strdup(*(const char *const *)from);
        }
    }
}

/* ---- their values ---- */

/* A NULL text leaves *value as it is. */
static gboolean
parse_count(const char *text, const char *option, guint64 least, guint *value, GError **error)
{
    guint64 number;
    if (text == NULL)
        return TRUE;
    if (!g_ascii_string_to_unsigned(text, 10, least, 1000000, &number, NULL)) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "%s: '%s' is no number from %d to 1000000", option, text,
                    (int)least);
        return FALSE;
    }
    *value = (guint)number;
    return TRUE;
}

static gboolean
parse_dumps(const Settings *settings, HistoryDumpRetention *dumps, GError **error)
{
    guint64 keep_ms = 0;
    if (!parse_count(settings->dumps, "--dumps", 1, &dumps->count, error) ||
        (settings->dumps_keep != NULL &&
         !duration_parse_up_to(settings->dumps_keep, "--dumps-keep", KEEPING_MAX_DAYS, &keep_ms, error)) ||
        (settings->dumps_size != NULL && !size_parse(settings->dumps_size, "--dumps-size", &dumps->max_bytes, error)))
        return FALSE;
    if (keep_ms > 0)
        dumps->keep_us = keep_ms * 1000;
    return TRUE;
}

static gboolean
parse_every(const char *text, guint64 *every_us, GError **error)
{
    if (g_strcmp0(text, "0") != 0)
        return keeping_parse_every(text, every_us, error);
    *every_us = 0;
    return TRUE;
}

static gboolean
parse_limits(const Settings *settings, ServerLimits *limits, GError **error)
{
    guint64 timeout_ms = (guint64)limits->timeout_s * 1000;
    if (!parse_count(settings->connections, "--max-connections", 1, &limits->peers.connections, error) ||
        !parse_count(settings->per_peer, "--max-connections-per-peer", 1, &limits->peers.per_peer, error) ||
        !parse_count(settings->rate, "--rate", 0, &limits->peers.rate, error) ||
        (settings->timeout != NULL && !duration_parse(settings->timeout, "--timeout", &timeout_ms, error)))
        return FALSE;
    /* Who sets a rate means everybody. */
    if (settings->rate != NULL)
        limits->peers.local_rate = limits->peers.rate;
    limits->timeout_s = (guint)MAX((timeout_ms + 999) / 1000, 1);
    return TRUE;
}

/* As libprocess reads it: its variable switches Mesos' profiler off. */
static gboolean
mesos_is_off(void)
{
    const char *value = g_getenv("LIBPROCESS_MEMORY_PROFILING");
    return g_strcmp0(value, "disabled") == 0 || g_strcmp0(value, "false") == 0;
}

gboolean
serve_arguments_parse_dialects(const char *words, unsigned *dialects, GError **error)
{
    unsigned parsed = ROUTE_DIALECT_ALL;
    if (words != NULL && !routes_parse_dialects(words, &parsed)) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "--dialects: '%s' is no list of libmtev, userver, mesos and pprof, nor all or none", words);
        return FALSE;
    }
    *dialects = mesos_is_off() ? parsed & ~(unsigned)ROUTE_DIALECT_MESOS : parsed;
    return TRUE;
}

static gboolean
parse_service(const Settings *settings, ServiceOptions *service, GError **error)
{
    const KeepingLimits limits = {.keep = settings->keep, .thin = settings->thin, .max_size = settings->max_size};
    service->targets = (const char *const *)settings->targets;
    service->default_target = settings->default_target;
    service->history = settings->history;
    return parse_every(settings->every, &service->every_us, error) &&
           keeping_parse_detail(settings->detail, &service->parts, error) &&
           keeping_parse_limits(&limits, &service->retention, error) && parse_dumps(settings, &service->dumps, error);
}

static gboolean
parse(const Settings *settings, ServeOptions *options, GError **error)
{
    *options = serve_options_default;
    options->service = service_options_default;
    options->listen = (const char *const *)settings->listen;
    options->tls_certificate = settings->tls_certificate;
    options->tls_key = settings->tls_key;
    options->token_file = settings->token_file;
    options->insecure = settings->insecure;
    options->require_token = settings->require_token;
    options->hosts = (const char *const *)settings->hosts;
    return serve_arguments_parse_dialects(settings->dialects, &options->dialects, error) &&
           parse_limits(settings, &options->limits, error) && parse_service(settings, &options->service, error);
}

/* ---- the whole ---- */

ServeArguments *
serve_arguments_read(char **operands, GError **error)
{
    g_autoptr(ServeArguments) arguments = g_new0(ServeArguments, 1);
    Settings *settings = &arguments->settings;
    if (config_file != NULL && !read_file(settings, error))
        return NULL;
    overlay(settings);
    if (*operands != NULL) {
        g_strfreev(settings->targets);
        settings->targets = g_strdupv(operands);
    }
    return parse(settings, &arguments->options, error) ? g_steal_pointer(&arguments) : NULL;
}

void
serve_arguments_free(ServeArguments *arguments)
{
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        gpointer member = G_STRUCT_MEMBER_P(&arguments->settings, rows[i].offset);
        if (rows[i].kind == KIND_LIST)
            g_strfreev(*(char ***)member);
        else if (rows[i].kind != KIND_FLAG)
            g_free(*(char **)member);
    }
    g_free(arguments);
}

const ServeOptions *
serve_arguments_options(const ServeArguments *arguments)
{
    return &arguments->options;
}
