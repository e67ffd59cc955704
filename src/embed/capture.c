/* SPDX-License-Identifier: Apache-2.0 */
#include "embed/capture.h"

#include "embed/ask.h"
#include "embed/failure.h"
#include "embed/own-headroom.h"
#include "jemalloc/version.h"
#include "routes/capture-line.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    SMALLEST_LARGE_PAGES = 4, /* since jemalloc 4 */
};

static uint64_t
now_us(void)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static bool
read_size(const char *control, uint64_t *value)
{
    WireCtlReply read;
    if (ask_read(NULL, control, WIRE_TYPE_SIZE, &read, NULL) != OUTCOME_DONE)
        return false;
    *value = read.value;
    return true;
}

/* The sum of the controls that this jemalloc has. */
static uint64_t
sum(const char *const *controls)
{
    uint64_t total = 0;
    for (; *controls != NULL; controls++) {
        uint64_t value = 0;
        total += read_size(*controls, &value) ? value : 0;
    }
    return total;
}

/* jemalloc before 5 does not report the memory in thread caches. */
static void
take_memory(CaptureLine *line, const WireHelloReply *hello)
{
    static const char *const unheld[] = {"stats.arenas.4096.tcache_bytes", "stats.arenas.4096.tcache_stashed_bytes",
                                         "stats.arenas.4096.internal", NULL};
    JemallocVersion version;
    uint64_t page = 0;
    if (!jemalloc_version_parse(hello->jemalloc_version, &version) || version.major < 5 ||
        ask_write(NULL, "epoch", WIRE_TYPE_U64, 1, NULL) != OUTCOME_DONE || !read_size("arenas.page", &page) ||
        !read_size("stats.allocated", &line->allocated) || !read_size("stats.resident", &line->resident))
        return;
    line->flags |= CAPTURE_HAS_MEMORY;
    line->unheld = sum(unheld);
    line->large = SMALLEST_LARGE_PAGES * page;
}

static void
take_start(CaptureLine *line)
{
    WireCtlReply on;
    if (ask_read(NULL, "opt.prof_active", WIRE_TYPE_BOOL, &on, NULL) == OUTCOME_DONE)
        line->flags |= on.value != 0 ? CAPTURE_STARTED_ON : CAPTURE_STARTED_OFF;
}

/* Called before the dump, which itself allocates memory. */
static void
describe(const CaptureWanted *wanted, CaptureLine *line)
{
    WireHelloReply hello;
    *line = (CaptureLine){.pid = (uint64_t)getpid(), .since = wanted->since_ms * 1000};
    if (wanted->recording != 0)
        line->until = now_us(); /* the end of the recording has disabled profiling */
    if (ask_hello(NULL, &hello, NULL) == OUTCOME_DONE) {
        capture_line_take_hello(line, &hello);
        take_memory(line, &hello);
    }
    take_start(line);
}

static bool
append(int descriptor, const char *text, size_t n)
{
    struct stat status;
    return fstat(descriptor, &status) == 0 && pwrite(descriptor, text, n, status.st_size) == (ssize_t)n;
}

/* Whether the last line has no end: it would take in what is appended. */
static bool
is_unfinished(int descriptor)
{
    struct stat status;
    char last;
    return fstat(descriptor, &status) == 0 && status.st_size > 0 &&
           pread(descriptor, &last, 1, status.st_size - 1) == 1 && last != '\n';
}

static bool
append_capture(int descriptor, const CaptureLine *line)
{
    char text[CAPTURE_LINE_MAX];
    return (!is_unfinished(descriptor) || append(descriptor, "\n", 1)) &&
           append(descriptor, text, capture_line_write(line, text));
}

enum { OF_ALL_ARENAS = 1 << 0 };

/* The value of a control of a class; 0 if this jemalloc does not have it. */
static uint64_t
read_of_class(unsigned class, const char *leaf, WireType type, unsigned flags)
{
    char name[WIRE_CONTROL_NAME_MAX];
    WireCtlReply read;
    snprintf(name, sizeof(name), "%s.%u.%s", flags & OF_ALL_ARENAS ? "stats.arenas.4096.bins" : "arenas.bin", class,
             leaf);
    return ask_read(NULL, name, type, &read, NULL) == OUTCOME_DONE ? read.value : 0;
}

static void
take_class(unsigned class, ClassLine *line)
{
    *line = (ClassLine){
        .size = read_of_class(class, "size", WIRE_TYPE_SIZE, 0),
        .regions = read_of_class(class, "nregs", WIRE_TYPE_UNSIGNED, 0),
        .slab = read_of_class(class, "slab_size", WIRE_TYPE_SIZE, 0),
        .slabs = read_of_class(class, "curslabs", WIRE_TYPE_SIZE, OF_ALL_ARENAS),
        .live = read_of_class(class, "curregs", WIRE_TYPE_SIZE, OF_ALL_ARENAS),
        .nonfull = read_of_class(class, "nonfull_slabs", WIRE_TYPE_SIZE, OF_ALL_ARENAS),
    };
}

/* Called after take_memory(), which refreshes the statistics. */
static bool
append_classes(int descriptor)
{
    char text[CAPTURE_LINE_MAX];
    WireCtlReply count;
    if (ask_read(NULL, "arenas.nbins", WIRE_TYPE_UNSIGNED, &count, NULL) != OUTCOME_DONE)
        return true;
    for (unsigned i = 0; i < count.value; i++) {
        ClassLine line;
        take_class(i, &line);
        if (line.size != 0 && line.slabs != 0 && !append(descriptor, text, class_line_write(&line, text)))
            return false;
    }
    return true;
}

static Outcome
check_size(int descriptor, uint64_t most, Failure *failure)
{
    struct stat status;
    if (most == 0 || (fstat(descriptor, &status) == 0 && (uint64_t)status.st_size <= most))
        return OUTCOME_DONE;
    failure_set(failure, OUTCOME_TOO_LARGE, "the dump is larger than the limit of %llu bytes",
                (unsigned long long)most);
    failure->error = EFBIG;
    return OUTCOME_TOO_LARGE;
}

Outcome
capture_take(const CaptureWanted *wanted, int *descriptor, Failure *failure)
{
    CaptureLine line;
    int file = -1;
    describe(wanted, &line);
    Outcome result = wanted->capture.forced ? OUTCOME_DONE : own_headroom_check(wanted->capture.output_max, failure);
    if (result == OUTCOME_DONE)
        result = ask_for_file(NULL, &file, failure);
    if (result != OUTCOME_DONE)
        return result;
    line.time = now_us();
    result = check_size(file, wanted->capture.output_max, failure);
    if (result == OUTCOME_DONE &&
        !(append_capture(file, &line) && ((line.flags & CAPTURE_HAS_MEMORY) == 0 || append_classes(file))))
        result = failure_set_error(failure, OUTCOME_SYSTEM, errno, "cannot write to the memory file");
    if (result != OUTCOME_DONE) {
        close(file);
        return result;
    }
    *descriptor = file;
    return OUTCOME_DONE;
}
