/* SPDX-License-Identifier: Apache-2.0 */
#include "http/tokens.h"

#include <fcntl.h>
#include <gio/gio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

G_DEFINE_QUARK(jescope - tokens - error, tokens_error)

enum {
    FILE_MAX = 1024 * 1024,
    NAME_MAX_LENGTH = 64,
    DIGEST_SIZE = 32, /* SHA-256 */
};

/* Tokens themselves are not kept: what is compared are digests, all of one length. */
typedef struct {
    RouteRole role;
    guint8 digest[DIGEST_SIZE];
    char name[NAME_MAX_LENGTH + 1];
} Token;

struct Tokens {
    GArray *rows; /* of Token */
};

static void
digest(const char *text, guint8 *bytes)
{
    gsize size = DIGEST_SIZE;
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

/* The next word of *text, terminated, or NULL. */
static char *
take_word(char **text)
{
    char *word = *text + strspn(*text, " \t");
    size_t length = strcspn(word, " \t");
    *text = word + length + (word[length] != '\0');
    word[length] = '\0';
    return length > 0 ? word : NULL;
}

/* NULL: LINE is fine, or nothing; else what is wrong with it. */
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
        return "has no token of at least 16 characters; 'openssl rand -hex 32' makes one";
    if (rows->len == TOKENS_MAX)
        return "is one too many: 1024 tokens are the limit";
    digest(token, row.digest);
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

/* Looks at the file that is open, so that nobody can put another one in between. */
static gboolean
check_mode(int fd, const char *path, GError **error)
{
    struct stat facts;
    if (fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) && (facts.st_mode & 0007) == 0 && facts.st_size <= FILE_MAX)
        return TRUE;
    g_set_error(error, TOKENS_ERROR, TOKENS_ERROR_MODE,
                "the token file '%s' must be a regular file of at most 1 MiB that others cannot read; chmod 600 it",
                path);
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
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
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
tokens_find(const Tokens *tokens, const char *text, RouteRole *role)
{
    guint8 wanted[DIGEST_SIZE];
    const Token *found = NULL;
    digest(text, wanted);
    for (guint i = 0; i < tokens->rows->len; i++) {
        const Token *row = &g_array_index(tokens->rows, Token, i);
        volatile guint8 difference = 0;
        for (guint byte = 0; byte < DIGEST_SIZE; byte++)
            difference = difference | (row->digest[byte] ^ wanted[byte]);
        if (difference == 0)
            found = row;
    }
    if (found == NULL)
        return NULL;
    *role = found->role;
    return found->name;
}
