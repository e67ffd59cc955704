/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/aside.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { HOSTILE = 12345, OTHER = 23456 };

static int here = 1;

static void
give_a_file(gpointer data, ChannelMessage *answer)
{
    here = 2;
    g_strlcpy(answer->bytes, data, answer->size);
    answer->fds[answer->n_fds++] = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void
test_answer(void)
{
    char text[16] = "";
    char word[] = "a word";
    ChannelMessage answer = {.bytes = text, .size = sizeof(text)};
    g_assert_cmpint(aside_run(give_a_file, word, OTHER, &answer), ==, ASIDE_DONE);
    g_assert_cmpstr(text, ==, word);
    g_assert_cmpuint(answer.n_fds, ==, 1);
    g_assert_cmpint(fcntl(answer.fds[0], F_GETFD), ==, FD_CLOEXEC);
    g_assert_cmpint(here, ==, 1);
    channel_close_fds(&answer);
}

static void
wait_for_ever(gpointer data, ChannelMessage *answer)
{
    for (;;)
        pause();
}

static void
die(gpointer data, ChannelMessage *answer)
{
    _exit(1);
}

static AsideEnd
run(AsideWork work, uid_t user)
{
    char none = 0;
    ChannelMessage answer = {.bytes = &none, .size = sizeof(none)};
    return aside_run(work, NULL, user, &answer);
}

/* Three times, and then no more for the same user. */
static void
test_given_up(void)
{
    for (guint i = 0; i < 3; i++)
        g_assert_cmpint(run(wait_for_ever, HOSTILE), ==, ASIDE_GIVEN_UP);
    g_assert_cmpint(run(wait_for_ever, HOSTILE), ==, ASIDE_NOT_BEGUN);
    test_answer();
}

static void
test_death(void)
{
    g_assert_cmpint(run(die, OTHER), ==, ASIDE_GIVEN_UP);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/aside/answer", test_answer);
    g_test_add_func("/aside/given-up", test_given_up);
    g_test_add_func("/aside/death", test_death);
    return g_test_run();
}
