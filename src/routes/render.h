/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Renders reports in a child process, so that no symbolizer and no layout engine ever runs in a host: `jescope report`
 * with the dump passed as a descriptor and its output in a memfd. For the server, `jescope growth` and `jescope doctor`
 * in the same way.
 *
 * Safe in a program that has threads, handlers and children of its own. Nothing is allocated from its heap. The child
 * gets the descriptors it needs and a short environment, no handlers, no blocked signals, limits on its time, memory
 * and output, and the lowest priority; it dies with the thread that waits for it. It reports its exit status through a
 * pipe, since the host may ignore SIGCHLD or wait for any child; a host with a handler of SIGCHLD receives one.
 */
#ifndef JESCOPE_ROUTES_RENDER_H
#define JESCOPE_ROUTES_RENDER_H

#include "routes/routes.h"

#include <sys/types.h>

/* For a host that is the program `jescope` itself, even if that file has been replaced meanwhile. */
#define RENDER_SELF "/proc/self/exe"

/* The variable with the number of the descriptor to which the child writes its exit status, one byte. */
#define RENDER_STATUS_VARIABLE "JESCOPE_STATUS_FD"

/* The usual limits of a child: of time, and of its address space. */
enum { RENDER_SECONDS = 120 };
#define RENDER_BYTES (UINT64_C(4) << 30)

typedef struct {
    const char *program;           /* the `jescope` to run; NULL: the one on PATH */
    const char *title;             /* the title of reports, "redis-server (4711)"; NULL: none */
    pid_t pid;                     /* the process of the dump, for its files; 0: it has ended */
    uint64_t start_time;           /* its start time, field 22 of /proc/PID/stat; 0: unknown, but for a report */
    bool no_files;                 /* names only from the dump itself, whatever files it names */
    bool public_files;             /* names only from files that every user may read, or the process has mapped */
    unsigned seconds;              /* time limit; 0: RENDER_SECONDS */
    uint64_t bytes;                /* limit of the address space; 0: RENDER_BYTES */
    bool (*is_wanted)(void *data); /* called about every 200 ms; false: the child is killed. NULL: never */
    void *data;
} RenderSetup;

/* Implements RouteHostOps.render. OUTCOME_INVALID: an invalid option value; else OUTCOME_SYSTEM. Thread safe. */
Outcome render_report(const RenderSetup *setup, const RouteRendering *rendering, int *descriptor, Failure *failure);

/* The dumps of one program for a growth report, in the order they were taken. */
enum { RENDER_GROWTH_MAX = 32 };
typedef struct {
    const char *const *options; /* further arguments of `jescope growth`, checked by the caller, NULL at the end */
    const int *dumps;           /* descriptors, at offset 0, owned by the caller */
    const uint64_t *ids;        /* of the dumps: their names in the answer */
    size_t n;                   /* from 3 to RENDER_GROWTH_MAX */
} RenderGrowth;

/* The output of `jescope growth` in JSON. Otherwise like render_report(). */
Outcome render_growth(const RenderSetup *setup, const RenderGrowth *wanted, int *descriptor, Failure *failure);

/* Formats of RouteRendering beside those of reports: the queue entry that `jescope push` makes of a dump, which
 * contains only the pid of its process (export/batch-circumstances.h), without and with the dump and its names. They
 * have no options. */
#define RENDER_BATCH           "batch"
#define RENDER_BATCH_WITH_HEAP "batch-with-heap"

bool render_is_batch(const char *format);

/* The output of `jescope doctor` in JSON for process SETUP.pid of SETUP.start_time, watched for WATCH_MS; VIA as its
 * option --via, NULL: any. KEPT: a descriptor of a file for its option --history, owned by the caller; -1: none. The
 * child has the priority of the host. Otherwise like render_report(); OUTCOME_SYSTEM also if it is no longer wanted. */
typedef struct {
    uint64_t watch_ms;
    const char *via;
    int kept;
} RenderExamination;
Outcome render_examination(const RenderSetup *setup, const RenderExamination *wanted, int *descriptor,
                           Failure *failure);

/* A query to a store of many processes' dumps. */
typedef struct {
    const char *question;       /* of `jescope fleet` */
    const char *const *options; /* further arguments, checked by the caller, NULL at the end */
    const char *operand;        /* NULL: none */
} RenderQuestion;

/* The output of `jescope fleet`, in the form that the options select. Otherwise like render_report();
 * OUTCOME_NOT_FOUND: the store has no match. */
Outcome render_question(const RenderSetup *setup, const RenderQuestion *wanted, int *descriptor, Failure *failure);

#endif
