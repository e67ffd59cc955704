/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The token file: tokens of clients, and their roles. One token per line, "ROLE TOKEN [NAME]" with ROLE "read" or
 * "control" and NAME for the audit; empty lines and those that begin with '#' are skipped.
 */
#ifndef JESCOPE_HTTP_TOKENS_H
#define JESCOPE_HTTP_TOKENS_H

#include "routes/message.h"

#include <glib.h>

#define TOKENS_ERROR (tokens_error_quark())
GQuark tokens_error_quark(void);

typedef enum {
    TOKENS_ERROR_FILE,   /* cannot be read */
    TOKENS_ERROR_MODE,   /* others can read or change it */
    TOKENS_ERROR_SYNTAX, /* a malformed line */
} TokensError;

enum {
    TOKEN_LENGTH_MIN = 16, /* characters; guessing one at 1000 per second is hopeless */
    TOKENS_MAX = 1024,
    TOKEN_DIGEST_SIZE = 32, /* SHA-256 */
};

typedef struct Tokens Tokens;

/* Errors contain PATH and the line number, never a token. */
Tokens *tokens_read(const char *path, GError **error);
Tokens *tokens_parse(const char *text, const char *path, GError **error);
void tokens_free(Tokens *tokens);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Tokens, tokens_free)

/* Finds the token TEXT in a time that does not depend on its similarity to a token. Sets *ROLE and returns the name ("a
 * token" if it has none), valid as long as TOKENS; NULL, with *ROLE unchanged, if there is no such token. */
const char *tokens_find(const Tokens *tokens, const char *text, RouteRole *role);

/* The digest of a token, and the same look-up by digest. */
void tokens_digest(const char *text, guint8 digest[TOKEN_DIGEST_SIZE]);
const char *tokens_find_digest(const Tokens *tokens, const guint8 digest[TOKEN_DIGEST_SIZE], RouteRole *role);

#endif
