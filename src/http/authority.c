/* SPDX-License-Identifier: Apache-2.0 */
#include "http/authority.h"

#include <arpa/inet.h>
#include <glib.h>
#include <string.h>

static gboolean
is_port(const char *text)
{
    guint64 port;
    return *text == '\0' || g_ascii_string_to_unsigned(text, 10, 0, G_MAXUINT16, &port, NULL);
}

/* Whether TEXT is a registered name or an IPv4 address; names of containers may have underscores. */
static gboolean
is_name(const char *text, gsize size)
{
    for (gsize i = 0; i < size; i++)
        if (!g_ascii_isalnum(text[i]) && strchr("-._~", text[i]) == NULL)
            return FALSE;
    return size > 0;
}

char *
authority_host(const char *authority)
{
    gboolean bracketed = authority[0] == '[';
    const char *host = authority + bracketed;
    gsize size = strcspn(host, bracketed ? "]" : ":");
    const char *end = host + size;
    if (bracketed && *end++ != ']')
        return NULL;
    g_autofree char *name = g_strndup(host, size);
    struct in6_addr address;
    gboolean valid = bracketed ? inet_pton(AF_INET6, name, &address) == 1 : is_name(name, size);
    return valid && (*end == '\0' || (*end == ':' && is_port(end + 1))) ? g_steal_pointer(&name) : NULL;
}

const char *
authority_port(const char *authority)
{
    const char *colon = strrchr(authority, ':');
    return colon != NULL && strchr(colon, ']') == NULL ? colon + 1 : "";
}
