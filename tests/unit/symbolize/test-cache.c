/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/answer-file.h"
#include "symbolize/cache.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>

static const ProfileObject object = {.path = "/usr/bin/service"};
static const LocateRequest request = {.object = &object};

/* Answers for these addresses: 0x10 has two frames, 0x20 one, 0x30 no name. */
static ObjectWork *
answered(Names *names)
{
    ObjectWork *work = object_work_new(&request, names);
    for (guint32 i = 0; i < 3; i++)
        object_ask(work, i, 0x10 * (i + 1));
    SymbolFrame *frames = names_frames(names, 3);
    frames[0] = (SymbolFrame){"inner()", "_Z5innerv", "/src/a.c", 7, 5, TRUE};
    frames[1] = (SymbolFrame){"outer", "outer", NULL, 0, 0, TRUE};
    frames[2] = (SymbolFrame){"outer", "outer", "/src/a.c", 9, 0, TRUE};
    g_array_index(work->asked, ObjectAsked, 0).symbol = (Symbol){frames, 2};
    g_array_index(work->asked, ObjectAsked, 1).symbol = (Symbol){frames + 2, 1};
    g_array_index(work->asked, ObjectAsked, 2).symbol = names_unknown(names, &object, 0x30);
    work->result.source = SYMBOLS_DWARF;
    return work;
}

typedef struct {
    Names *names;
    ObjectWork *work;
    GByteArray *bytes;
    AnswerFile file;
} Fixture;

static void
set_up(Fixture *fixture, gconstpointer data)
{
    fixture->names = names_new();
    fixture->work = answered(fixture->names);
    fixture->bytes = answer_file_encode(fixture->work, NULL, 42);
    g_assert_true(answer_file_parse(fixture->bytes->data, fixture->bytes->len, &fixture->file));
}

static void
tear_down(Fixture *fixture, gconstpointer data)
{
    object_work_free(fixture->work);
    g_byte_array_unref(fixture->bytes);
    names_free(fixture->names);
}

static void
test_answers_come_back(Fixture *fixture, gconstpointer data)
{
    ObjectWork *work = object_work_new(&request, fixture->names);
    for (guint32 i = 0; i < 4; i++)
        object_ask(work, i, 0x10 * (i + 1));
    g_assert_cmpuint(answer_file_apply(&fixture->file, work), ==, 1);
    const ObjectAsked *asked = &g_array_index(work->asked, ObjectAsked, 0);
    g_assert_cmpuint(asked[0].symbol.n_frames, ==, 2);
    g_assert_cmpstr(asked[0].symbol.frames[0].function, ==, "inner()");
    g_assert_cmpstr(asked[0].symbol.frames[0].system_name, ==, "_Z5innerv");
    g_assert_cmpuint(asked[0].symbol.frames[0].start_line, ==, 5);
    g_assert_null(asked[0].symbol.frames[1].file);
    g_assert_cmpstr(asked[1].symbol.frames[0].file, ==, "/src/a.c");
    g_assert_cmpuint(asked[1].symbol.frames[0].line, ==, 9);
    g_assert_cmpstr(asked[2].symbol.frames[0].function, ==, "[service+0x30]");
    g_assert_false(asked[2].symbol.frames[0].known);
    g_assert_cmpuint(asked[3].symbol.n_frames, ==, 0);
    g_assert_cmpuint(fixture->file.header->source, ==, SYMBOLS_DWARF);
    object_work_free(work);
}

/* The union of old and new, without doubling what both have. */
static void
test_merge_keeps_both(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GByteArray) again = answer_file_encode(fixture->work, &fixture->file, 42);
    g_assert_cmpmem(again->data, again->len, fixture->bytes->data, fixture->bytes->len);
    ObjectWork *work = object_work_new(&request, fixture->names);
    object_ask(work, 0, 0x18);
    g_array_index(work->asked, ObjectAsked, 0).symbol = g_array_index(fixture->work->asked, ObjectAsked, 1).symbol;
    g_autoptr(GByteArray) merged = answer_file_encode(work, &fixture->file, 42);
    AnswerFile file;
    g_assert_true(answer_file_parse(merged->data, merged->len, &file));
    g_assert_cmpuint(file.header->n_addresses, ==, 4);
    g_assert_cmpuint(file.addresses[1], ==, 0x18);
    g_assert_cmpuint(file.header->n_text, ==, fixture->file.header->n_text);
    object_work_free(work);
}

static void
test_every_damage_is_noticed(Fixture *fixture, gconstpointer data)
{
    AnswerFile file;
    for (guint i = 0; i < fixture->bytes->len; i++) {
        fixture->bytes->data[i] ^= 0x10;
        g_assert_false(answer_file_parse(fixture->bytes->data, fixture->bytes->len, &file));
        fixture->bytes->data[i] ^= 0x10;
        g_assert_false(answer_file_parse(fixture->bytes->data, i, &file));
    }
}

/* A right checksum over wrong numbers. */
static void
test_numbers_are_checked(Fixture *fixture, gconstpointer data)
{
    AnswerHeader *header = (AnswerHeader *)(gpointer)fixture->bytes->data;
    const gsize from = G_STRUCT_OFFSET(AnswerHeader, fingerprint);
    AnswerFile file;
    guint refused = 0;
    for (gsize i = sizeof(*header); i < fixture->bytes->len; i++) {
        fixture->bytes->data[i] ^= 0x80;
        header->checksum = answer_checksum(fixture->bytes->data + from, fixture->bytes->len - from);
        refused += !answer_file_parse(fixture->bytes->data, fixture->bytes->len, &file);
        fixture->bytes->data[i] ^= 0x80;
    }
    g_assert_cmpuint(refused, >, 50);
}

static void
write_file(const char *directory, const char *name, gsize size, gint64 seconds_old)
{
    g_autofree char *path = g_build_filename(directory, name, NULL);
    g_autofree char *content = g_malloc0(size);
    g_assert_true(g_file_set_contents(path, content, (gssize)size, NULL));
    gint64 then = g_get_real_time() / G_USEC_PER_SEC - seconds_old;
    const struct timespec times[2] = {{.tv_sec = then}, {.tv_sec = then}};
    g_assert_cmpint(utimensat(AT_FDCWD, path, times, 0), ==, 0);
}

static gboolean
is_there(const char *directory, const char *name)
{
    g_autofree char *path = g_build_filename(directory, name, NULL);
    return g_file_test(path, G_FILE_TEST_EXISTS);
}

static void
test_longest_unused_goes(void)
{
    g_autofree char *directory = g_dir_make_tmp("jescope-cache-XXXXXX", NULL);
    write_file(directory, "old", 40960, 300);
    write_file(directory, "middle", 40960, 200);
    write_file(directory, "young", 40960, 100);
    write_file(directory, "new-abcdef", 10, 7200);
    write_file(directory, "new-ghijkl", 10, 5);
    cache_trim(directory, 100000);
    g_assert_false(is_there(directory, "old"));
    g_assert_true(is_there(directory, "middle"));
    g_assert_true(is_there(directory, "young"));
    g_assert_false(is_there(directory, "new-abcdef"));
    g_assert_true(is_there(directory, "new-ghijkl"));
    cache_trim(directory, 0);
    g_assert_cmpint(g_rmdir(directory), ==, 0);
}

#define ADD(name, test) g_test_add("/cache/" name, Fixture, NULL, set_up, test, tear_down)

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    ADD("answers-come-back", test_answers_come_back);
    ADD("merge-keeps-both", test_merge_keeps_both);
    ADD("every-damage-is-noticed", test_every_damage_is_noticed);
    ADD("numbers-are-checked", test_numbers_are_checked);
    g_test_add_func("/cache/longest-unused-goes", test_longest_unused_goes);
    return g_test_run();
}
