/* SPDX-License-Identifier: Apache-2.0 */
/* Files with the token that a server asks for. */
#ifndef JESCOPE_CLIENT_TOKEN_H
#define JESCOPE_CLIENT_TOKEN_H

#include <glib.h>

/* The text of the file PATH, to be freed. NULL with an error: it cannot be read, is too large, belongs to another user
 * than the caller and root, or others can read or change it. */
char *token_file_read(const char *path, GError **error);

/* The first token of the file PATH: of a line "TOKEN", or "ROLE TOKEN [NAME]" as in a token file of `jescope serve`;
 * visible ASCII. To be freed. NULL with an error: as token_file_read(), or it has no token. */
char *token_read(const char *path, GError **error);

#endif
