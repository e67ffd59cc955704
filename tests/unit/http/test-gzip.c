/* SPDX-License-Identifier: Apache-2.0 */
#include "http/gzip.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void
test_accept(void)
{
    static const struct {
        const char *header;
        gboolean accepted;
    } rows[] = {
        {NULL, FALSE},
        {"", FALSE},
        {"gzip", TRUE},
        {"GZIP", TRUE},
        {"x-gzip", TRUE},
        {"deflate, gzip;q=0.5", TRUE},
        {"gzip;q=0", FALSE},
        {"gzip; q=0.0, *", FALSE},
        {"*", TRUE},
        {"*;q=0", FALSE},
        {"deflate, br", FALSE},
        {"identity", FALSE},
        {"gzipped", FALSE},
        {"br;q=1.0, *;q=0.1", TRUE},
        {"gzip;level=9", TRUE},
        {",,gzip,", TRUE},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        g_assert_cmpint(gzip_is_accepted(rows[i].header), ==, rows[i].accepted);
}

static void
test_pays(void)
{
    g_assert_true(gzip_pays("application/json; charset=utf-8", 5000));
    g_assert_true(gzip_pays("text/plain", 5000));
    g_assert_true(gzip_pays("image/svg+xml", 5000));
    g_assert_false(gzip_pays("text/plain", 100));
    g_assert_false(gzip_pays("application/octet-stream", 5000));
    g_assert_false(gzip_pays(NULL, 5000));
}

static GBytes *
gunzip(GBytes *packed)
{
    g_autoptr(GConverter) converter = G_CONVERTER(g_zlib_decompressor_new(G_ZLIB_COMPRESSOR_FORMAT_GZIP));
    g_autoptr(GInputStream) source = g_memory_input_stream_new_from_bytes(packed);
    g_autoptr(GInputStream) plain = g_converter_input_stream_new(source, converter);
    g_autoptr(GOutputStream) sink = g_memory_output_stream_new_resizable();
    g_autoptr(GError) error = NULL;
    g_output_stream_splice(sink, plain, G_OUTPUT_STREAM_SPLICE_CLOSE_TARGET, NULL, &error);
    g_assert_no_error(error);
    return g_memory_output_stream_steal_as_bytes(G_MEMORY_OUTPUT_STREAM(sink));
}

/* Larger than any buffer, and half of it will not shrink. */
static GBytes *
make_plain(void)
{
    GByteArray *bytes = g_byte_array_new();
    g_autoptr(GRand) random = g_rand_new_with_seed(7);
    for (guint i = 0; i < 100000; i++) {
        guint32 word = i % 2 == 0 ? g_rand_int(random) : 0x20202020;
        g_byte_array_append(bytes, (const guint8 *)&word, sizeof(word));
    }
    return g_byte_array_free_to_bytes(bytes);
}

static void
test_bytes(void)
{
    g_autoptr(GBytes) plain = make_plain();
    g_autoptr(GBytes) packed = gzip_bytes(plain);
    g_autoptr(GBytes) back = gunzip(packed);
    g_assert_true(g_bytes_equal(plain, back));
    g_assert_cmpuint(g_bytes_get_size(packed), <, g_bytes_get_size(plain));
}

static void
test_descriptor(void)
{
    g_autoptr(GBytes) plain = make_plain();
    gsize size = g_bytes_get_size(plain);
    int fd = memfd_create("plain", MFD_CLOEXEC);
    g_assert_cmpint(write(fd, g_bytes_get_data(plain, NULL), size), ==, (gssize)size);
    guint64 packed_size = 0;
    int packed_fd = gzip_descriptor(fd, size, NULL, &packed_size);
    g_assert_cmpint(packed_fd, >=, 0);
    g_autofree char *text = g_malloc(packed_size + 1);
    g_assert_cmpint(pread(packed_fd, text, packed_size + 1, 0), ==, (gssize)packed_size);
    g_autoptr(GBytes) packed = g_bytes_new(text, packed_size);
    g_autoptr(GBytes) back = gunzip(packed);
    g_assert_true(g_bytes_equal(plain, back));
    /* It is shorter than it says. */
    g_assert_cmpint(gzip_descriptor(fd, size + 1, NULL, &packed_size), ==, -1);
    close(packed_fd);
    close(fd);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/http/gzip/accept", test_accept);
    g_test_add_func("/http/gzip/pays", test_pays);
    g_test_add_func("/http/gzip/bytes", test_bytes);
    g_test_add_func("/http/gzip/descriptor", test_descriptor);
    return g_test_run();
}
