/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/aside.h"

#include "etc-file.h"

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

/* Of those of HOSTILE some never end; the others are OTHER's. */
enum { ITEMS = 40 };

typedef struct {
    guint taken[ITEMS], not_taken;
} Taken;

static uid_t
user_of(gconstpointer data, guint i)
{
    return i % 4 == 1 ? HOSTILE + 1 : OTHER;
}

static void
each(gpointer data, guint i, gpointer answer)
{
    if (user_of(data, i) != OTHER)
        wait_for_ever(NULL, NULL);
    if (i == 0) { /* nothing waits in a child for another child */
        ChannelMessage nested = {.bytes = answer, .size = sizeof(guint64)};
        char text[] = "nested";
        g_assert_true(aside_is_inside());
        g_assert_cmpint(aside_run(give_a_file, text, OTHER, &nested), ==, ASIDE_DONE);
        return;
    }
    *(guint64 *)answer = 1000 + i;
}

static void
take(gpointer data, guint i, gconstpointer answer)
{
    Taken *taken = data;
    if (answer == NULL)
        taken->not_taken++;
    else if (i > 0)
        taken->taken[i] = (guint) * (const guint64 *)answer;
    else
        g_assert_cmpstr(answer, ==, "nested");
}

/* Three of a user are waited for, its others are passed over, and those of others are all done. */
static void
test_each(void)
{
    Taken taken = {0};
    const AsideList list = {.n = ITEMS, .size = sizeof(guint64), .data = &taken, .each = each, .user = user_of};
    aside_each(&list, take);
    g_assert_cmpuint(taken.not_taken, ==, ITEMS / 4);
    for (guint i = 1; i < ITEMS; i++)
        g_assert_cmpuint(taken.taken[i], ==, i % 4 == 1 ? 0 : 1000 + i);
    g_assert_false(aside_is_inside());
    aside_each(&(AsideList){.n = 0, .size = 8, .data = &taken, .each = each, .user = user_of}, take);
}

/* ---- answers that come late, each in time ---- */

enum { LATE = HOSTILE + 2, LATE_ITEMS = 60, LATE_US = 500000 };

static uid_t
user_of_late(gconstpointer data, guint i)
{
    return i % 4 == 1 ? OTHER : LATE;
}

static void
late(gpointer data, guint i, gpointer answer)
{
    if (user_of_late(data, i) == LATE)
        g_usleep(LATE_US);
    *(guint64 *)answer = i;
}

static void
take_late(gpointer data, guint i, gconstpointer answer)
{
    guint *passed_over = data;
    if (user_of_late(data, i) == LATE)
        *passed_over += answer == NULL;
    else
        g_assert_true(answer != NULL && *(const guint64 *)answer == i);
}

static void
be_late(gpointer data, ChannelMessage *answer)
{
    g_usleep(LATE_US);
}

/* Together they may not take longer than those that are given up. */
static void
test_late(void)
{
    guint passed_over = 0, n = 0;
    const AsideList list = {
        .n = LATE_ITEMS, .size = sizeof(guint64), .data = &passed_over, .each = late, .user = user_of_late};
    aside_each(&list, take_late);
    g_assert_cmpuint(passed_over, >, 0);
    g_assert_cmpint(run(be_late, LATE), ==, ASIDE_NOT_BEGUN);
    while (n < LATE_ITEMS && run(be_late, LATE + 1) == ASIDE_DONE)
        n++;
    g_assert_cmpuint(n, <, LATE_ITEMS);
    test_answer();
}

/* ---- answers that take much of a processor ---- */

enum { BUSY = HOSTILE + 4, BUSY_ITEMS = 100, BUSY_US = 300000 };

static uid_t
user_of_busy(gconstpointer data, guint i)
{
    return i % 4 == 1 ? OTHER : BUSY;
}

static void
busy(gpointer data, guint i, gpointer answer)
{
    const gint64 until = g_get_monotonic_time() + (user_of_busy(data, i) == BUSY ? BUSY_US : 0);
    while (g_get_monotonic_time() < until)
        continue;
    *(guint64 *)answer = i;
}

static void
take_busy(gpointer data, guint i, gconstpointer answer)
{
    guint *passed_over = data;
    if (user_of_busy(data, i) == BUSY)
        *passed_over += answer == NULL;
    else
        g_assert_true(answer != NULL && *(const guint64 *)answer == i);
}

/* As maps of many mappings: the kernel writes them without waiting for anything. */
static void
test_busy(void)
{
    guint passed_over = 0;
    const AsideList list = {
        .n = BUSY_ITEMS, .size = sizeof(guint64), .data = &passed_over, .each = busy, .user = user_of_busy};
    aside_each(&list, take_busy);
    g_assert_cmpuint(passed_over, >, 0);
    g_assert_cmpuint(passed_over, <, BUSY_ITEMS * 3 / 4);
    test_answer();
}

/* Once something was given up for a user, its next one is waited for for a shorter time. */
static void
test_given_up_again(void)
{
    const gint64 begin = g_get_monotonic_time();
    for (guint i = 0; i < 3; i++)
        g_assert_cmpint(run(wait_for_ever, HOSTILE + 5), ==, ASIDE_GIVEN_UP);
    g_assert_cmpint(g_get_monotonic_time() - begin, <, 8 * G_USEC_PER_SEC); /* 3 s three times would be more */
}

/* ---- an end for work on behalf of many users ---- */

enum { MANY = HOSTILE + 100, MANY_ITEMS = 60, END_S = 25, LONGEST_S = 2, LIST_S = 2 };

static uid_t
user_of_many(gconstpointer data, guint i)
{
    return i % 3 == 2 ? OTHER : MANY + i;
}

static void
wait_for_many(gpointer data, guint i, gpointer answer)
{
    if (user_of_many(data, i) != OTHER)
        wait_for_ever(NULL, NULL);
    *(guint64 *)answer = i;
}

typedef struct {
    guint done, of_other;
} Done;

static void
take_many(gpointer data, guint i, gconstpointer answer)
{
    Done *done = data;
    done->done += answer != NULL;
    done->of_other += user_of_many(data, i) == OTHER;
}

/* Each user delays one item: 3 s for each would be two minutes. */
static void
test_many_users(void)
{
    Done done = {0};
    const gint64 begin = g_get_monotonic_time();
    const AsideList list = {
        .n = MANY_ITEMS, .size = sizeof(guint64), .data = &done, .each = wait_for_many, .user = user_of_many};
    aside_set_end(begin + END_S * G_USEC_PER_SEC);
    aside_each(&list, take_many);
    g_assert_cmpuint(done.done, ==, done.of_other);
    g_assert_false(aside_has_ended());
    aside_set_end(0);
}

/* Users who were not slow before. */
static uid_t
user_of_new(gconstpointer data, guint i)
{
    const uid_t user = user_of_many(data, i);
    return user == OTHER ? OTHER : user + MANY_ITEMS;
}

/* The same where a list has a time of its own. What is left over is not the fault of its user. */
static void
test_list_end(void)
{
    Done done = {0};
    const gint64 begin = g_get_monotonic_time();
    const AsideList list = {.n = MANY_ITEMS,
                            .size = sizeof(guint64),
                            .data = &done,
                            .each = wait_for_many,
                            .user = user_of_new,
                            .most_ms = LIST_S * 1000};
    aside_each(&list, take_many);
    g_assert_cmpint(g_get_monotonic_time() - begin, <, (LIST_S + LONGEST_S) * G_USEC_PER_SEC);
    g_assert_cmpuint(done.done, >, 0);
    g_assert_cmpuint(done.done, <, done.of_other);
    g_assert_true(aside_list_has_ended());
    g_assert_false(aside_has_ended());
    test_answer();
    test_each();
    g_assert_false(aside_list_has_ended());
}

/* ---- many items of one user, each in time ---- */

enum { CROWD = HOSTILE + 200, CROWD_ITEMS = 100, CROWD_US = 50000, NEW_ITEMS = 3, KNOWN_ITEMS = 20 };

/* Those of users with few items come last in the list. */
static uid_t
user_in_crowd(gconstpointer data, guint i)
{
    return i < CROWD_ITEMS ? CROWD : i < CROWD_ITEMS + NEW_ITEMS ? CROWD + 1 : OTHER;
}

static void
take_a_while(gpointer data, guint i, gpointer answer)
{
    const gint64 until = g_get_monotonic_time() + (user_in_crowd(data, i) == CROWD ? CROWD_US : 0);
    while (g_get_monotonic_time() < until)
        continue;
    *(guint64 *)answer = i;
}

static void
take_in_crowd(gpointer data, guint i, gconstpointer answer)
{
    guint *left_out = data;
    g_assert_true(answer == NULL || *(const guint64 *)answer == i);
    left_out[user_in_crowd(data, i) == CROWD] += answer == NULL;
}

/* Also if it was prompt, and others are new: it has the time that they do not need. */
static void
test_crowd(void)
{
    guint left_out[2] = {0};
    const AsideList list = {.n = CROWD_ITEMS + NEW_ITEMS + KNOWN_ITEMS,
                            .size = sizeof(guint64),
                            .data = left_out,
                            .each = take_a_while,
                            .user = user_in_crowd,
                            .most_ms = LIST_S * 1000};
    char text[16], word[] = "a word";
    ChannelMessage answer = {.bytes = text, .size = sizeof(text)};
    g_assert_cmpint(aside_run(give_a_file, word, CROWD, &answer), ==, ASIDE_DONE);
    channel_close_fds(&answer);
    aside_each(&list, take_in_crowd);
    g_assert_cmpuint(left_out[0], ==, 0);
    g_assert_cmpuint(left_out[1], >, 0);
    g_assert_cmpuint(left_out[1], <, CROWD_ITEMS);
    g_assert_true(aside_list_has_ended());
}

static void
test_manner(void)
{
    const uid_t user = HOSTILE + 8;
    g_assert_cmpint(aside_manner(user), ==, ASIDE_UNKNOWN);
    test_answer();
    g_assert_cmpint(aside_manner(OTHER), ==, ASIDE_PROMPT);
    g_assert_cmpint(run(wait_for_ever, user), ==, ASIDE_GIVEN_UP);
    g_assert_cmpint(aside_manner(user), ==, ASIDE_SLOW);
    test_each();
    g_assert_cmpint(aside_manner(OTHER), ==, ASIDE_PROMPT);
}

/* Work for as many subordinate ids of a user as one likes is given up as often as for one. */
static void
test_subordinate_ids(void)
{
    if (!etc_file_replace("/etc/subuid", "65531:200000:65536\n")) {
        g_test_skip("needs mounts of its own, and /etc/subuid");
        return;
    }
    for (guint i = 0; i < 3; i++)
        g_assert_cmpint(run(wait_for_ever, 200000 + i), ==, ASIDE_GIVEN_UP);
    g_assert_cmpint(run(wait_for_ever, 200003), ==, ASIDE_NOT_BEGUN);
    g_assert_cmpint(aside_manner(200004), ==, ASIDE_SLOW);
    test_answer();
}

static void
test_end(void)
{
    Done done = {0};
    const gint64 begin = g_get_monotonic_time();
    const AsideList list = {
        .n = MANY_ITEMS, .size = sizeof(guint64), .data = &done, .each = wait_for_many, .user = user_of_many};
    aside_set_end(begin + G_USEC_PER_SEC);
    aside_each(&list, take_many);
    g_assert_cmpint(g_get_monotonic_time() - begin, <, (1 + LONGEST_S) * G_USEC_PER_SEC);
    g_assert_cmpuint(done.done, <=, done.of_other);
    g_assert_true(aside_has_ended());
    g_assert_cmpint(run(die, OTHER + 1), ==, ASIDE_NOT_BEGUN);
    g_assert_false(aside_is_delayed_by(OTHER + 1));
    aside_set_end(0);
    test_answer();
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/aside/subordinate-ids", test_subordinate_ids); /* before the file is read */
    g_test_add_func("/aside/answer", test_answer);
    g_test_add_func("/aside/given-up", test_given_up);
    g_test_add_func("/aside/death", test_death);
    g_test_add_func("/aside/each", test_each);
    g_test_add_func("/aside/late", test_late);
    g_test_add_func("/aside/busy", test_busy);
    g_test_add_func("/aside/given-up-again", test_given_up_again);
    g_test_add_func("/aside/many-users", test_many_users);
    g_test_add_func("/aside/list-end", test_list_end);
    g_test_add_func("/aside/crowd", test_crowd);
    g_test_add_func("/aside/manner", test_manner);
    g_test_add_func("/aside/end", test_end);
    return g_test_run();
}
