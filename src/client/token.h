/* SPDX-License-Identifier: Apache-2.0 */
/* Files with the token that a server requires. */
#ifndef JESCOPE_CLIENT_TOKEN_H
#define JESCOPE_CLIENT_TOKEN_H

#include <glib.h>

/* The text of the file PATH, to be freed. NULL with an error: it cannot be read, is too large, is owned by neither the
 * caller nor root, or others can read or change it. */
char *token_file_read(const char *path, GError **error);

/* Whether WORD begins a line of a token file of `jescope serve`. */
gboolean token_is_role(const char *word);

/* The first token of the file PATH, from a line "TOKEN", or "ROLE TOKEN [NAME]" as in a token file of `jescope serve`;
 * visible ASCII. To be freed. NULL with an error: as for token_file_read(), or the file has no token. */
char *token_read(const char *path, GError **error);

#endif
