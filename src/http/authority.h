/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the authority of a URL, as in Host and Origin: "localhost:7469", "[::1]". Pure and thread-safe. */
#ifndef JESCOPE_HTTP_AUTHORITY_H
#define JESCOPE_HTTP_AUTHORITY_H

/* The host in AUTHORITY, HOST or HOST:PORT, without brackets; free with g_free(). NULL if AUTHORITY has another form
 * ("[::1]evil.com", "localhost:80@evil.com"). */
char *authority_host(const char *authority);

/* The port in AUTHORITY, which authority_host() has accepted: "7469"; "" for none. */
const char *authority_port(const char *authority);

#endif
