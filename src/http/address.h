/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses on which the server listens. */
#ifndef JESCOPE_HTTP_ADDRESS_H
#define JESCOPE_HTTP_ADDRESS_H

#include <glib.h>
#include <sys/socket.h>
#include <sys/un.h>

#define ADDRESS_ERROR (address_error_quark())
GQuark address_error_quark(void);

typedef enum {
    ADDRESS_ERROR_NAME,   /* not an address */
    ADDRESS_ERROR_SOCKET, /* cannot listen there */
} AddressError;

enum {
    ADDRESS_PORT_DEFAULT = 7469,
};

typedef union {
    struct sockaddr any;
    struct sockaddr_storage storage;
    struct sockaddr_un local;
} SocketAddress;

typedef struct {
    SocketAddress socket;
    socklen_t size;
} Address;

/* Parses "ADDR:PORT", "[V6ADDR]:PORT", ADDR alone, a port alone (on 127.0.0.1), or unix:PATH. ADDR is numeric or
 * "localhost"; other names are rejected, since they may change. Port 0 means any free port. FALSE with
 * ADDRESS_ERROR_NAME and *ADDRESS unchanged. */
gboolean address_parse(const char *text, Address *address, GError **error);

/* Sets *ADDRESS to that of socket FD. FALSE unless it is a listening stream socket of the internet or unix families. */
gboolean address_of_listener(int fd, Address *address);

/* Whether only this machine can connect: a loopback address or a unix socket. */
gboolean address_is_local(const Address *address);
gboolean address_is_unix(const Address *address);

/* "127.0.0.1:7469", "[::1]:7469" or "unix:/run/jescope.sock", to be freed. */
char *address_format(const Address *address);

/* The same without the port: "127.0.0.1", "::1"; NULL for a unix socket. An IPv4 address of an IPv6 socket is written
 * as IPv4. */
char *address_format_host(const Address *address);

/* Sets *OTHER to the other address of the name "localhost" at the port of ADDRESS: [::1] for 127.0.0.1, and the other
 * way round. FALSE for every other ADDRESS. */
gboolean address_other_of_localhost(const Address *address, Address *other);

/* Whether who listens on ADDRESS has OTHER, too: they are equal, or ADDRESS is every address of the port. */
gboolean address_covers(const Address *address, const Address *other);

/* Whether this machine has ADDRESS, so that a program could listen there. TRUE if unknown. */
gboolean address_exists(const Address *address);

/* Whether socket FD is of the network namespace of this process. FALSE if unknown. */
gboolean address_is_of_our_network(int fd);

/* Opens a listening socket, non-blocking and close-on-exec; -1 on error. A unix socket gets mode 0600 and replaces a
 * stale socket file. */
int address_listen(const Address *address, GError **error);

#endif
