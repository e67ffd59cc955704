/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a dump: plain, gzip or zstd; valid, damaged, truncated or expanding to a huge size. */
#include "profile/source.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    TEXT_MAX = 16 << 20, /* limit for inputs that expand to a huge size */
};

static void
check_run(const TextRun *run)
{
    char slack[BYTE_SOURCE_SLACK];
    g_assert_true(run->cut == (run->limit[-1] != '\n'));
    /* A scanner may load words up to the end of the slack. */
    memcpy(slack, run->limit, sizeof(slack));
}

/* The digest of the text, up to an error. */
static char *
read_all(ByteSource *source)
{
    g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_MD5);
    gsize total = 0;
    TextRun run;
    while (total < TEXT_MAX && byte_source_next(source, &run, NULL) && run.start < run.limit) {
        check_run(&run);
        g_checksum_update(sum, (const guchar *)run.start, run.limit - run.start);
        total += (gsize)(run.limit - run.start);
    }
    return g_strdup(g_checksum_get_string(sum));
}

static char *
read_from_file(const uint8_t *data, size_t size)
{
    int fd = memfd_create("dump", MFD_CLOEXEC);
    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(write(fd, data, size), ==, (gssize)size);
    g_assert_cmpint(lseek(fd, 0, SEEK_SET), ==, 0);
    g_autoptr(ByteSource) source = byte_source_new_fd(fd, "input");
    char *digest = read_all(source);
    close(fd);
    return digest;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(GBytes) bytes = g_bytes_new_static(data, size);
    g_autoptr(ByteSource) source = byte_source_new_bytes(bytes, "input");
    g_autofree char *of_memory = read_all(source);
    g_autofree char *of_file = read_from_file(data, size);
    g_assert_cmpstr(of_memory, ==, of_file);
    return 0;
}
