/* SPDX-License-Identifier: Apache-2.0 */
/* The authority of a URL, as Host and Origin have it: "localhost:7469", "[::1]". Pure, thread safe. */
#ifndef JESCOPE_HTTP_AUTHORITY_H
#define JESCOPE_HTTP_AUTHORITY_H

/* The host in AUTHORITY, which is HOST or HOST:PORT, without brackets; free with g_free(). NULL: it is neither, or has
 * more to it ("[::1]evil.com", "localhost:80@evil.com"). */
char *authority_host(const char *authority);

/* The port in AUTHORITY, which authority_host() has taken: "7469"; "" for none. */
const char *authority_port(const char *authority);

#endif
