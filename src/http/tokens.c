/* SPDX-License-Identifier: Apache-2.0 */
#include "http/tokens.h"

#include "target/reach.h"

#include <fcntl.h>
#include <gio/gio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

G_DEFINE_QUARK(jescope_tokens_error, tokens_error)

enum {
    OTHERS_MODES = 0077,
    FILE_MAX = 1024 * 1024,
    NAME_MAX_LENGTH = 64,
};

/* Tokens themselves are not stored; digests of equal length are compared. */
typedef struct {
    RouteRole role;
    guint8 digest[TOKEN_DIGEST_SIZE];
    char name[NAME_MAX_LENGTH + 1];
} Token;

struct Tokens {
    GArray *rows; /* of Token */
};

void
tokens_digest(const char *text, guint8 bytes[TOKEN_DIGEST_SIZE])
{
    gsize size = TOKEN_DIGEST_SIZE;
    g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
    g_checksum_update(sum, (const guchar *)text, -1);
    g_checksum_get_digest(sum, bytes, &size);
}

static gboolean
parse_role(const char *word, RouteRole *role)
{
    static const struct {
        const char *word;
        RouteRole role;
    } rows[] = {{"read", ROUTE_ROLE_READ}, {"control", ROUTE_ROLE_CONTROL}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        if (strcmp(word, rows[i].word) == 0) {
            *role = rows[i].role;
            return TRUE;
        }
    return FALSE;
}

/* The next word of *TEXT, NUL-terminated, or NULL. */
static char *
take_word(char **text)
{
    char *word = *text + strspn(*text, " \t");
    size_t length = strcspn(word, " \t");
    *text = word + length + (word[length] != '\0');
    word[length] = '\0';
    return length > 0 ? word : NULL;
}

/* Adds the token in LINE to ROWS. NULL if LINE is valid or empty, otherwise its error. */
static const char *
parse_line(char *line, GArray *rows)
{
    Token row = {.name = "a token"};
    char *role = take_word(&line);
    if (role == NULL || role[0] == '#')
        return NULL;
    char *token = take_word(&line);
    char *name = take_word(&line);
    if (!parse_role(role, &row.role))
        return "begins with neither 'read' nor 'control'";
    if (token == NULL || strlen(token) < TOKEN_LENGTH_MIN)
        return "has no token of at least 16 characters; create one with 'openssl rand -hex 32'";
    if (rows->len == TOKENS_MAX)
        return "exceeds the limit of 1024 tokens";
    tokens_digest(token, row.digest);
    if (name != NULL && (strlen(name) > NAME_MAX_LENGTH || !g_str_is_ascii(name)))
        return "names its token with more than 64 characters, or not in ASCII";
    if (name != NULL)
        g_strlcpy(row.name, name, sizeof(row.name));
    g_array_append_val(rows, row);
    return NULL;
}

Tokens *
tokens_parse(const char *text, const char *path, GError **error)
{
    g_autoptr(Tokens) tokens = g_new0(Tokens, 1);
    tokens->rows = g_array_new(FALSE, FALSE, sizeof(Token));
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (guint i = 0; lines[i] != NULL; i++) {
        const char *wrong = parse_line(g_strchomp(lines[i]), tokens->rows);
        if (wrong != NULL) {
            g_set_error(error, TOKENS_ERROR, TOKENS_ERROR_SYNTAX, "line %u of the token file '%s' %s", i + 1, path,
                        wrong);
            return NULL;
        }
    }
    if (tokens->rows->len == 0) {
        g_set_error(error, TOKENS_ERROR, TOKENS_ERROR_SYNTAX,
                    "the token file '%s' has no token; write 'control TOKEN NAME' into it", path);
        return NULL;
    }
    return g_steal_pointer(&tokens);
}

/* Checks the open file, so that it cannot be replaced in between. */
static gboolean
check_mode(int fd, const char *path, GError **error)
{
    struct stat facts;
    if (fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_size > FILE_MAX) {
        g_set_error(error, TOKENS_ERROR, TOKENS_ERROR_MODE,
                    "the token file '%s' must be a regular file of at most 1 MiB", path);
        return FALSE;
    }
    if (facts.st_uid != 0 && facts.st_uid != reach_user()) {
        g_set_error(error, TOKENS_ERROR, TOKENS_ERROR_MODE,
                    "the token file '%s' belongs to uid %u, which could add tokens; chown it to root or uid %u", path,
                    facts.st_uid, reach_user());
        return FALSE;
    }
    if ((facts.st_mode & OTHERS_MODES) == 0)
        return TRUE;
    g_set_error(error, TOKENS_ERROR, TOKENS_ERROR_MODE,
                "the token file '%s' has mode %04o, and others can read or change it; chmod 600 it", path,
                facts.st_mode & 07777);
    return FALSE;
}

static char *
read_all(int fd)
{
    g_autofree char *text = g_malloc(FILE_MAX + 1);
    size_t length = 0;
    ssize_t got;
    while (length < FILE_MAX && (got = read(fd, text + length, FILE_MAX - length)) > 0)
        length += (size_t)got;
    text[length] = '\0';
    return g_steal_pointer(&text);
}

Tokens *
tokens_read(const char *path, GError **error)
{
    int fd = reach_open_setting(path);
    if (fd < 0) {
        int code = errno;
        g_set_error(error, TOKENS_ERROR, TOKENS_ERROR_FILE, "cannot read the token file '%s': %s", path,
                    g_strerror(code));
        return NULL;
    }
    Tokens *tokens = NULL;
    if (check_mode(fd, path, error)) {
        char *text = read_all(fd);
        tokens = tokens_parse(text, path, error);
        explicit_bzero(text, strlen(text));
        g_free(text);
    }
    close(fd);
    return tokens;
}

void
tokens_free(Tokens *tokens)
{
    g_array_unref(tokens->rows);
    g_free(tokens);
}

const char *
tokens_find_digest(const Tokens *tokens, const guint8 wanted[TOKEN_DIGEST_SIZE], RouteRole *role)
{
    const Token *found = NULL;
    for (guint i = 0; i < tokens->rows->len; i++) {
        const Token *row = &g_array_index(tokens->rows, Token, i);
        volatile guint8 difference = 0;
        for (guint byte = 0; byte < TOKEN_DIGEST_SIZE; byte++)
            difference = difference | (row->digest[byte] ^ wanted[byte]);
        if (difference == 0)
            found = row;
    }
    if (found == NULL)
        return NULL;
    *role = found->role;
    return found->name;
}

const char *
tokens_find(const Tokens *tokens, const char *text, RouteRole *role)
{
    guint8 wanted[TOKEN_DIGEST_SIZE];
    tokens_digest(text, wanted);
    return tokens_find_digest(tokens, wanted, role);
}
