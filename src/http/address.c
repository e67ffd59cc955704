/* SPDX-License-Identifier: Apache-2.0 */
#include "http/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <gio/gio.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

G_DEFINE_QUARK(jescope_address_error, address_error)

enum {
    UNIX_MODE = 0600,
};

static gboolean
parse_unix(const char *path, Address *address)
{
    size_t length = strlen(path);
    if (path[0] != '/' || length >= sizeof(address->socket.local.sun_path))
        return FALSE;
    Address parsed = {.size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + 1)};
    parsed.socket.local.sun_family = AF_UNIX;
    memcpy(parsed.socket.local.sun_path, path, length + 1);
    *address = parsed;
    return TRUE;
}

/* Parses HOST, which is without brackets. */
static gboolean
parse_host(const char *host, guint16 port, Address *address)
{
    const char *numeric = strcmp(host, "localhost") == 0 ? "127.0.0.1" : host;
    g_autoptr(GSocketAddress) found = g_inet_socket_address_new_from_string(numeric, port);
    Address parsed = {0};
    if (found == NULL || !g_socket_address_to_native(found, &parsed.socket, sizeof(parsed.socket), NULL))
        return FALSE;
    parsed.size = (socklen_t)g_socket_address_get_native_size(found);
    *address = parsed;
    return TRUE;
}

static gboolean
parse_port(const char *text, guint16 *port)
{
    guint64 value;
    if (!g_ascii_string_to_unsigned(text, 10, 0, G_MAXUINT16, &value, NULL))
        return FALSE;
    *port = (guint16)value;
    return TRUE;
}

static gboolean
parse_internet(const char *text, Address *address)
{
    guint16 port = ADDRESS_PORT_DEFAULT;
    if (parse_port(text, &port))
        return parse_host("127.0.0.1", port, address);
    const char *closing = text[0] == '[' ? strchr(text, ']') : NULL;
    const char *colon = closing != NULL ? closing + 1 : strchr(text, ':');
    if (colon != NULL && *colon != '\0' && (*colon != ':' || !parse_port(colon + 1, &port)))
        return FALSE;
    size_t length = colon != NULL ? (size_t)(colon - text) : strlen(text);
    g_autofree char *host = closing != NULL ? g_strndup(text + 1, length - 2) : g_strndup(text, length);
    /* ":7469" and "*:7469" mean every address, as usual. */
    if (strcmp(host, "*") == 0 || (host[0] == '\0' && colon == text))
        return parse_host("0.0.0.0", port, address);
    gboolean bracketed = strchr(host, ':') != NULL;
    return bracketed == (closing != NULL) && parse_host(host, port, address);
}

gboolean
address_parse(const char *text, Address *address, GError **error)
{
    static const char unix_prefix[] = "unix:";
    gboolean is_unix = g_str_has_prefix(text, unix_prefix);
    if (is_unix ? parse_unix(text + strlen(unix_prefix), address) : parse_internet(text, address))
        return TRUE;
    if (is_unix)
        g_set_error(error, ADDRESS_ERROR, ADDRESS_ERROR_NAME,
                    "invalid address '%s'; unix: needs an absolute path of at most %zu bytes", text,
                    sizeof(address->socket.local.sun_path) - 1);
    else
        g_set_error(error, ADDRESS_ERROR, ADDRESS_ERROR_NAME,
                    "invalid address '%s'; use ADDR:PORT with a numeric address, [V6ADDR]:PORT, *:PORT, or unix:PATH",
                    text);
    return FALSE;
}

gboolean
address_of_listener(int fd, Address *address)
{
    int type = 0, listening = 0;
    socklen_t type_size = sizeof(type), listening_size = sizeof(listening);
    Address found = {.size = sizeof(found.socket)};
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_size) != 0 || type != SOCK_STREAM ||
        getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &listening_size) != 0 || !listening ||
        getsockname(fd, &found.socket.any, &found.size) != 0)
        return FALSE;
    int family = found.socket.any.sa_family;
    if (family != AF_INET && family != AF_INET6 && family != AF_UNIX)
        return FALSE;
    *address = found;
    return TRUE;
}

gboolean
address_is_unix(const Address *address)
{
    return address->socket.any.sa_family == AF_UNIX;
}

gboolean
address_is_local(const Address *address)
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)&address->socket;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&address->socket;
    switch (address->socket.any.sa_family) {
    case AF_UNIX:
        return TRUE;
    case AF_INET:
        return ntohl(v4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    case AF_INET6:
        return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr) ||
               (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr) && v6->sin6_addr.s6_addr[12] == IN_LOOPBACKNET);
    default:
        return FALSE;
    }
}

static guint16
port_of(const Address *address)
{
    return ntohs(address->socket.any.sa_family == AF_INET ? ((const struct sockaddr_in *)&address->socket)->sin_port
                                                          : ((const struct sockaddr_in6 *)&address->socket)->sin6_port);
}

char *
address_format_host(const Address *address)
{
    char host[INET6_ADDRSTRLEN];
    const struct in6_addr *v6 = &((const struct sockaddr_in6 *)&address->socket)->sin6_addr;
    int family = address->socket.any.sa_family;
    const void *bytes =
        family == AF_INET ? (const void *)&((const struct sockaddr_in *)&address->socket)->sin_addr : v6;
    if (address_is_unix(address))
        return NULL;
    if (family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(v6)) {
        family = AF_INET;
        bytes = v6->s6_addr + 12;
    }
    return g_strdup(inet_ntop(family, bytes, host, sizeof(host)));
}

char *
address_format(const Address *address)
{
    if (address_is_unix(address))
        return g_strdup_printf("unix:%.*s", (int)(address->size - offsetof(struct sockaddr_un, sun_path)),
                               address->socket.local.sun_path);
    g_autofree char *host = address_format_host(address);
    return g_strdup_printf(strchr(host, ':') != NULL ? "[%s]:%u" : "%s:%u", host, port_of(address));
}

gboolean
address_other_of_localhost(const Address *address, Address *other)
{
    g_autofree char *host = address_format_host(address);
    if (g_strcmp0(host, "127.0.0.1") == 0)
        return parse_host("::1", port_of(address), other);
    return g_strcmp0(host, "::1") == 0 && parse_host("127.0.0.1", port_of(address), other);
}

static gboolean
is_every_address(const Address *address)
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)&address->socket;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&address->socket;
    return address->socket.any.sa_family == AF_INET ? v4->sin_addr.s_addr == htonl(INADDR_ANY)
                                                    : IN6_IS_ADDR_UNSPECIFIED(&v6->sin6_addr);
}

gboolean
address_covers(const Address *address, const Address *other)
{
    if (address_is_unix(address) || address_is_unix(other) || port_of(address) != port_of(other))
        return FALSE;
    g_autofree char *mine = address_format_host(address), *its = address_format_host(other);
    return is_every_address(address) || strcmp(mine, its) == 0;
}

/* A sandbox may refuse the family, too, which others can use: its absence shows in /proc. */
gboolean
address_exists(const Address *address)
{
    Address probe;
    g_autofree char *host = address_format_host(address);
    int fd = socket(address->socket.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return address->socket.any.sa_family != AF_INET6 || errno != EAFNOSUPPORT ||
               access("/proc/net/if_inet6", F_OK) == 0;
    gboolean exists = host == NULL || !parse_host(host, 0, &probe) || bind(fd, &probe.socket.any, probe.size) == 0 ||
                      errno != EADDRNOTAVAIL;
    close(fd);
    return exists;
}

gboolean
address_is_of_our_network(int fd)
{
    guint64 its = 0, ours = 0;
    socklen_t size = sizeof(its);
    int own = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    gboolean known = own >= 0 && getsockopt(own, SOL_SOCKET, SO_NETNS_COOKIE, &ours, &size) == 0 &&
                     getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &its, &size) == 0;
    if (own >= 0)
        close(own);
    return known && its == ours;
}

/* Removes a socket file that a killed server has left, but not that of a running server. */
static void
remove_dead_socket(const Address *address)
{
    struct stat facts;
    const char *path = address->socket.local.sun_path;
    if (lstat(path, &facts) != 0 || !S_ISSOCK(facts.st_mode))
        return;
    int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (probe < 0)
        return;
    if (connect(probe, &address->socket.any, address->size) != 0 && errno == ECONNREFUSED)
        unlink(path);
    close(probe);
}

static gboolean
bind_and_listen(int fd, const Address *address)
{
    static const int yes = 1;
    if (address_is_unix(address)) {
        remove_dead_socket(address);
        /* The file is created with the socket's mode, so others can never connect. */
        if (fchmod(fd, UNIX_MODE) != 0)
            return FALSE;
    } else {
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    }
    return bind(fd, &address->socket.any, address->size) == 0 && listen(fd, SOMAXCONN) == 0;
}

int
address_listen(const Address *address, GError **error)
{
    int fd = socket(address->socket.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && bind_and_listen(fd, address))
        return fd;
    int code = errno;
    g_autofree char *name = address_format(address);
    g_set_error(error, ADDRESS_ERROR, ADDRESS_ERROR_SOCKET, "cannot listen on %s: %s%s", name, g_strerror(code),
                code == EADDRINUSE ? "; is another server running? choose another place with --listen" : "");
    if (fd >= 0)
        close(fd);
    return -1;
}
