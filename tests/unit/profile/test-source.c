/* SPDX-License-Identifier: Apache-2.0 */
/* How bytes come in: packed or not, from files and pipes, whole or cut. */
#include "profile/source.h"

#include "fixture.h"

#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

enum { N_STACKS = 20000 };

/* A dump of over a megabyte, so that several blocks are needed. */
static GBytes *
make_dump(void)
{
    GString *text = g_string_new("heap_v2/1\n  t*: 0: 0 [0: 0]\n");

    for (guint i = 0; i < N_STACKS; i++)
        g_string_append_printf(text, "@ 0x2100 0x7f%010x\n  t*: 1: %u [0: 0]\n", i + 1, i);
    g_string_append(text, MAPS);
    return g_string_free_to_bytes(text);
}

static GBytes *
pack_gzip(GBytes *plain)
{
    gsize size = 0;
    const Bytef *data = g_bytes_get_data(plain, &size);
    z_stream stream = {0};

    g_assert_cmpint(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), ==, Z_OK);
    gsize capacity = deflateBound(&stream, size);
    guint8 *packed = g_malloc(capacity);
    stream.next_in = (Bytef *)(gsize)data;
    stream.avail_in = (uInt)size;
    stream.next_out = packed;
    stream.avail_out = (uInt)capacity;
    g_assert_cmpint(deflate(&stream, Z_FINISH), ==, Z_STREAM_END);
    deflateEnd(&stream);
    return g_bytes_new_take(packed, stream.total_out);
}

static GBytes *
pack_zstd(GBytes *plain)
{
    gsize size = 0;
    const void *data = g_bytes_get_data(plain, &size);
    gsize capacity = ZSTD_compressBound(size);
    void *packed = g_malloc(capacity);
    gsize n = ZSTD_compress(packed, capacity, data, size, 3);

    g_assert_false(ZSTD_isError(n));
    return g_bytes_new_take(packed, n);
}

typedef GBytes *(*PackFunc)(GBytes *plain);
static const PackFunc packs[] = {pack_gzip, pack_zstd};

static void
check_dump(const Profile *profile)
{
    g_assert_nonnull(profile);
    g_assert_cmpuint(profile_n_stacks(profile), ==, N_STACKS);
    g_assert_cmpfloat(profile_total(profile)->estimate[PROFILE_INUSE_SPACE], ==, N_STACKS / 2.0 * (N_STACKS - 1));
}

static void
test_packed(void)
{
    g_autoptr(GBytes) plain = make_dump();

    for (gsize i = 0; i < G_N_ELEMENTS(packs); i++) {
        g_autoptr(GBytes) packed = packs[i](plain);
        g_autoptr(Profile) profile = profile_read_bytes(packed, "x", PROFILE_READ_DEFAULT, NULL);
        check_dump(profile);
    }
}

/* Two streams one after the other, as `cat a.gz b.gz` makes them, are one text. */
static void
test_two_members(void)
{
    g_autoptr(GBytes) plain = make_dump();
    gsize half = g_bytes_get_size(plain) / 2;

    for (gsize i = 0; i < G_N_ELEMENTS(packs); i++) {
        g_autoptr(GBytes) first = g_bytes_new_from_bytes(plain, 0, half);
        g_autoptr(GBytes) second = g_bytes_new_from_bytes(plain, half, g_bytes_get_size(plain) - half);
        g_autoptr(GBytes) packed_first = packs[i](first);
        g_autoptr(GBytes) packed_second = packs[i](second);
        g_autoptr(GByteArray) both = g_byte_array_new();
        gsize n = 0;
        const guint8 *data = g_bytes_get_data(packed_first, &n);
        g_byte_array_append(both, data, (guint)n);
        data = g_bytes_get_data(packed_second, &n);
        g_byte_array_append(both, data, (guint)n);
        g_autoptr(GBytes) packed = g_byte_array_free_to_bytes(g_steal_pointer(&both));
        g_autoptr(Profile) profile = profile_read_bytes(packed, "x", PROFILE_READ_DEFAULT, NULL);
        check_dump(profile);
    }
}

/* Some hundred kilobytes that stand for more than 4 GiB of blank lines. */
static void
test_unpacks_without_end(void)
{
    enum { MEMBER = 64 * 1024 * 1024 };
    const guint members = (guint)(INPUT_FILE_MAX_UNPACKED / MEMBER) + 1;
    g_autofree char *lines = g_malloc(MEMBER);
    g_autofree char *member = g_malloc(ZSTD_compressBound(MEMBER));
    g_autoptr(GByteArray) all = g_byte_array_new();
    g_autoptr(GError) error = NULL;
    TextRun run;
    memset(lines, '\n', MEMBER);
    const size_t size = ZSTD_compress(member, ZSTD_compressBound(MEMBER), lines, MEMBER, 1);
    for (guint i = 0; i < members; i++)
        g_byte_array_append(all, (guint8 *)member, (guint)size);
    g_assert_cmpuint(all->len, <, 1024 * 1024);
    g_autoptr(GBytes) bytes = g_byte_array_free_to_bytes(g_steal_pointer(&all));
    g_autoptr(ByteSource) source = byte_source_new_bytes(bytes, "bomb");
    guint64 lines_seen = 0;
    while (byte_source_next(source, &run, &error) && run.start < run.limit)
        lines_seen += (guint64)(run.limit - run.start);
    g_assert_error(error, PROFILE_ERROR, PROFILE_ERROR_TOO_LARGE);
    g_assert_nonnull(strstr(error->message, "bomb: more than 4.0"));
    g_assert_cmpuint(lines_seen, <=, INPUT_FILE_MAX_UNPACKED);
}

typedef struct {
    const char *start; /* of the stream, with some text */
    gsize n_start;
    const char *empty; /* becomes no text */
    gsize n_empty;
} Textless;

/* Some text, and much that becomes none, as a file with a hole has. */
static void
test_unpacks_to_nothing(void)
{
    enum { SIZE = 64 * 1024 * 1024 };
    static const Textless streams[] = {
        {"\x28\xb5\x2f\xfd\x00\x58\x08\x00\x00@", 10, "\0\0", 3}, /* zstd: empty blocks */
        {"\x28\xb5\x2f\xfd\x00\x58\x09\x00\x00@", 10, "\x50\x2a\x4d\x18\x00\x00\x10\x00", 8 + (1 << 20)}, /* frames */
        {"\x1f\x8b\x08\0\0\0\0\0\0\3\0\1\0\xfe\xff@", 16, "\0\0\0\xff\xff", 5}, /* gzip: empty blocks */
    };
    for (gsize i = 0; i < G_N_ELEMENTS(streams); i++) {
        const Textless *stream = &streams[i];
        g_autofree char *data = g_malloc0(SIZE);
        memcpy(data, stream->start, stream->n_start);
        for (gsize at = stream->n_start; at + stream->n_empty <= SIZE; at += stream->n_empty)
            memcpy(data + at, stream->empty, MIN(stream->n_empty, 8));
        g_autoptr(GBytes) bytes = g_bytes_new_static(data, SIZE);
        g_autoptr(ByteSource) source = byte_source_new_bytes(bytes, "empty");
        g_autoptr(GError) error = NULL;
        TextRun run;
        g_assert_true(byte_source_next(source, &run, &error));
        g_assert_cmpmem(run.start, run.limit - run.start, "@", 1);
        g_assert_false(byte_source_next(source, &run, &error));
        g_assert_error(error, PROFILE_ERROR, PROFILE_ERROR_TOO_LARGE);
        g_assert_nonnull(strstr(error->message, "empty: the compressed data are more than 16.0"));
    }
}

static void
test_cut_stream(void)
{
    g_autoptr(GBytes) plain = make_dump();

    for (gsize i = 0; i < G_N_ELEMENTS(packs); i++) {
        g_autoptr(GBytes) packed = packs[i](plain);
        g_autoptr(GBytes) cut = g_bytes_new_from_bytes(packed, 0, g_bytes_get_size(packed) - 6);
        g_autoptr(GError) error = NULL;
        g_assert_null(profile_read_bytes(cut, "x", PROFILE_READ_DEFAULT, &error));
        g_assert_error(error, PROFILE_ERROR, PROFILE_ERROR_TRUNCATED);
        g_autoptr(Profile) partial = profile_read_bytes(cut, "x", PROFILE_READ_PARTIAL, NULL);
        g_assert_nonnull(partial);
        g_assert_nonnull(profile_lost(partial));
        g_assert_cmpuint(profile_n_stacks(partial), >, N_STACKS / 2);
    }
}

static void
test_damaged_stream(void)
{
    g_autoptr(GBytes) plain = make_dump();

    for (gsize i = 0; i < G_N_ELEMENTS(packs); i++) {
        g_autoptr(GBytes) packed = packs[i](plain);
        gsize n = 0;
        guint8 *data = g_bytes_unref_to_data(g_steal_pointer(&packed), &n);
        memset(data + n / 2, 0xff, n / 4);
        packed = g_bytes_new_take(data, n);
        g_autoptr(GError) error = NULL;
        g_assert_null(profile_read_bytes(packed, "x", PROFILE_READ_DEFAULT, &error));
        g_assert_nonnull(error);
        g_assert_true(error->domain == PROFILE_ERROR);
    }
}

typedef struct {
    int fd;
    GBytes *bytes;
} Writer;

/* A few bytes at a time, so that nothing arrives at convenient borders. */
static gpointer
write_slowly(gpointer data)
{
    const Writer *writer = data;
    gsize size = 0;
    const char *at = g_bytes_get_data(writer->bytes, &size);

    for (gsize done = 0, step = 1; done < size; step = step * 7 % 4099 + 1) {
        gssize n = write(writer->fd, at + done, MIN(step, size - done));
        g_assert_cmpint(n, >, 0);
        done += (gsize)n;
    }
    close(writer->fd);
    return NULL;
}

static void
read_through_pipe(GBytes *bytes)
{
    int ends[2];

    g_assert_cmpint(pipe(ends), ==, 0);
    Writer writer = {ends[1], bytes};
    GThread *thread = g_thread_new("writer", write_slowly, &writer);
    g_autoptr(GError) error = NULL;
    g_autoptr(Profile) profile = profile_read_fd(ends[0], "pipe", PROFILE_READ_DEFAULT, &error);
    g_assert_no_error(error);
    check_dump(profile);
    g_thread_join(thread);
    close(ends[0]);
}

static void
test_pipe(void)
{
    g_autoptr(GBytes) plain = make_dump();

    read_through_pipe(plain);
    for (gsize i = 0; i < G_N_ELEMENTS(packs); i++) {
        g_autoptr(GBytes) packed = packs[i](plain);
        read_through_pipe(packed);
    }
}

static void
test_endless_line(void)
{
    gsize size = 3 << 20;
    guint8 *data = g_malloc(size);

    memset(data, 'x', size);
    g_autoptr(GBytes) bytes = g_bytes_new_take(data, size);
    g_autoptr(GError) error = NULL;
    g_assert_null(profile_read_bytes(bytes, "x", PROFILE_READ_DEFAULT, &error));
    g_assert_error(error, PROFILE_ERROR, PROFILE_ERROR_NOT_A_PROFILE);

    g_clear_error(&error);
    g_autofree char *text = g_strdup_printf("heap_v2/1\n%s%*s\n", MAPS, (int)size, "x");
    g_autoptr(GBytes) long_line = g_bytes_new_static(text, strlen(text));
    g_assert_null(profile_read_bytes(long_line, "x", PROFILE_READ_DEFAULT, &error));
    g_assert_error(error, PROFILE_ERROR, PROFILE_ERROR_TOO_LARGE);
}

static void
test_directory(void)
{
    g_autoptr(GError) error = NULL;

    g_assert_null(profile_read_file("/", PROFILE_READ_PARTIAL, &error));
    g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_ISDIR);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/profile/source/packed", test_packed);
    g_test_add_func("/profile/source/two-members", test_two_members);
    g_test_add_func("/profile/source/unpacks-without-end", test_unpacks_without_end);
    g_test_add_func("/profile/source/unpacks-to-nothing", test_unpacks_to_nothing);
    g_test_add_func("/profile/source/cut-stream", test_cut_stream);
    g_test_add_func("/profile/source/damaged-stream", test_damaged_stream);
    g_test_add_func("/profile/source/pipe", test_pipe);
    g_test_add_func("/profile/source/endless-line", test_endless_line);
    g_test_add_func("/profile/source/directory", test_directory);
    return g_test_run();
}
