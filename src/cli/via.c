/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/via.h"

#include "cli/command.h"
#include "cli/size.h"
#include "cli/words.h"
#include "client/client.h"

static TargetVia asked = TARGET_VIA_ANY;
static ClientAccess server_access;

gboolean
via_set_file(const char *option, const char *value, gpointer unused, GError **error)
{
    const char **file = g_str_equal(option, "--ca-file") ? &server_access.ca_file : &server_access.token_file;
    *file = g_strdup(value);
    return TRUE;
}

gboolean
via_set(const char *option, const char *value, gpointer unused, GError **error)
{
    static const char *const words[] = {"agent", "attach", NULL};
    return target_via_parse(value, &asked) || words_find(words, "--via", value, NULL, error);
}

ClientAccess
via_access(void)
{
    return (ClientAccess){
        .token_file = server_access.token_file != NULL ? server_access.token_file : g_getenv("JESCOPE_TOKEN_FILE"),
        .ca_file = server_access.ca_file != NULL ? server_access.ca_file : g_getenv("JESCOPE_CA_FILE"),
    };
}

static Target *
open_url(const char *url, GError **error)
{
    const ClientAccess wanted = via_access();
    if (asked == TARGET_VIA_ANY)
        return client_open(url, &wanted, error);
    g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "--via: the server of %s chooses how to reach its targets", url);
    return NULL;
}

Target *
via_open(const char *name, GError **error)
{
    Target *target = client_is_url(name) ? open_url(name, error) : target_open_via(name, asked, error);
    if (target != NULL && target_note(target) != NULL)
        command_say("%s", target_note(target));
    return target;
}

gboolean
via_set_forced(const char *option, const char *value, gpointer unused, GError **error)
{
    target_set_forced(TRUE);
    return TRUE;
}

gboolean
via_set_max_output(const char *option, const char *value, gpointer unused, GError **error)
{
    guint64 bytes;
    if (!size_parse(value, option, &bytes, error))
        return FALSE;
    target_set_output_limit(bytes);
    return TRUE;
}
