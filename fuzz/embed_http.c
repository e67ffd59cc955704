/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request to a program that mounts jescope's routes: METHOD SP TARGET LF BODY. There is no jemalloc, so no child is
 * started; fuzz/routes.c has a complete host. Every request must get a status, and a body in only one form.
 */
#include <jescope.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A NUL-terminated copy. */
static char *
text_of(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (text == NULL)
        abort();
    memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

static void
ask(char *line, const char *body, size_t body_size)
{
    char *target = strchr(line, ' ');
    JescopeRequest request = {
        .size = sizeof(request),
        .dialects = JESCOPE_DIALECT_NATIVE | JESCOPE_DIALECT_LIBMTEV | JESCOPE_DIALECT_USERVER | JESCOPE_DIALECT_MESOS,
        .method = line,
        .body = body,
        .body_size = body_size,
    };
    JescopeReply reply = {.size = sizeof(reply)};
    if (target == NULL)
        return;
    *target++ = '\0';
    request.path = target;
    if (jescope_http(&request, &reply, NULL) != JESCOPE_OK)
        return;
    if (reply.status < 200 || reply.status > 599 || (reply.descriptor < 0 && reply.body_size > sizeof(reply.body)))
        abort();
    if (reply.descriptor >= 0)
        close(reply.descriptor);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = memchr(data, '\n', size);
    size_t n = end != NULL ? (size_t)(end - data) : size;
    size_t body_size = end != NULL ? size - n - 1 : 0;
    char *line = text_of(data, n);
    char *body = text_of(data + size - body_size, body_size);
    ask(line, body, body_size);
    free(line);
    free(body);
    return 0;
}
