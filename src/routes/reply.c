/* SPDX-License-Identifier: Apache-2.0 */
#include "routes/reply.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PIECE_MAX = 2048, /* of one reply_print() */
};

void
reply_begin(RouteReply *reply, unsigned status, const char *content_type)
{
    if (reply->descriptor >= 0)
        close(reply->descriptor);
    reply->status = status;
    reply->reason = NULL;
    reply->content_type = content_type;
    reply->headers[0] = '\0';
    reply->descriptor = -1;
    reply->body_size = 0;
}

static bool
write_all(int descriptor, const char *bytes, size_t n, size_t offset)
{
    while (n > 0) {
        ssize_t written = pwrite(descriptor, bytes, n, (off_t)offset);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        bytes += written;
        offset += (size_t)written;
        n -= (size_t)written;
    }
    return true;
}

/* Moves the body to a memfd. */
static bool
move_to_memfd(RouteReply *reply)
{
    int descriptor = memfd_create("jescope-reply", MFD_CLOEXEC);
    if (descriptor < 0)
        return false;
    reply->descriptor = descriptor;
    return write_all(descriptor, reply->body, reply->body_size, 0);
}

void
reply_add(RouteReply *reply, const char *bytes, size_t n)
{
    if (reply->descriptor < 0 && n <= sizeof(reply->body) - reply->body_size) {
        memcpy(reply->body + reply->body_size, bytes, n);
        reply->body_size += n;
        return;
    }
    if ((reply->descriptor < 0 && !move_to_memfd(reply)) || !write_all(reply->descriptor, bytes, n, reply->body_size)) {
        reply_text(reply, 500, REPLY_UTF8, "the answer does not fit into memory: %s\n", error_name(errno));
        return;
    }
    reply->body_size += n;
}

__attribute__((format(printf, 2, 0))) static void
print(RouteReply *reply, const char *format, va_list arguments)
{
    char piece[PIECE_MAX];
    int n = vsnprintf(piece, sizeof(piece), format, arguments);
    if (n > 0)
        reply_add(reply, piece, (size_t)n < sizeof(piece) ? (size_t)n : sizeof(piece) - 1);
}

void
reply_print(RouteReply *reply, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print(reply, format, arguments);
    va_end(arguments);
}

void
reply_text(RouteReply *reply, unsigned status, const char *content_type, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    reply_begin(reply, status, content_type);
    print(reply, format, arguments);
    va_end(arguments);
}

void
reply_file(RouteReply *reply, const char *content_type, int descriptor)
{
    struct stat status;
    reply_begin(reply, 200, content_type);
    if (fstat(descriptor, &status) != 0 || lseek(descriptor, 0, SEEK_SET) != 0) {
        reply_text(reply, 500, REPLY_UTF8, "the answer cannot be read: %s\n", error_name(errno));
        close(descriptor);
        return;
    }
    reply->descriptor = descriptor;
    reply->body_size = (size_t)status.st_size;
}

int
reply_take_body(RouteReply *reply)
{
    bool moved = reply->descriptor >= 0 || move_to_memfd(reply);
    int descriptor = moved ? reply->descriptor : -1;
    if (moved) {
        reply->descriptor = -1;
        lseek(descriptor, 0, SEEK_SET);
    }
    reply_begin(reply, reply->status, NULL);
    return descriptor;
}

void
reply_header(RouteReply *reply, const char *name, const char *format, ...)
{
    char value[ROUTE_HEADERS_MAX];
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(value, sizeof(value), format, arguments);
    va_end(arguments);
    size_t used = strlen(reply->headers);
    if (n < 0 || used + strlen(name) + (size_t)n + strlen(": \r\n") >= sizeof(reply->headers))
        return;
    for (char *c = value; *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '_';
    snprintf(reply->headers + used, sizeof(reply->headers) - used, "%s: %s\r\n", name, value);
}

void
reply_add_retry(RouteReply *reply)
{
    if (reply->status == outcome_row(OUTCOME_CROWDED)->http)
        reply_header(reply, "Retry-After", "1");
}

const char *
reply_failure_text(Outcome result, const Failure *failure)
{
    bool has_sentence = result != OUTCOME_CONTROL_FAILED && failure->why[0] != '\0';
    return has_sentence ? failure->why : error_name(failure->error);
}
