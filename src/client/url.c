/* SPDX-License-Identifier: Apache-2.0 */
#include "client/url.h"

#include "target/target.h"

#include <gio/gio.h>
#include <string.h>

static gboolean
refuse(const char *text, const char *why, GError **error)
{
    g_set_error(error, TARGET_ERROR, OUTCOME_INVALID, "'%s' is not the URL of a target: %s", text, why);
    return FALSE;
}

gboolean
client_url_is_loopback(const char *host)
{
    g_autoptr(GInetAddress) address = g_inet_address_new_from_string(host);
    return address != NULL ? g_inet_address_get_is_loopback(address) : g_str_equal(host, "localhost");
}

/* Splits PATH into the prefix and the id of a target, both unchanged. */
static void
split_path(const char *path, char **prefix, char **id)
{
    /* A path can contain any byte, line ends included, which "." matches as DOTALL and before which "$" does not match
     * as DOLLAR_ENDONLY. */
    g_autoptr(GRegex) form = g_regex_new("^(.*?)/*(?:/api/v1)?(?:/targets(?:/([^/]+))?)?/*$",
                                         G_REGEX_RAW | G_REGEX_DOTALL | G_REGEX_DOLLAR_ENDONLY, 0, NULL);
    g_autoptr(GMatchInfo) match = NULL;
    g_regex_match(form, path, 0, &match);
    *prefix = g_match_info_fetch(match, 1);
    g_autofree char *found = g_match_info_fetch(match, 2);
    *id = found != NULL && found[0] != '\0' ? g_uri_escape_string(found, NULL, FALSE) : NULL;
}

gboolean
client_url_parse(const char *text, ClientUrl *url, GError **error)
{
    g_autoptr(GError) cause = NULL;
    g_autoptr(GUri) uri = g_uri_parse(text, G_URI_FLAGS_HAS_PASSWORD, &cause);
    if (uri == NULL)
        return refuse(text, cause->message, error);
    const char *scheme = g_uri_get_scheme(uri), *host = g_uri_get_host(uri);
    if (host == NULL || host[0] == '\0')
        return refuse(text, "it has no host", error);
    if (g_uri_get_userinfo(uri) != NULL)
        return refuse("http://USER:PASSWORD@...", "it has a user or a password; give a token with --token-file", error);
    if (g_uri_get_query(uri) != NULL || g_uri_get_fragment(uri) != NULL)
        return refuse(text, "it has a query or a fragment; it ends with the id of the target", error);
    gboolean local = g_str_equal(scheme, "http+unix");
    if (local && host[0] != '/')
        return refuse(text, "http+unix needs the absolute path of a socket: http+unix://%2Frun%2Fjescope%2Fserve.sock",
                      error);
    g_autofree char *prefix = NULL;
    *url = (ClientUrl){.text = g_strdup(text),
                       .socket = local ? g_strdup(host) : NULL,
                       .in_clear = g_str_equal(scheme, "http") && !client_url_is_loopback(host)};
    split_path(g_uri_get_path(uri), &prefix, &url->id);
    url->base = g_uri_join(G_URI_FLAGS_NONE, local ? "http" : scheme, NULL, local ? "localhost" : host,
                           local ? -1 : g_uri_get_port(uri), prefix, NULL, NULL);
    url->server = local ? g_strconcat("unix:", host, NULL) : g_strdup(url->base);
    return TRUE;
}

void
client_url_clear(ClientUrl *url)
{
    g_free(url->text);
    g_free(url->base);
    g_free(url->server);
    g_free(url->socket);
    g_free(url->id);
}
