/* SPDX-License-Identifier: Apache-2.0 */
#include "http/sessions.h"

#include <string.h>

enum {
    ALICE = 1000,
    MALLORY = 1001,
};

static const char token[] = "control-0123456789abcdef";
static const char other_token[] = "read-0123456789abcdef";

static void
test_life(void)
{
    g_autoptr(Sessions) sessions = sessions_new();
    g_autofree char *id = sessions_begin(sessions, token, ALICE, 0);
    g_autofree char *second = sessions_begin(sessions, token, ALICE, 1);
    guint8 digest[TOKEN_DIGEST_SIZE];
    tokens_digest(token, digest);
    gint64 end = SESSION_SECONDS * (gint64)G_USEC_PER_SEC;
    g_assert_cmpstr(id, !=, second);
    g_assert_cmpuint(strlen(id), ==, SESSION_ID_DIGITS);
    const Session *session = sessions_find(sessions, id, ALICE, end - 1);
    g_assert_nonnull(session);
    g_assert_cmpmem(session->token, TOKEN_DIGEST_SIZE, digest, TOKEN_DIGEST_SIZE);
    g_assert_null(sessions_find(sessions, id, ALICE, end));
    g_assert_null(sessions_find(sessions, id, MALLORY, 1));
    g_assert_null(sessions_find(sessions, token, ALICE, 1));
    g_assert_cmpuint(sessions_expire(sessions, end), ==, 1);
    g_assert_nonnull(sessions_find(sessions, second, ALICE, end));
    sessions_end(sessions, second);
    g_assert_null(sessions_find(sessions, second, ALICE, end));
}

/* One token cannot fill the memory, nor end the sessions of another. */
static void
test_bounded(void)
{
    g_autoptr(Sessions) sessions = sessions_new();
    g_autofree char *other = sessions_begin(sessions, other_token, ALICE, 0);
    g_autofree char *first = sessions_begin(sessions, token, ALICE, 1);
    for (int i = 1; i < SESSIONS_OF_TOKEN_MAX; i++)
        g_free(sessions_begin(sessions, token, ALICE, i + 1));
    g_assert_nonnull(sessions_find(sessions, first, ALICE, 100));
    g_free(sessions_begin(sessions, token, ALICE, 100));
    g_assert_null(sessions_find(sessions, first, ALICE, 100));
    g_assert_nonnull(sessions_find(sessions, other, ALICE, 100));
}

static void
test_cookies(void)
{
#define ID    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "1123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
    static const struct {
        const char *cookie, *id;
    } rows[] = {
        {NULL, NULL},
        {"", NULL},
        {";;=;", NULL},
        {"s=" ID, ID},
        {"a=b; s=" ID "; c", ID},
        {" s = " ID " ", ID},
        {"xs=" ID, NULL},
        {"s=" ID "0", NULL},
        {"s=\"" ID "\"", NULL},
        {"s=" ID "; s=" OTHER, NULL},
        {"s=" OTHER "; s=" ID, NULL},
        {"s; s=" ID, ID},
        {"S=" ID, NULL},
        {"s=0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef", NULL},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *id = sessions_id_of_cookie(rows[i].cookie, "s");
        g_assert_cmpstr(id, ==, rows[i].id);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/http/sessions/life", test_life);
    g_test_add_func("/http/sessions/bounded", test_bounded);
    g_test_add_func("/http/sessions/cookies", test_cookies);
    return g_test_run();
}
