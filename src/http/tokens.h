/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The token file: who may do what without being on this machine. One token per line, "ROLE TOKEN [NAME]" with ROLE
 * "read" or "control" and NAME for the audit; empty lines and those that begin with '#' are skipped.
 */
#ifndef JESCOPE_HTTP_TOKENS_H
#define JESCOPE_HTTP_TOKENS_H

#include "routes/routes.h"

#include <glib.h>

#define TOKENS_ERROR (tokens_error_quark())
GQuark tokens_error_quark(void);

typedef enum {
    TOKENS_ERROR_FILE,   /* cannot be read */
    TOKENS_ERROR_MODE,   /* others can read it */
    TOKENS_ERROR_SYNTAX, /* a line is none of the above */
} TokensError;

enum {
    TOKEN_LENGTH_MIN = 16, /* characters; a guess at 1000 per second then takes longer than anybody waits */
    TOKENS_MAX = 1024,
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

#endif
