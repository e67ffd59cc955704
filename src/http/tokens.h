/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The token file: the clients of other machines, and their roles. One token per line, "ROLE TOKEN [NAME]" with ROLE
 * "read" or "control" and NAME for the audit; empty lines and those that begin with '#' are skipped.
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

/* Errors name PATH and the line, never a token. */
Tokens *tokens_read(const char *path, GError **error);
Tokens *tokens_parse(const char *text, const char *path, GError **error);
void tokens_free(Tokens *tokens);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Tokens, tokens_free)

/* Takes the same time whatever TEXT has in common with a token. NULL: no such token, *role untouched; else its name
 * ("a token" if it has none), valid as long as TOKENS. */
const char *tokens_find(const Tokens *tokens, const char *text, RouteRole *role);

/* The digest by which a token is known here, and the same look-up by it. */
void tokens_digest(const char *text, guint8 digest[TOKEN_DIGEST_SIZE]);
const char *tokens_find_digest(const Tokens *tokens, const guint8 digest[TOKEN_DIGEST_SIZE], RouteRole *role);

#endif
