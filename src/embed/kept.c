/* SPDX-License-Identifier: Apache-2.0 */
#include "embed/kept.h"

#include "embed/failure.h"
#include "embed/memory-file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>

enum { KEPT_DEFAULT = 8 };

#define BYTES_DEFAULT ((uint64_t)64 << 20)

typedef struct {
    RouteDump dump;
    Mapped content;
    bool nameless; /* to be symbolized, but not yet */
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

/* Removes dumps beyond the limits, but never the newest. */
static void
drop_what_is_over(void)
{
    uint64_t bytes = 0;
    size_t n = 0;
    while (n < kept.n && n < kept.n_max && (n == 0 || bytes + kept.rows[n].dump.bytes <= kept.bytes_max))
        bytes += kept.rows[n++].dump.bytes;
    while (kept.n > n)
        drop_last();
}

void
kept_limit(unsigned n, uint64_t bytes)
{
    kept.n_max = n == 0 ? KEPT_DEFAULT : n;
    kept.bytes_max = bytes == 0 ? BYTES_DEFAULT : bytes;
    drop_what_is_over();
}

static void
add(const CaptureWanted *wanted, const Mapped *content, RouteDump *dump)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t id = (uint64_t)now.tv_sec;
    uint64_t last = kept.n > 0 ? kept.rows[0].dump.id : 0;
    if (kept.n == ROUTE_DUMPS_MAX)
        drop_last();
    memmove(kept.rows + 1, kept.rows, kept.n * sizeof(kept.rows[0]));
    kept.n++;
    kept.rows[0] = (KeptDump){
        .dump = {.id = id > last ? id : last + 1,
                 .recording = wanted->recording,
                 .taken_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000,
                 .bytes = content->size},
        .content = *content,
        .nameless = wanted->capture.symbolized,
    };
    *dump = kept.rows[0].dump;
    drop_what_is_over();
}

Outcome
kept_take(const CaptureWanted *wanted, RouteDump *dump, Failure *failure)
{
    int descriptor;
    Mapped content;
    Outcome result = capture_take(wanted, &descriptor, failure);
    if (result != OUTCOME_DONE)
        return result;
    if (!memory_file_keep(descriptor, &content))
        return failure_set_error(failure, OUTCOME_SYSTEM, errno, "cannot keep the dump");
    add(wanted, &content, dump);
    return OUTCOME_DONE;
}

size_t
kept_list(RouteDump *rows, size_t n)
{
    size_t i = 0;
    for (; i < n && i < kept.n; i++)
        rows[i] = kept.rows[i].dump;
    return i;
}

static Outcome
open_copy(const Mapped *content, int *descriptor, Failure *failure)
{
    int copy = memory_file_copy(content);
    if (copy < 0)
        return failure_set_error(failure, OUTCOME_SYSTEM, errno, "cannot copy the dump");
    *descriptor = copy;
    return OUTCOME_DONE;
}

Outcome
kept_open(uint64_t id, int *descriptor, bool *nameless, Failure *failure)
{
    for (size_t i = 0; i < kept.n; i++) {
        if (kept.rows[i].dump.id == id) {
            *nameless = kept.rows[i].nameless;
            return open_copy(&kept.rows[i].content, descriptor, failure);
        }
    }
    return failure_set(failure, OUTCOME_NOT_FOUND, "no such dump: %llu", (unsigned long long)id);
}

void
kept_name(uint64_t id, int descriptor)
{
    Mapped named;
    if (!memory_file_keep(descriptor, &named))
        return;
    for (size_t i = 0; i < kept.n; i++) {
        if (kept.rows[i].dump.id == id && kept.rows[i].nameless) {
            memory_file_drop(&kept.rows[i].content);
            kept.rows[i].content = named;
            kept.rows[i].dump.bytes = named.size;
            kept.rows[i].nameless = false;
            drop_what_is_over();
            return;
        }
    }
    memory_file_drop(&named);
}

Outcome
kept_open_delta(int *descriptor, Failure *failure)
{
    *descriptor = -1;
    return kept.delta.bytes == NULL ? OUTCOME_DONE : open_copy(&kept.delta, descriptor, failure);
}

void
kept_keep_delta(int dump)
{
    memory_file_drop(&kept.delta);
    memory_file_keep(fcntl(dump, F_DUPFD_CLOEXEC, 0), &kept.delta);
}

void
kept_forget(void)
{
    kept.n = 0;
    kept.delta = (Mapped){0};
}
