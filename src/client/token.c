/* SPDX-License-Identifier: Apache-2.0 */
#include "client/token.h"

#include "target/target.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    TOKEN_FILE_MAX = 64 * 1024,
};

gboolean
token_is_role(const char *word)
{
    return g_str_equal(word, "read") || g_str_equal(word, "control");
}

/* The token in LINE, "TOKEN" or, as in a token file of `jescope serve`, "ROLE TOKEN [NAME]"; NULL: there is none. */
static char *
token_in(const char *line)
{
    g_auto(GStrv) words = g_strsplit_set(line, " \t\r", -1);
    gboolean role = words[0] != NULL && token_is_role(words[0]);
    const char *token = role ? words[1] : words[0];
    gboolean sound = token != NULL && token[0] != '\0' && token[0] != '#';
    for (const char *at = token; sound && *at != '\0'; at++)
        sound = g_ascii_isgraph(*at);
    return sound ? g_strdup(token) : NULL;
}

/* Checks the open file, so that it cannot be replaced in between. A pipe ("<(pass show jescope)" in a shell) has the
 * permissions of its directory. */
static gboolean
check_file(int fd, const char *path, GError **error)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || S_ISDIR(st.st_mode) || st.st_size > TOKEN_FILE_MAX)
        g_set_error(error, TARGET_ERROR, OUTCOME_INVALID,
                    "the token file %s is not a file of at most %d KiB; give one with a line 'TOKEN' or 'ROLE TOKEN'",
                    path, TOKEN_FILE_MAX / 1024);
    else if (st.st_uid != 0 && st.st_uid != geteuid())
        g_set_error(error, TARGET_ERROR, OUTCOME_INVALID,
                    "the token file %s belongs to uid %u, which can read and change it; chown it to uid %u or root",
                    path, st.st_uid, geteuid());
    else if (S_ISREG(st.st_mode) && (st.st_mode & 077) != 0)
        g_set_error(error, TARGET_ERROR, OUTCOME_INVALID,
                    "the token file %s has mode %04o, and others can read or change it; chmod 600 it", path,
                    st.st_mode & 07777);
    else
        return TRUE;
    return FALSE;
}

/* Returns NULL with errno. */
static char *
read_whole(int fd)
{
    g_autofree char *text = g_malloc0(TOKEN_FILE_MAX + 1);
    gsize length = 0;
    for (ssize_t got = 1; got > 0 && length < TOKEN_FILE_MAX; length += (gsize)got)
        if ((got = read(fd, text + length, TOKEN_FILE_MAX - length)) < 0)
            return NULL;
    return g_steal_pointer(&text);
}

char *
token_file_read(const char *path, GError **error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd >= 0 && !check_file(fd, path, error)) {
        close(fd);
        return NULL;
    }
    char *text = fd >= 0 ? read_whole(fd) : NULL;
    int code = errno;
    if (fd >= 0)
        close(fd);
    if (text == NULL)
        g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(code), "cannot read the token file %s: %s", path,
                    g_strerror(code));
    return text;
}

char *
token_read(const char *path, GError **error)
{
    g_autofree char *text = token_file_read(path, error);
    if (text == NULL)
        return NULL;
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    char *token = NULL;
    for (char **line = lines; *line != NULL && token == NULL; line++)
        token = token_in(*line);
    if (token == NULL)
        g_set_error(error, TARGET_ERROR, OUTCOME_INVALID, "the token file %s has no token", path);
    return token;
}
