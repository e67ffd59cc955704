/* SPDX-License-Identifier: Apache-2.0 */
#include "embed/kept.h"

#include "embed/ask.h"
#include "embed/failure.h"
#include "embed/memory-file.h"

#include <string.h>
#include <time.h>

enum { KEPT_DEFAULT = 8 };

#define BYTES_DEFAULT ((uint64_t)64 << 20)

typedef struct {
    RouteDump dump;
    Mapped content;
} KeptDump;

static struct {
    KeptDump rows[ROUTE_DUMPS_MAX]; /* newest first */
    size_t n;
    unsigned n_max;
    uint64_t bytes_max;
    Mapped delta;
} kept = {.n_max = KEPT_DEFAULT, .bytes_max = BYTES_DEFAULT};

static void
drop_last(void)
{
    memory_file_drop(&kept.rows[--kept.n].content);
}

/* Whatever the limit of bytes, the newest stays. */
static void
drop_what_is_over(void)
{
    uint64_t bytes = 0;
    size_t n = 0;
    while (n < kept.n && n < kept.n_max && (n == 0 || bytes + kept.rows[n].dump.bytes <= kept.bytes_max)) {
        bytes += kept.rows[n++].dump.bytes;
    }
    while (kept.n > n) {
        drop_last();
    }
}

void
kept_limit(unsigned n, uint64_t bytes)
{
    kept.n_max = n == 0 ? KEPT_DEFAULT : n;
    kept.bytes_max = bytes == 0 ? BYTES_DEFAULT : bytes;
    drop_what_is_over();
}

static void
add(uint64_t recording, const Mapped *content, RouteDump *dump)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t id = (uint64_t)now.tv_sec;
    uint64_t last = kept.n > 0 ? kept.rows[0].dump.id : 0;
    if (kept.n == ROUTE_DUMPS_MAX) {
        drop_last();
    }
    memmove(kept.rows + 1, kept.rows, kept.n * sizeof kept.rows[0]);
    kept.n++;
    kept.rows[0] = (KeptDump){
        .dump = {.id = id > last ? id : last + 1,
                 .recording = recording,
                 .taken_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000,
                 .bytes = content->size},
        .content = *content,
    };
    *dump = kept.rows[0].dump;
    drop_what_is_over();
}

int
kept_take(uint64_t recording, RouteDump *dump, JescopeError *error)
{
    int descriptor;
    Mapped content;
    int code = ask_for_file(NULL, &descriptor, error);
    if (code != JESCOPE_OK) {
        return code;
    }
    if (!memory_file_keep(descriptor, &content)) {
        return failure_set_system(error, "keep the dump");
    }
    add(recording, &content, dump);
    return JESCOPE_OK;
}

size_t
kept_list(RouteDump *rows, size_t n)
{
    size_t i = 0;
    for (; i < n && i < kept.n; i++) {
        rows[i] = kept.rows[i].dump;
    }
    return i;
}

static int
open_copy(const Mapped *content, int *descriptor, JescopeError *error)
{
    int copy = memory_file_copy(content);
    if (copy < 0) {
        return failure_set_system(error, "copy the dump");
    }
    *descriptor = copy;
    return JESCOPE_OK;
}

int
kept_open(uint64_t id, int *descriptor, JescopeError *error)
{
    for (size_t i = 0; i < kept.n; i++) {
        if (kept.rows[i].dump.id == id) {
            return open_copy(&kept.rows[i].content, descriptor, error);
        }
    }
    return failure_set(error, JESCOPE_NOT_FOUND, 0, "no dump %llu is kept here (any more)", (unsigned long long)id);
}

int
kept_exchange_delta(int dump, int *previous, JescopeError *error)
{
    Mapped next;
    int before = -1;
    if (!memory_file_keep(dump, &next)) {
        return failure_set_system(error, "keep the dump");
    }
    int code = kept.delta.bytes == NULL ? JESCOPE_OK : open_copy(&kept.delta, &before, error);
    if (code != JESCOPE_OK) {
        memory_file_drop(&next);
        return code;
    }
    memory_file_drop(&kept.delta);
    kept.delta = next;
    *previous = before;
    return JESCOPE_OK;
}

void
kept_forget(void)
{
    kept.n = 0;
    kept.delta = (Mapped){0};
}
