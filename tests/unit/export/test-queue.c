/* SPDX-License-Identifier: Apache-2.0 */
#include "export/queue.h"

#include "export/sink.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char url[] = "put://example.com/";

enum {
    BOUND = 1 << 20,
    HONEST = 5002,
    OTHER = 5001,
};

typedef struct {
    char *root;
} Fixture;

static void
set_up(Fixture *fixture, gconstpointer data)
{
    fixture->root = g_dir_make_tmp("jescope-queue-XXXXXX", NULL);
}

static void
remove_all(const char *path)
{
    g_autoptr(GDir) directory = g_dir_open(path, 0, NULL);
    const char *name;
    while (directory != NULL && (name = g_dir_read_name(directory)) != NULL) {
        g_autofree char *entry = g_build_filename(path, name, NULL);
        remove_all(entry);
    }
    g_remove(path);
}

static void
tear_down(Fixture *fixture, gconstpointer data)
{
    remove_all(fixture->root);
    g_free(fixture->root);
}

static Queue *
open_queue(const Fixture *fixture, guint64 max_bytes)
{
    g_autoptr(GError) error = NULL;
    Queue *queue = queue_open(fixture->root, url, max_bytes, &error);
    g_assert_no_error(error);
    return queue;
}

static void
add_of(Queue *queue, guint64 account, const char *text)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GBytes) content = g_bytes_new(text, strlen(text));
    g_assert_true(queue_add(queue, content, account, &error));
    g_assert_no_error(error);
}

static void
add(Queue *queue, const char *text)
{
    add_of(queue, HONEST, text);
}

/* The contents that wait, "|" between them. */
static char *
waiting(Queue *queue, guint n)
{
    g_autoptr(GPtrArray) entries = queue_oldest(queue, n, G_MAXUINT64, NULL);
    g_autoptr(GString) all = g_string_new(NULL);
    for (guint i = 0; i < entries->len; i++) {
        const QueueEntry *entry = entries->pdata[i];
        gsize size = 0;
        const char *text = entry->content != NULL ? g_bytes_get_data(entry->content, &size) : NULL;
        g_string_append_printf(all, "%s%.*s", i > 0 ? "|" : "", (int)size, text != NULL ? text : "");
        if (text == NULL)
            g_string_append(all, "damaged");
    }
    return g_string_free(g_steal_pointer(&all), FALSE);
}

static void
assert_waiting(Queue *queue, const char *wanted)
{
    g_autofree char *found = waiting(queue, 100);
    g_assert_cmpstr(found, ==, wanted);
}

static QueueFigures
figures_of(Queue *queue)
{
    QueueFigures figures;
    g_assert_true(queue_figures(queue, &figures, NULL));
    return figures;
}

static guint64
first_number(Queue *queue)
{
    g_autoptr(GPtrArray) entries = queue_oldest(queue, 1, G_MAXUINT64, NULL);
    return ((const QueueEntry *)entries->pdata[0])->number;
}

static gint
by_name(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The directory of the queue's files; to be freed. */
static char *
place_of(const Fixture *fixture)
{
    g_autofree char *digest = g_compute_checksum_for_string(G_CHECKSUM_SHA256, url, -1);
    g_autofree char *place = g_strndup(digest, 16);
    return g_build_filename(fixture->root, place, NULL);
}

/* The files of entries, in order. */
static GPtrArray *
files_of(const Fixture *fixture)
{
    g_autofree char *path = place_of(fixture);
    g_autoptr(GDir) directory = g_dir_open(path, 0, NULL);
    GPtrArray *files = g_ptr_array_new_with_free_func(g_free);
    const char *name;
    while ((name = g_dir_read_name(directory)) != NULL)
        if (g_str_has_suffix(name, ".batch"))
            g_ptr_array_add(files, g_build_filename(path, name, NULL));
    g_ptr_array_sort(files, by_name);
    return files;
}

/* In order, also after it was opened again, and numbers are not used twice. */
static void
test_order(Fixture *fixture, gconstpointer data)
{
    g_autoptr(Queue) queue = open_queue(fixture, 1 << 20);
    add(queue, "one");
    add(queue, "two");
    add(queue, "three");
    g_assert_true(queue_settle(queue, first_number(queue), QUEUE_SENT, NULL));
    g_autoptr(Queue) again = open_queue(fixture, 1 << 20);
    add(again, "four");
    assert_waiting(again, "two|three|four");
    g_autofree char *two = waiting(again, 2);
    g_assert_cmpstr(two, ==, "two|three");
    g_assert_cmpuint(figures_of(again).sent, ==, 1);
    g_assert_cmpuint(figures_of(again).waiting, ==, 3);
}

static void
test_numbers_after_all(Fixture *fixture, gconstpointer data)
{
    g_autoptr(Queue) queue = open_queue(fixture, 1 << 20);
    add(queue, "one");
    guint64 number = first_number(queue);
    g_assert_true(queue_settle(queue, number, QUEUE_SENT, NULL));
    add(queue, "two");
    g_assert_cmpuint(first_number(queue), ==, number + 1);
}

/* What the bytes leave no room for goes oldest first, and is counted. */
static void
test_bound(Fixture *fixture, gconstpointer data)
{
    g_autoptr(Queue) queue = open_queue(fixture, 200);
    g_autoptr(GError) error = NULL;
    for (guint i = 0; i < 10; i++) {
        g_autofree char *text = g_strdup_printf("entry %u", i);
        g_autoptr(GBytes) content = g_bytes_new(text, strlen(text));
        g_assert_true(queue_add(queue, content, HONEST, NULL));
        g_assert_cmpuint(figures_of(queue).waiting_bytes, <=, 200);
    }
    QueueFigures figures = figures_of(queue);
    g_assert_cmpuint(figures.waiting, >=, 1);
    g_assert_cmpuint(figures.waiting + figures.dropped, ==, 10);
    g_autofree char *all = waiting(queue, 100);
    g_assert_true(g_str_has_suffix(all, "entry 9"));
    g_autoptr(GRand) random = g_rand_new_with_seed(1);
    guint8 noise[400];
    for (guint i = 0; i < sizeof(noise); i++)
        noise[i] = (guint8)g_rand_int(random);
    g_autoptr(GBytes) large = g_bytes_new_static(noise, sizeof(noise));
    g_assert_false(queue_add(queue, large, HONEST, &error));
    g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_FILE);
    g_assert_cmpuint(figures_of(queue).waiting, ==, figures.waiting);
}

/* An entry that was dropped while it was being sent is not counted as both. */
static void
test_dropped_meanwhile(Fixture *fixture, gconstpointer data)
{
    g_autoptr(Queue) queue = open_queue(fixture, 200);
    add(queue, "first");
    guint64 number = first_number(queue);
    for (guint i = 0; i < 5; i++)
        add(queue, "later");
    guint64 dropped = figures_of(queue).dropped;
    g_assert_cmpuint(dropped, >=, 1);
    g_assert_true(queue_settle(queue, number, QUEUE_SENT, NULL));
    g_assert_cmpuint(figures_of(queue).sent, ==, 0);
    g_assert_cmpuint(figures_of(queue).dropped, ==, dropped);
}

static void
test_damaged(Fixture *fixture, gconstpointer data)
{
    g_autoptr(Queue) queue = open_queue(fixture, 1 << 20);
    add(queue, "one");
    add(queue, "two");
    g_autoptr(GPtrArray) files = files_of(fixture);
    g_assert_true(g_file_set_contents(files->pdata[0], "jescope queue 1\nxx", -1, NULL));
    assert_waiting(queue, "damaged");
    g_assert_true(queue_settle(queue, first_number(queue), QUEUE_DAMAGED, NULL));
    assert_waiting(queue, "two");
    g_assert_cmpuint(figures_of(queue).damaged, ==, 1);
}

/* Killed between the count and the removal, or while a file was written: it is not sent again, nor counted again. */
static void
test_interrupted(Fixture *fixture, gconstpointer data)
{
    g_autoptr(Queue) queue = open_queue(fixture, 1 << 20);
    g_autofree char *kept = NULL;
    gsize size;
    add(queue, "one");
    add(queue, "two");
    g_autoptr(GPtrArray) files = files_of(fixture);
    g_assert_true(g_file_get_contents(files->pdata[0], &kept, &size, NULL));
    g_assert_true(queue_settle(queue, first_number(queue), QUEUE_SENT, NULL));
    g_autofree char *unfinished = g_strconcat(files->pdata[1], ".7-1.new", NULL);
    g_assert_true(g_file_set_contents(files->pdata[0], kept, (gssize)size, NULL));
    g_assert_true(g_file_set_contents(unfinished, "half", -1, NULL));
    assert_waiting(queue, "two");
    g_assert_cmpuint(figures_of(queue).sent, ==, 1);
    g_assert_false(g_file_test(files->pdata[0], G_FILE_TEST_EXISTS));
    g_assert_false(g_file_test(unfinished, G_FILE_TEST_EXISTS));
}

static void
test_one_sender(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(Queue) one = open_queue(fixture, 1 << 20);
    Queue *other = open_queue(fixture, 1 << 20);
    g_assert_true(queue_begin_sending(other, NULL));
    g_assert_true(queue_begin_sending(other, NULL));
    g_assert_false(queue_begin_sending(one, &error));
    g_assert_no_error(error);
    queue_close(other);
    g_assert_true(queue_begin_sending(one, NULL));
}

typedef struct {
    Queue *queue;
    guint n;
} Adding;

static gpointer
add_many(gpointer data)
{
    const Adding *adding = data;
    for (guint i = 0; i < adding->n; i++)
        add(adding->queue, "x");
    return NULL;
}

/* Two who add, each with a Queue of its own, as processes have, and one who sends: none is lost. */
static void
test_together(Fixture *fixture, gconstpointer data)
{
    enum { EACH = 10 };
    g_autoptr(Queue) one = open_queue(fixture, 1 << 20), other = open_queue(fixture, 1 << 20);
    Adding adding[] = {{one, EACH}, {other, EACH}};
    GThread *threads[] = {g_thread_new("add", add_many, &adding[0]), g_thread_new("add", add_many, &adding[1])};
    while (figures_of(one).sent < 2 * (guint64)EACH) {
        g_autoptr(GPtrArray) entries = queue_oldest(other, 3, G_MAXUINT64, NULL);
        if (entries->len > 0)
            g_assert_true(
                queue_settle(other, ((const QueueEntry *)entries->pdata[entries->len - 1])->number, QUEUE_SENT, NULL));
    }
    g_thread_join(threads[0]);
    g_thread_join(threads[1]);
    g_assert_cmpuint(figures_of(one).sent, ==, 2 * EACH);
    g_assert_cmpuint(figures_of(one).waiting, ==, 0);
}

/* A file of a few hundred bytes may stand for megabytes, as its target chooses. */
static void
test_bytes_at_once(Fixture *fixture, gconstpointer data)
{
    enum { SIZE = 1 << 20, N = 16, ROOM_FOR = 3 };
    g_autoptr(Queue) queue = open_queue(fixture, BOUND);
    g_autoptr(GBytes) content = g_bytes_new_take(g_malloc0(SIZE), SIZE);
    for (guint i = 0; i < N; i++)
        g_assert_true(queue_add(queue, content, HONEST, NULL));
    g_assert_cmpuint(figures_of(queue).waiting_bytes, <, SIZE);
    g_autoptr(GPtrArray) entries = queue_oldest(queue, N, (ROOM_FOR - 1) * SIZE + 1, NULL);
    g_assert_cmpuint(entries->len, ==, ROOM_FOR);
    g_autoptr(GPtrArray) first = queue_oldest(queue, N, 1, NULL);
    g_assert_cmpuint(first->len, ==, 1);
}

/* A text of SIZE bytes that cannot be compressed to much less, beginning with NAME. */
static char *
make_noise(const char *name, guint size)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(size);
    GString *text = g_string_new(name);
    while (text->len < size)
        g_string_append_c(text, (char)g_rand_int_range(random, 33, 123));
    return g_string_free(text, FALSE);
}

/* The names of those that wait: what comes before the first space. */
static void
assert_names(Queue *queue, const char *wanted)
{
    g_autofree char *found = waiting(queue, 100);
    g_auto(GStrv) texts = g_strsplit(found, "|", -1);
    for (char **text = texts; *text != NULL; text++)
        (*text)[strcspn(*text, " ")] = '\0';
    g_autofree char *names = g_strjoinv("|", texts);
    g_assert_cmpstr(names, ==, wanted);
}

static void
add_noise(Queue *queue, guint64 account, const char *name, guint size)
{
    g_autofree char *text = make_noise(name, size);
    add_of(queue, account, text);
}

/* The bulky entries of one account make room for each other, but not those of another one. */
static void
test_accounts(Fixture *fixture, gconstpointer data)
{
    g_autoptr(Queue) queue = open_queue(fixture, 10000);
    add(queue, "h1");
    add_noise(queue, OTHER, "o1 ", 4000);
    add(queue, "h2");
    for (guint i = 2; i <= 9; i++) {
        g_autofree char *name = g_strdup_printf("o%u ", i);
        add_noise(queue, OTHER, name, 4000);
    }
    assert_names(queue, "h1|h2|o8|o9");
    g_assert_cmpuint(figures_of(queue).dropped, ==, 7);
}

/* What would itself be the first to leave does not enter, and displaces nothing. */
static void
test_no_room_beside_others(Fixture *fixture, gconstpointer data)
{
    g_autoptr(Queue) queue = open_queue(fixture, 10000);
    g_autoptr(GError) error = NULL;
    g_autofree char *text = make_noise("o1 ", 9000);
    g_autoptr(GBytes) large = g_bytes_new_static(text, strlen(text));
    add_noise(queue, HONEST, "h1 ", 3000);
    add_noise(queue, HONEST, "h2 ", 3000);
    g_assert_false(queue_add(queue, large, OTHER, &error));
    g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_FILE);
    assert_names(queue, "h1|h2");
    g_assert_cmpuint(figures_of(queue).dropped, ==, 0);
}

/* Entries of an earlier version, whose names have no account, are sent, and leave as those of one account. */
static void
test_earlier_names(Fixture *fixture, gconstpointer data)
{
    g_autoptr(Queue) queue = open_queue(fixture, 10000);
    add_noise(queue, QUEUE_ACCOUNT_UNKNOWN, "e1 ", 4000);
    g_autoptr(GPtrArray) files = files_of(fixture);
    g_assert_true(g_str_has_suffix(files->pdata[0], "/00000000000000000001.batch"));
    add_noise(queue, QUEUE_ACCOUNT_UNKNOWN, "e2 ", 4000);
    add(queue, "h1");
    assert_names(queue, "e1|e2|h1");
    add_noise(queue, HONEST, "h2 ", 5000);
    assert_names(queue, "e2|h1|h2");
}

/* Killed between the count and the removal of entries between others: they are not sent, nor counted again, nor are
 * their numbers used again, which a sender may have read. */
static void
test_interrupted_between(Fixture *fixture, gconstpointer data)
{
    g_autoptr(Queue) queue = open_queue(fixture, 10000);
    g_autofree char *kept = NULL;
    gsize size;
    add(queue, "h1");
    add_noise(queue, OTHER, "o1 ", 7000);
    g_autoptr(GPtrArray) files = files_of(fixture);
    g_assert_true(g_file_get_contents(files->pdata[1], &kept, &size, NULL));
    add_noise(queue, HONEST, "h2 ", 3000);
    add_noise(queue, 7, "s1 ", 3000);
    g_assert_true(g_file_set_contents(files->pdata[1], kept, (gssize)size, NULL));
    g_autoptr(Queue) again = open_queue(fixture, 10000);
    assert_names(again, "h1|h2|s1");
    g_assert_false(g_file_test(files->pdata[1], G_FILE_TEST_EXISTS));
    g_assert_cmpuint(figures_of(again).dropped, ==, 1);
    g_assert_true(queue_settle(again, 4, QUEUE_SENT, NULL));
    g_assert_cmpuint(figures_of(again).sent, ==, 3);
    g_assert_cmpuint(figures_of(again).dropped, ==, 1);
}

/* The newest entry leaves while a sender has it: the next one is not taken for it. */
static void
test_newest_leaves(Fixture *fixture, gconstpointer data)
{
    g_autoptr(Queue) queue = open_queue(fixture, 10000);
    add(queue, "h1");
    add_noise(queue, OTHER, "o1 ", 10000);
    add_noise(queue, HONEST, "h2 ", 3000);
    g_assert_true(queue_settle(queue, 2, QUEUE_SENT, NULL));
    assert_names(queue, "h2");
    add_noise(queue, OTHER, "o2 ", 7000);
    add_noise(queue, HONEST, "h3 ", 3000);
    assert_names(queue, "h2|h3");
    g_assert_cmpuint(figures_of(queue).dropped, ==, 2);
    g_assert_cmpuint(figures_of(queue).sent, ==, 1);
}

/* Many small entries of one account leave no less than large ones. */
static void
test_entries(Fixture *fixture, gconstpointer data)
{
    g_autoptr(Queue) queue = open_queue(fixture, 256 << 20);
    add(queue, "h1");
    g_autoptr(GPtrArray) files = files_of(fixture);
    g_autofree char *directory = g_path_get_dirname(files->pdata[0]);
    for (guint number = 2; number <= QUEUE_ENTRIES_MAX; number++) {
        g_autofree char *path = g_strdup_printf("%s/%020u-%u.batch", directory, number, (guint)OTHER);
        int fd = g_creat(path, 0600);
        g_assert_cmpint(fd, >=, 0);
        close(fd);
    }
    add(queue, "h2");
    g_assert_cmpuint(figures_of(queue).waiting, ==, QUEUE_ENTRIES_MAX);
    g_assert_cmpuint(figures_of(queue).dropped, ==, 1);
    g_assert_cmpuint(first_number(queue), ==, 1);
    g_autofree char *oldest = g_strdup_printf("%s/%020u-%u.batch", directory, 2U, (guint)OTHER);
    g_assert_false(g_file_test(oldest, G_FILE_TEST_EXISTS));
}

static void
assert_refused(const Fixture *fixture, const char *directory)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(queue_open(fixture->root, url, BOUND, &error));
    g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_FILE);
    g_assert_nonnull(strstr(error->message, directory));
    g_assert_nonnull(strstr(error->message, "give a --queue that only you can write to"));
}

static void
test_directory_of_others(Fixture *fixture, gconstpointer data)
{
    queue_close(open_queue(fixture, BOUND));
    g_autoptr(GDir) root = g_dir_open(fixture->root, 0, NULL);
    const char *name = g_dir_read_name(root);
    while (name != NULL && strchr(name, '.') != NULL)
        name = g_dir_read_name(root);
    g_autofree char *own = g_build_filename(fixture->root, name, NULL);
    const char *const directories[] = {fixture->root, own};
    for (gsize i = 0; i < G_N_ELEMENTS(directories); i++) {
        g_assert_cmpint(chmod(directories[i], 0777), ==, 0);
        assert_refused(fixture, directories[i]);
        g_assert_cmpint(chmod(directories[i], 0700), ==, 0);
        if (geteuid() != 0)
            continue;
        g_assert_cmpint(chown(directories[i], 65534, 65534), ==, 0);
        assert_refused(fixture, directories[i]);
        g_assert_cmpint(chown(directories[i], 0, 0), ==, 0);
    }
    queue_close(open_queue(fixture, BOUND));
}

static guint
count_files(const char *path)
{
    g_autoptr(GDir) directory = g_dir_open(path, 0, NULL);
    guint n = 0;
    while (g_dir_read_name(directory) != NULL)
        n++;
    return n;
}

/* By the owner of the directory above, while the queue is open: it goes on with its own files. */
static void
test_exchanged_meanwhile(Fixture *fixture, gconstpointer data)
{
    g_autoptr(Queue) queue = open_queue(fixture, BOUND);
    g_autofree char *place = place_of(fixture), *moved = g_strconcat(fixture->root, ".moved", NULL);
    g_autofree char *planted = g_build_filename(place, "00000000000000000077.batch", NULL);
    add(queue, "one");
    g_autoptr(GPtrArray) files = files_of(fixture);
    g_autofree char *batch = NULL;
    gsize size;
    g_assert_true(g_file_get_contents(files->pdata[0], &batch, &size, NULL));
    g_assert_no_errno(rename(fixture->root, moved));
    g_assert_no_errno(g_mkdir_with_parents(place, 0700));
    g_assert_true(g_file_set_contents(planted, batch, (gssize)size, NULL));
    assert_waiting(queue, "one");
    add(queue, "two");
    assert_waiting(queue, "one|two");
    g_assert_true(queue_begin_sending(queue, NULL));
    g_assert_true(queue_settle(queue, G_MAXUINT64, QUEUE_SENT, NULL));
    g_assert_cmpuint(figures_of(queue).sent, ==, 2);
    g_assert_cmpuint(count_files(place), ==, 1);
    g_assert_true(g_file_test(planted, G_FILE_TEST_EXISTS));
    remove_all(moved);
}

/* They would be waited for, or are elsewhere. */
static void
test_no_regular_files(Fixture *fixture, gconstpointer data)
{
    enum { DEADLINE_S = 30 };
    g_autofree char *place = place_of(fixture), *state = g_build_filename(place, "state", NULL);
    g_autofree char *fifo = g_build_filename(place, "00000000000000000001-0.batch", NULL);
    g_autofree char *link = g_build_filename(place, "00000000000000000002-0.batch", NULL);
    g_autoptr(Queue) queue = open_queue(fixture, BOUND);
    alarm(DEADLINE_S);
    g_assert_no_errno(mkfifo(fifo, 0600));
    g_assert_no_errno(mkfifo(state, 0600));
    g_assert_no_errno(symlink("00000000000000000003-5002.batch", link));
    add(queue, "three");
    for (guint64 number = 1; number <= 2; number++) {
        assert_waiting(queue, "damaged");
        g_assert_cmpuint(first_number(queue), ==, number);
        g_assert_true(queue_settle(queue, number, QUEUE_DAMAGED, NULL));
    }
    alarm(0);
    assert_waiting(queue, "three");
    g_assert_cmpuint(figures_of(queue).damaged, ==, 2);
}

/* Numbers that no queue reaches: what is added would never be found again. */
static void
test_damaged_state(Fixture *fixture, gconstpointer data)
{
    static const char *const states[] = {"[queue]\nfirst=18446744073709551615\nnext=1\n",
                                         "[queue]\nfirst=1\nnext=18446744073709551615\n",
                                         "[queue]\nfirst=1\nnext=9223372036854775808\n"};
    g_autofree char *place = place_of(fixture), *state = g_build_filename(place, "state", NULL);
    g_autofree char *last = g_build_filename(place, "9223372036854775807-0.batch", NULL);
    g_autoptr(Queue) queue = open_queue(fixture, BOUND);
    g_autoptr(GBytes) content = g_bytes_new_static("two", 3);
    add(queue, "one");
    for (gsize i = 0; i < G_N_ELEMENTS(states); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_true(g_file_set_contents(state, states[i], -1, NULL));
        g_assert_false(queue_add(queue, content, HONEST, &error));
        g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_FILE);
        g_assert_nonnull(strstr(error->message, "state is damaged; remove it"));
    }
    g_assert_no_errno(g_remove(state));
    assert_waiting(queue, "one");
    g_autoptr(GError) error = NULL;
    g_assert_true(g_file_set_contents(last, "", 0, NULL));
    g_assert_false(queue_add(queue, content, HONEST, &error));
    g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_FILE);
    assert_waiting(queue, "one|damaged");
}

#define TEST(name) g_test_add("/queue/" #name, Fixture, NULL, set_up, test_##name, tear_down)

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    TEST(order);
    TEST(numbers_after_all);
    TEST(bound);
    TEST(dropped_meanwhile);
    TEST(damaged);
    TEST(interrupted);
    TEST(one_sender);
    TEST(together);
    TEST(bytes_at_once);
    TEST(accounts);
    TEST(no_room_beside_others);
    TEST(earlier_names);
    TEST(interrupted_between);
    TEST(newest_leaves);
    TEST(entries);
    TEST(directory_of_others);
    TEST(exchanged_meanwhile);
    TEST(no_regular_files);
    TEST(damaged_state);
    return g_test_run();
}
