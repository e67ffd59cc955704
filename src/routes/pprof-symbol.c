/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of addresses, for clients without the binary. No symbolizer runs in this process: the addresses are written as
 * a dump of one-address stacks with the target's memory map, which a report symbolizes.
 */
#include "routes/pprof-symbol.h"

#include "routes/pprof-reply.h"
#include "routes/reply.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    ADDRESSES_MAX = 65536,
    DIGITS_MAX = 16,
    CHUNK = 4096,
};

static bool
is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Moves *text to the digits of the next "0x..."; returns their number, 0: none before END. */
static size_t
find_address(const char **text, const char *end)
{
    for (const char *at = *text; at + 2 < end; at++) {
        if (at[0] != '0' || at[1] != 'x' || !is_hex(at[2]))
            continue;
        size_t n = 1;
        while (at + 2 + n < end && is_hex(at[2 + n]))
            n++;
        *text = at + 2;
        return n;
    }
    return 0;
}

/* The number of stacks made of the addresses in TEXT. */
static size_t
add_stacks(RouteReply *dump, const char *text, size_t size)
{
    const char *end = text + size;
    size_t digits;
    size_t n = 0;
    for (const char *at = text; n < ADDRESSES_MAX && (digits = find_address(&at, end)) > 0; at += digits) {
        if (digits <= DIGITS_MAX) {
            reply_print(dump, "@ 0x%.*s\n  t*: 1: 1 [0: 0]\n", (int)digits, at);
            n++;
        }
    }
    return n;
}

static bool
add_maps(const RouteHost *host, RouteReply *dump, Failure *failure, Outcome *result)
{
    char chunk[CHUNK];
    int maps = -1;
    ssize_t n;
    *result = host->ops->maps(host->data, &maps, failure);
    if (*result != OUTCOME_DONE)
        return false;
    reply_print(dump, "\nMAPPED_LIBRARIES:\n");
    while ((n = read(maps, chunk, sizeof(chunk))) > 0 || (n < 0 && errno == EINTR))
        reply_add(dump, chunk, n > 0 ? (size_t)n : 0);
    close(maps);
    return true;
}

/* "0xADDRESS NAME" as in a symbolized dump, with the tab in between that its readers require. */
static void
add_line(RouteReply *reply, const char *line, size_t n)
{
    const char *blank = memchr(line, ' ', n);
    if (blank == NULL || n < 3 || line[0] != '0' || line[1] != 'x')
        return;
    reply_add(reply, line, (size_t)(blank - line));
    reply_add(reply, "\t", 1);
    reply_add(reply, blank + 1, n - (size_t)(blank + 1 - line));
    reply_add(reply, "\n", 1);
}

/* The names are between "--- symbol" and "---". */
static void
add_names(RouteReply *reply, const char *text, size_t size)
{
    const char *end = text + size;
    while (text < end) {
        const char *line_end = memchr(text, '\n', (size_t)(end - text));
        size_t n = (size_t)((line_end != NULL ? line_end : end) - text);
        if (n == 3 && memcmp(text, "---", 3) == 0)
            return;
        add_line(reply, text, n);
        text += n + 1;
    }
}

static void
send_names(int report, RouteReply *reply)
{
    struct stat status;
    size_t size = fstat(report, &status) == 0 ? (size_t)status.st_size : 0;
    void *text = size > 0 ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, report, 0) : MAP_FAILED;
    reply_begin(reply, 200, REPLY_TEXT);
    reply_print(reply, "num_symbols: 1\n");
    if (text != MAP_FAILED) {
        add_names(reply, text, size);
        munmap(text, size);
    }
}

/* Where the addresses are: in the body of a POST, else in the query. */
static const char *
addresses_of(const RouteRequest *request, size_t *size)
{
    bool posted = strcmp(request->method, "POST") == 0;
    *size = posted ? request->body_size : strlen(request->query);
    return posted ? request->body : request->query;
}

bool
pprof_names_nothing(const RouteRequest *request)
{
    size_t size;
    const char *text = addresses_of(request, &size);
    return find_address(&text, text + size) == 0;
}

void
pprof_symbol(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    size_t size;
    const char *text = addresses_of(request, &size);
    Failure failure = {0};
    Outcome result;
    int report = -1;
    reply_begin(reply, 200, REPLY_TEXT);
    reply_print(reply, "heap_v2/1\n  t*: 0: 0 [0: 0]\n");
    if (add_stacks(reply, text, size) == 0) {
        send_names(-1, reply);
        return;
    }
    if (!add_maps(host, reply, &failure, &result)) {
        pprof_failure(reply, result, &failure);
        return;
    }
    RouteRendering rendering = {.format = "symbolized", .dump = reply_take_body(reply), .base = -1};
    if (rendering.dump < 0) {
        pprof_failure(reply, OUTCOME_SYSTEM, &(Failure){.error = ENOMEM});
        return;
    }
    result = host->ops->render(host->data, &rendering, &report, &failure);
    close(rendering.dump);
    if (result != OUTCOME_DONE) {
        pprof_failure(reply, result, &failure);
        return;
    }
    send_names(report, reply);
    close(report);
}
