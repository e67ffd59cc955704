/* SPDX-License-Identifier: Apache-2.0 */
/* Files with the token that a server asks for. */
#ifndef JESCOPE_CLIENT_TOKEN_H
#define JESCOPE_CLIENT_TOKEN_H

#include <glib.h>

/* The first token of the file PATH: of a line "TOKEN", or "ROLE TOKEN [NAME]" as in a token file of `jescope serve`;
 * visible ASCII. To be freed. NULL with an error: no token, or users other than the owner can read it. */
char *token_read(const char *path, GError **error);

#endif
