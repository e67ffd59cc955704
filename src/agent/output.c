/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/output.h"

#include "agent/sampler.h"
#include "agent/text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    PATH_SIZE = 64,
    BUFFER_SIZE = 16 * 1024, /* jemalloc before 5.3 writes a few bytes at a time */
};

typedef struct {
    const Descriptor *descriptor;
    uint64_t written;
    size_t buffered;
    int error;
} Writer;

/* Used by the agent thread only. */
static char buffer[BUFFER_SIZE];

static uint64_t
now_ns(void)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static bool
is_writable_memfd(const Descriptor *descriptor)
{
    if (!descriptor_is_ours(descriptor))
        return false;
    struct stat status;
    int seals = fcntl(descriptor->number, F_GET_SEALS);
    int flags = fcntl(descriptor->number, F_GETFL);
    const int refused = F_SEAL_WRITE | F_SEAL_FUTURE_WRITE | F_SEAL_GROW;
    /* Files on tmpfs have seals too, but a name. */
    return fstat(descriptor->number, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 0 && seals >= 0 &&
           (seals & refused) == 0 && flags >= 0 && (flags & O_ACCMODE) == O_RDWR;
}

static uint64_t
size_of(const Descriptor *descriptor)
{
    struct stat status;
    return fstat(descriptor->number, &status) == 0 ? (uint64_t)status.st_size : 0;
}

/* Truncating an empty file would free the pages that the client has allocated for it. */
static bool
make_empty(const Descriptor *descriptor)
{
    return size_of(descriptor) == 0 || ftruncate(descriptor->number, 0) == 0;
}

/* The identity is checked each time: in a shared table, the host may have reused the number for a file of its own. */
static int
write_bytes(void *data, const char *bytes, size_t size)
{
    Writer *writer = data;
    for (size_t done = 0; done < size && writer->error == 0;) {
        ssize_t n = -1;
        errno = EBADF;
        if (descriptor_is_ours(writer->descriptor))
            n = pwrite(writer->descriptor->number, bytes + done, size - done, (off_t)writer->written);
        if (n <= 0) {
            writer->error = n == 0 ? ENOSPC : errno;
            break;
        }
        done += (size_t)n;
        writer->written += (uint64_t)n;
    }
    return writer->error;
}

static WireStatus
dump_sampler(const Allocator *allocator, const Descriptor *descriptor, WireOutputReply *reply)
{
    Writer writer = {.descriptor = descriptor};
    const uint64_t start = now_ns();
    reply->reply.error = sampler_dump(allocator, write_bytes, &writer);
    reply->duration_ns = now_ns() - start;
    reply->bytes = writer.written;
    return reply->reply.error == 0 ? WIRE_STATUS_OK : WIRE_STATUS_WRITE_FAILED;
}

WireStatus
output_dump(const Guest *guest, const Descriptor *descriptor, WireOutputReply *reply)
{
    const WireSampler sampler = profiling_sampler(&guest->profiling, &guest->allocator);
    if (sampler == WIRE_SAMPLER_AUTO && !sampler_has_data())
        return WIRE_STATUS_PROF_DISABLED;
    if (!is_writable_memfd(descriptor) || !make_empty(descriptor))
        return WIRE_STATUS_BAD_DESCRIPTOR;
    if (sampler == WIRE_SAMPLER_JESCOPE || sampler_has_data())
        return dump_sampler(&guest->allocator, descriptor, reply);
    /*
     * "thread-self", not "self": the descriptor is in this thread's table, and "self" is the main thread, which may
     * have ended. A thread group may access its own fd directories even if the process is not dumpable.
     */
    char path[PATH_SIZE];
    const char *name = path;
    Text text;
    text_init(&text, path, sizeof(path));
    text_add(&text, "/proc/thread-self/fd/");
    text_add_number(&text, (uint64_t)descriptor->number);
    /* jemalloc does not report why it could not open a file; this does */
    if (access(path, W_OK) != 0) {
        reply->reply.error = errno;
        return WIRE_STATUS_WRITE_FAILED;
    }
    allocator_prepare_dump(&guest->allocator);
    uint64_t start = now_ns();
    reply->reply.error = allocator_write(&guest->allocator, "prof.dump", &name, sizeof(const char *));
    reply->duration_ns = now_ns() - start;
    reply->bytes = size_of(descriptor);
    return reply->reply.error == 0 ? WIRE_STATUS_OK : WIRE_STATUS_CONTROL_FAILED;
}

static void
flush(Writer *writer)
{
    write_bytes(writer, buffer, writer->buffered);
    writer->buffered = 0;
}

static void
write_stats(void *opaque, const char *text)
{
    Writer *writer = opaque;
    for (size_t left = strlen(text); left > 0 && writer->error == 0;) {
        size_t room = sizeof(buffer) - writer->buffered;
        size_t n = left < room ? left : room;
        memcpy(buffer + writer->buffered, text, n);
        writer->buffered += n;
        text += n;
        left -= n;
        if (writer->buffered == sizeof(buffer))
            flush(writer);
    }
}

WireStatus
output_stats(const Guest *guest, const Descriptor *descriptor, const char *letters, WireOutputReply *reply)
{
    if (!is_writable_memfd(descriptor) || !make_empty(descriptor))
        return WIRE_STATUS_BAD_DESCRIPTOR;
    Writer writer = {.descriptor = descriptor};
    uint64_t start = now_ns();
    guest->allocator.stats_print(write_stats, &writer, letters);
    flush(&writer);
    reply->duration_ns = now_ns() - start;
    reply->bytes = writer.written;
    reply->reply.error = writer.error;
    return writer.error == 0 ? WIRE_STATUS_OK : WIRE_STATUS_WRITE_FAILED;
}
