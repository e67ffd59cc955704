/* SPDX-License-Identifier: Apache-2.0 */
#include "export/destination.h"

#include "client/loopback.h"
#include "client/url.h"
#include "confine/keyed-hash.h"
#include "export/sink.h"
#include "text/printable.h"

#include <gio/gio.h>
#include <string.h>

#define SINK(name) extern const ExportSink name##_sink;
#include "export/sinks.def"
#undef SINK

#define SINK(name) &name##_sink,
const ExportSink *const export_sinks[] = {
#include "export/sinks.def"
    NULL};
#undef SINK

G_DEFINE_QUARK(export - error - quark, export_error)

static gboolean
refuse(const char *url, GError **error, const char *why)
{
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_DESTINATION, "cannot push to '%s': %s", url, why);
    return FALSE;
}

static gboolean
refuse_scheme(const char *url, GError **error)
{
    g_autoptr(GString) known = g_string_new(NULL);
    for (const ExportSink *const *sink = export_sinks; *sink != NULL; sink++)
        g_string_append_printf(known, "%s%s", known->len > 0 ? ", " : "", (*sink)->form);
    g_autofree char *why = g_strdup_printf("unknown kind of URL; known are %s", known->str);
    return refuse(url, error, why);
}

/* Sets the sink for SCHEME. Returns the scheme of its requests, or NULL if there is no such sink. */
static const char *
find_sink(Destination *destination, const char *scheme)
{
    g_auto(GStrv) parts = g_strsplit(scheme, "+", 2);
    for (const ExportSink *const *sink = export_sinks; *sink != NULL && destination->sink == NULL; sink++)
        if (g_str_equal((*sink)->name, parts[0]))
            destination->sink = *sink;
    if (destination->sink == NULL)
        return NULL;
    if (parts[1] == NULL)
        return destination->sink->transport == EXPORT_FILES   ? "file"
               : destination->sink->transport == EXPORT_CLEAR ? "http"
                                                              : "https";
    if (destination->sink->transport == EXPORT_FILES)
        return NULL;
    return g_str_equal(parts[1], "https") ? "https" : g_str_equal(parts[1], "http") ? "http" : NULL;
}

static void
set_base(Destination *destination, const char *scheme, GUri *uri)
{
    g_autofree char *path = g_strdup(g_uri_get_path(uri));
    for (gsize length = strlen(path); length > 0 && path[length - 1] == '/'; length--)
        path[length - 1] = '\0';
    destination->path = g_steal_pointer(&path);
    destination->origin =
        g_uri_join(G_URI_FLAGS_ENCODED_PATH, scheme, NULL, g_uri_get_host(uri), g_uri_get_port(uri), "", NULL, NULL);
    destination->base = g_strconcat(destination->origin, destination->path, NULL);
}

/* Sets the directory from the decoded path. */
static gboolean
set_directory(Destination *destination, GUri *uri, GError **error)
{
    g_autofree char *path = g_uri_unescape_string(g_uri_get_path(uri), NULL);
    const char *host = g_uri_get_host(uri);
    if (path == NULL || path[0] != '/' || (host != NULL && host[0] != '\0'))
        return refuse(destination->text, error, "a directory needs an absolute path: directory:///var/lib/profiles");
    destination->base = g_steal_pointer(&path);
    destination->path = g_strdup("");
    destination->origin = g_strdup("");
    return TRUE;
}

static const char server_user[] = "server-user";

static gboolean
set_server_user(Destination *destination, GError **error)
{
    const char *value = destination_setting(destination, server_user, NULL);
    destination->server_user = LOOPBACK_ANY_SYSTEM_USER;
    return value == NULL || loopback_parse_user(value, &destination->server_user) ||
           refuse(destination->text, error, "server-user: no such user");
}

static gboolean
set_settings(Destination *destination, const char *query, GError **error)
{
    g_autoptr(GError) cause = NULL;
    if (query == NULL) {
        destination->settings = g_hash_table_new(keyed_hash_string, g_str_equal);
        return TRUE;
    }
    destination->settings = g_uri_parse_params(query, -1, "&", G_URI_PARAMS_NONE, &cause);
    if (destination->settings == NULL)
        return refuse(destination->text, error, cause->message);
    GHashTableIter each;
    gpointer value;
    g_hash_table_iter_init(&each, destination->settings);
    while (g_hash_table_iter_next(&each, NULL, &value))
        if (!text_is_printable(value)) /* it may be used in a header */
            return refuse("SINK://...", error, "a setting has control characters");
    return TRUE;
}

static gboolean
parse(Destination *destination, GUri *uri, GError **error)
{
    const char *text = destination->text, *host = g_uri_get_host(uri);
    const char *scheme = find_sink(destination, g_uri_get_scheme(uri));
    if (scheme == NULL)
        return refuse_scheme(text, error);
    if (g_uri_get_userinfo(uri) != NULL)
        return refuse("SINK://USER:PASSWORD@...", error, "it has a user or a password; give a token with --token-file");
    if (g_uri_get_fragment(uri) != NULL)
        return refuse(text, error, "it has a fragment ('#')");
    if (!set_settings(destination, g_uri_get_query(uri), error))
        return FALSE;
    if (destination->sink->transport == EXPORT_FILES)
        return set_directory(destination, uri, error);
    if (host == NULL || host[0] == '\0')
        return refuse(text, error, "it has no host");
    set_base(destination, scheme, uri);
    if (!set_server_user(destination, error))
        return FALSE;
    destination->in_clear = g_str_equal(scheme, "http") && !client_url_is_loopback(host);
    if (destination->in_clear && destination->access.token_file != NULL)
        return refuse(text, error,
                      "the token would be sent unencrypted; use https, or a tunnel to an address of this machine");
    return TRUE;
}

static gboolean
check_access(const ExportAccess *access, GError **error)
{
    if ((access->cert_file == NULL) == (access->key_file == NULL))
        return TRUE;
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_DESTINATION,
                "a certificate for TLS needs its key and the key its certificate: --cert-file and --key-file");
    return FALSE;
}

Destination *
destination_new(const char *url, const ExportAccess *access, GError **error)
{
    g_autoptr(GError) cause = NULL;
    g_autoptr(GUri) uri =
        g_uri_parse(url, G_URI_FLAGS_HAS_PASSWORD | G_URI_FLAGS_ENCODED_PATH | G_URI_FLAGS_ENCODED_QUERY, &cause);
    if (!check_access(access, error))
        return NULL;
    if (uri == NULL) {
        refuse(url, error, cause->message);
        return NULL;
    }
    g_autoptr(Destination) destination = g_new0(Destination, 1);
    destination->text = g_strdup(url);
    destination->access = (ExportAccess){.token_file = g_strdup(access->token_file),
                                         .ca_file = g_strdup(access->ca_file),
                                         .cert_file = g_strdup(access->cert_file),
                                         .key_file = g_strdup(access->key_file)};
    return parse(destination, uri, error) ? g_steal_pointer(&destination) : NULL;
}

void
destination_free(Destination *destination)
{
    const char *const texts[] = {destination->access.token_file, destination->access.ca_file,
                                 destination->access.cert_file, destination->access.key_file};
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
        g_free((gpointer)(gsize)texts[i]);
    g_free(destination->text);
    g_free(destination->base);
    g_free(destination->path);
    g_free(destination->origin);
    g_clear_pointer(&destination->settings, g_hash_table_unref);
    g_free(destination);
}

const char *
destination_setting(const Destination *destination, const char *name, const char *absent)
{
    const char *value = g_hash_table_lookup(destination->settings, name);
    return value != NULL ? value : absent;
}

gboolean
destination_check_settings(const Destination *destination, const char *const *known, GError **error)
{
    GHashTableIter each;
    gpointer name;
    g_hash_table_iter_init(&each, destination->settings);
    while (g_hash_table_iter_next(&each, &name, NULL))
        if (!g_strv_contains(known, name) &&
            (destination->sink->transport == EXPORT_FILES || strcmp(name, server_user) != 0)) {
            g_autofree char *names = g_strjoinv(", ", (char **)(gsize)known);
            g_autofree char *why = g_strdup_printf("unknown setting '%s'; %s://... takes %s", (const char *)name,
                                                   destination->sink->name, names[0] != '\0' ? names : "none");
            return refuse(destination->text, error, why);
        }
    return TRUE;
}
