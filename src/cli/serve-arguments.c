/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/serve-arguments.h"

#include "cli/command.h"
#include "cli/duration.h"
#include "cli/keeping.h"
#include "cli/sampling.h"
#include "cli/serve-push.h"
#include "cli/size.h"

#include "fleet/store.h"
#include "target/reach.h"

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

#define DIALECTS_ABOUT "compatible paths to serve: "

static const char dialects_help[] = DIALECTS_ABOUT
#define DIALECT(name, constant) #name ","
#include "routes/dialects.def"
#undef DIALECT
    " all or none";

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
    GPtrArray *pushes; /* of ServicePush; NULL: there is no file */
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
        if (serve_push_is_section(*group))
            continue;
        if (strcmp(*group, GROUP) != 0) {
            g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                        "%s: unknown section [%s]; expected [" GROUP "], [push] or [push NAME]", config_file, *group);
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
read_file(ServeArguments *arguments, GError **error)
{
    Settings *settings = &arguments->settings;
    g_autoptr(GKeyFile) file = g_key_file_new();
    g_autoptr(GError) cause = NULL;
    g_autofree char *text = reach_read_setting(config_file, &cause);
    if (text == NULL || !g_key_file_load_from_data(file, text, strlen(text), G_KEY_FILE_NONE, &cause)) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "--config: cannot read '%s': %s", config_file, cause->message);
        return FALSE;
    }
    if (!check_keys(file, error))
        return FALSE;
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
        if (g_key_file_has_key(file, GROUP, rows[i].name, NULL) && !take_value(file, i, settings, error))
            return FALSE;
    arguments->pushes = serve_push_read(file, config_file, error);
    return arguments->pushes != NULL;
}

/* The command line overrides the file. */
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

/* A NULL text leaves *value unchanged. */
static gboolean
parse_count(const char *text, const char *option, guint64 least, guint *value, GError **error)
{
    guint64 number;
    if (text == NULL)
        return TRUE;
    if (!g_ascii_string_to_unsigned(text, 10, least, 1000000, &number, NULL)) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "%s: invalid number '%s'; it must be from %d to 1000000", option,
                    text, (int)least);
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
    /* An explicit --rate also applies to local peers. */
    if (settings->rate != NULL)
        limits->peers.local_rate = limits->peers.rate;
    limits->timeout_s = (guint)MAX((timeout_ms + 999) / 1000, 1);
    return TRUE;
}

/* Parsed like libprocess does: its variable switches Mesos' profiler off. */
static gboolean
mesos_is_off(void)
{
    const char *value = g_getenv("LIBPROCESS_MEMORY_PROFILING");
    return g_strcmp0(value, "disabled") == 0 || g_strcmp0(value, "false") == 0 || g_strcmp0(value, "0") == 0;
}

gboolean
serve_arguments_parse_dialects(const char *words, unsigned *dialects, GError **error)
{
    unsigned parsed = ROUTE_DIALECT_ALL;
    if (words != NULL && !routes_parse_dialects(words, &parsed)) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "--dialects: invalid list '%s'; give %s", words,
                    dialects_help + strlen(DIALECTS_ABOUT));
        return FALSE;
    }
    *dialects = mesos_is_off() ? parsed & ~(unsigned)ROUTE_DIALECT_MESOS : parsed;
    return TRUE;
}

/* libprocess takes true, false, 1 and 0; its documentation says "disabled". */
static gboolean
check_userver_path(const char *path, GError **error)
{
    static const char *const taken[] = {"/api", "/targets", "/metrics", "/healthz"};
    gboolean sound = path == NULL || (path[0] == '/' && path[1] != '\0' && !g_str_has_suffix(path, "/") &&
                                      strcspn(path, "?#%*{ ") == strlen(path));
    for (gsize i = 0; path != NULL && i < G_N_ELEMENTS(taken); i++)
        sound = sound && !g_str_has_prefix(path, taken[i]);
    if (!sound)
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                    "--userver-path: invalid path '%s'; give one such as /admin/heap, without a slash at the end and "
                    "outside /api, /targets, /metrics and /healthz",
                    path);
    return sound;
}

/* Its files are read for each query, by the user of the server. */
static gboolean
check_store(const Settings *settings, GError **error)
{
    if (settings->store != NULL)
        return fleet_store_check(settings->store, error);
    if (settings->store_token_file == NULL && settings->store_ca_file == NULL)
        return TRUE;
    g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "--store-token-file and --store-ca-file need --store");
    return FALSE;
}

static gboolean
apply_memory_profiling(const char *text, unsigned *dialects, GError **error)
{
    static const char *const on[] = {"enabled", "true", "1", NULL};
    static const char *const off[] = {"disabled", "false", "0", NULL};
    if (text == NULL || g_strv_contains(on, text))
        return TRUE;
    if (g_strv_contains(off, text)) {
        *dialects &= ~(unsigned)ROUTE_DIALECT_MESOS;
        return TRUE;
    }
    g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "--memory_profiling: invalid value '%s'; use enabled or disabled",
                text);
    return FALSE;
}

/* *CHOICE receives the index of TEXT in WORDS (NULL-terminated); a NULL text leaves it unchanged. */
static gboolean
parse_word(const char *text, const char *option, const char *const *words, guint *choice, GError **error)
{
    if (text == NULL)
        return TRUE;
    for (guint i = 0; words[i] != NULL; i++)
        if (strcmp(text, words[i]) == 0) {
            *choice = i;
            return TRUE;
        }
    g_autofree char *list = g_strjoinv(", ", (char **)(guintptr)words);
    g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "%s: invalid word '%s'; it must be one of %s", option, text, list);
    return FALSE;
}

static gboolean
parse_blackbox(const Settings *settings, ServiceBlackbox *blackbox, GError **error)
{
    static const char *const scopes[] = {"off", "limited", "all", NULL};
    static const char *const profilings[] = {"off", "ready", "any", NULL};
    guint scope = SERVICE_BLACKBOX_LIMITED, profiling = SERVICE_BLACKBOX_PROFILING_READY;
    blackbox->directory = settings->blackbox_directory;
    blackbox->quota = blackbox_quota_default;
    if (!parse_word(settings->blackbox, "--blackbox", scopes, &scope, error) ||
        !parse_word(settings->blackbox_profiling, "--blackbox-profiling", profilings, &profiling, error) ||
        !parse_count(settings->blackbox_snapshots, "--blackbox-keep", BLACKBOX_SNAPSHOTS_MIN,
                     &blackbox->quota.snapshots, error) ||
        !parse_count(settings->blackbox_lives, "--blackbox-lives", 1, &blackbox->quota.lives, error) ||
        (settings->blackbox_size != NULL &&
         !size_parse(settings->blackbox_size, "--blackbox-size", &blackbox->quota.bytes, error)))
        return FALSE;
    blackbox->scope = (ServiceBlackboxScope)scope;
    blackbox->profiling = (ServiceBlackboxProfiling)profiling;
    return TRUE;
}

static gboolean
parse_service(const Settings *settings, ServiceOptions *service, GError **error)
{
    const KeepingLimits limits = {.keep = settings->keep, .thin = settings->thin, .max_size = settings->max_size};
    service->targets = (const char *const *)settings->targets;
    service->default_target = settings->default_target;
    service->history = settings->history;
    service->rules = settings->rules;
    return parse_every(settings->every, &service->every_us, error) &&
           parse_count(settings->background_threads, "--max-background-threads", 1, &service->background_threads,
                       error) &&
           keeping_parse_detail(settings->detail, &service->parts, error) &&
           keeping_parse_limits(&limits, &service->retention, error) && parse_dumps(settings, &service->dumps, error) &&
           parse_blackbox(settings, &service->blackbox, error);
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
    options->trust_local = settings->trust_local;
    options->grants = settings->allow_source ? ROUTE_GRANT_SOURCE : 0;
    options->hosts = (const char *const *)settings->hosts;
    options->userver_path = settings->userver_path;
    options->store = settings->store;
    options->store_token_file = settings->store_token_file;
    options->store_ca_file = settings->store_ca_file;
    return check_userver_path(settings->userver_path, error) && check_store(settings, error) &&
           sampler_parse_memory(settings->sampler_memory, "--max-sampler-memory", &options->sampler_memory_max,
                                error) &&
           serve_arguments_parse_dialects(settings->dialects, &options->dialects, error) &&
           apply_memory_profiling(settings->memory_profiling, &options->dialects, error) &&
           parse_limits(settings, &options->limits, error) && parse_service(settings, &options->service, error);
}

/* ---- all settings ---- */

ServeArguments *
serve_arguments_read(char **operands, GError **error)
{
    g_autoptr(ServeArguments) arguments = g_new0(ServeArguments, 1);
    Settings *settings = &arguments->settings;
    if (config_file != NULL && !read_file(arguments, error))
        return NULL;
    overlay(settings);
    if (*operands != NULL) {
        g_strfreev(settings->targets);
        settings->targets = g_strdupv(operands);
    }
    if (settings->blackbox_directory == NULL)
        settings->blackbox_directory = blackbox_server_directory();
    if (!parse(settings, &arguments->options, error))
        return NULL;
    arguments->options.service.pushes = arguments->pushes;
    return g_steal_pointer(&arguments);
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
    g_clear_pointer(&arguments->pushes, g_ptr_array_unref);
    g_free(arguments);
}

const char *
serve_arguments_user(const ServeArguments *arguments)
{
    return arguments->settings.user;
}

const char *
serve_arguments_oomd_hook(const ServeArguments *arguments)
{
    return arguments->settings.oomd_hook;
}

static char **
made_sockets(const Settings *settings, guint handed_over)
{
    static const char prefix[] = "unix:";
    g_autoptr(GStrvBuilder) sockets = g_strv_builder_new();
    gboolean named = settings->listen != NULL && *settings->listen != NULL;
    for (char **place = settings->listen; named && *place != NULL; place++)
        if (g_str_has_prefix(*place, prefix))
            g_strv_builder_add(sockets, *place + strlen(prefix));
    if (!named && handed_over == 0)
        g_strv_builder_add(sockets, SERVE_ROOT_SOCKET);
    if (settings->oomd_hook != NULL)
        g_strv_builder_add(sockets, settings->oomd_hook);
    return g_strv_builder_end(sockets);
}

static void
add_named(GPtrArray *names, const char *name)
{
    if (name != NULL)
        g_ptr_array_add(names, g_strdup(name));
}

/* The requirements of pushes: their files, and the variables that become labels. */
static void
add_pushes(const GPtrArray *pushes, GPtrArray *files, GPtrArray *variables)
{
    for (guint i = 0; pushes != NULL && i < pushes->len; i++) {
        const ServicePush *push = pushes->pdata[i];
        const char *const named[] = {push->token_file, push->ca_file, push->cert_file, push->key_file};
        for (gsize file = 0; file < G_N_ELEMENTS(named); file++)
            add_named(files, named[file]);
        for (char *const *label = push->variables; label != NULL && *label != NULL; label++)
            add_named(variables, strchr(*label, '=') != NULL ? strchr(*label, '=') + 1 : NULL);
    }
}

BrokerPolicy *
serve_arguments_policy(const ServeArguments *arguments, guint handed_over)
{
    const Settings *settings = &arguments->settings;
    const char *const own[] = {config_file, settings->token_file, settings->tls_certificate, settings->tls_key};
    g_autoptr(GPtrArray) files = g_ptr_array_new(), variables = g_ptr_array_new();
    BrokerPolicy *policy = g_new0(BrokerPolicy, 1);
    for (gsize i = 0; i < G_N_ELEMENTS(own); i++)
        add_named(files, own[i]);
    add_pushes(arguments->pushes, files, variables);
    g_ptr_array_add(files, NULL);
    g_ptr_array_add(variables, NULL);
    policy->files = (char **)g_ptr_array_steal(files, NULL);
    policy->variables = (char **)g_ptr_array_steal(variables, NULL);
    policy->targets = g_strdupv(settings->targets);
    policy->sockets = made_sockets(settings, handed_over);
    policy->source = settings->allow_source;
    return policy;
}

const ServeOptions *
serve_arguments_options(const ServeArguments *arguments)
{
    return &arguments->options;
}
