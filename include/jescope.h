/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libjescope: jescope inside a program that uses jemalloc. docs/embedding.md explains its use, libjescope(3) describes
 * each function, and examples/ has complete programs.
 *
 * All functions may be called from any thread at any time, but not from a signal handler; calls that touch jemalloc
 * take turns. None allocates from the heap under study: what they need is on the stack (up to 64 KiB) or mapped.
 * Descriptors they make are CLOEXEC. The functions are not cancellation points. They also work in a forked child, but
 * must not be called after vfork().
 *
 * Errors: every function that can fail returns a JescopeCode (as an int, whose size no compiler option changes), 0 for
 * success. On failure it fills *ERROR, unless ERROR is NULL, and leaves all other out-parameters untouched.
 *
 * Units are in the names: _ms are milliseconds, _ns nanoseconds, sizes are bytes. Times are CLOCK_REALTIME.
 *
 * Structs begin with their size, so that later versions can add members. JESCOPE_..._INIT initializes one:
 *
 *     JescopeStatus status = JESCOPE_STATUS_INIT;
 *     JescopeError error;
 *     if (jescope_status(&status, &error) != JESCOPE_OK)
 *         fprintf(stderr, "%s\n", error.message);
 */
#ifndef JESCOPE_H
#define JESCOPE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header; jescope_version() is that of the library that runs. */
#define JESCOPE_VERSION_MAJOR  0
#define JESCOPE_VERSION_MINOR  1
#define JESCOPE_VERSION_PATCH  0
#define JESCOPE_VERSION_STRING "0.1.0"
/* Comparable in #if: JESCOPE_VERSION_NUMBER >= JESCOPE_VERSION_ENCODE(0, 2, 0) */
#define JESCOPE_VERSION_ENCODE(major, minor, patch) ((major)*1000000 + (minor)*1000 + (patch))
#define JESCOPE_VERSION_NUMBER                                                                                         \
    JESCOPE_VERSION_ENCODE(JESCOPE_VERSION_MAJOR, JESCOPE_VERSION_MINOR, JESCOPE_VERSION_PATCH)

#define JESCOPE_API __attribute__((visibility("default")))

typedef enum JescopeCode {
    JESCOPE_OK = 0,
    JESCOPE_INVALID = 1,         /* invalid argument */
    JESCOPE_NO_JEMALLOC = 2,     /* no jemalloc serves this process */
    JESCOPE_NO_PROFILING = 3,    /* jemalloc was built, or started, without profiling */
    JESCOPE_NOT_ALLOWED = 4,     /* JESCOPE=off is set in the environment, or the control may not be written */
    JESCOPE_BUSY = 5,            /* another client's time-limited profiling is running */
    JESCOPE_NOT_STARTED = 6,     /* needs the thread of jescope_start() */
    JESCOPE_ALREADY_STARTED = 7, /* by an earlier call */
    JESCOPE_CONTROL_FAILED = 8,  /* jemalloc refused: JescopeError.error is what mallctl() returned */
    JESCOPE_SYSTEM = 9,          /* a system call failed: JescopeError.error is its errno */
    JESCOPE_NOT_FOUND = 10       /* no such lease, recording or dump any more */
} JescopeCode;

typedef struct JescopeError {
    int code;          /* JescopeCode */
    int error;         /* an errno value if the code says so, else 0 */
    char message[512]; /* one sentence: what failed, with which value, what to do; no full stop */
} JescopeError;

/* "0.1.0" */
JESCOPE_API const char *jescope_version(void);

/* The name of CODE, "JESCOPE_BUSY"; "unknown" for any other number. Static. */
JESCOPE_API const char *jescope_code_name(int code);

/* ---- the thread, through which `jescope` reaches this process ---- */

typedef enum JescopeStartFlag {
    JESCOPE_START_NO_SOCKET =
        1 /* the thread is only the timer of jescope_enable() and of the recordings of jescope_http() */
} JescopeStartFlag;

/* Members that are zero or NULL have the defaults given here. */
typedef struct JescopeOptions {
    size_t size;                  /* sizeof(JescopeOptions) */
    unsigned flags;               /* JescopeStartFlag */
    unsigned dumps_kept;          /* maximum number of dumps that jescope_http() keeps (default 8, at most 64) */
    uint64_t dump_bytes_kept;     /* and their maximum total size (default 64 MiB); the newest is always kept */
    const char *socket_directory; /* absolute; NULL: as JESCOPE_SOCKET_DIR and XDG_RUNTIME_DIR say */
    const char *program;          /* the jescope that renders for jescope_http(); NULL: "jescope" on PATH */
} JescopeOptions;

#define JESCOPE_OPTIONS_INIT                                                                                           \
    {                                                                                                                  \
        sizeof(JescopeOptions), 0, 0, 0, NULL, NULL                                                                    \
    }

/*
 * Starts one thread, named "jescope", that serves clients on a socket of this user's: the agent, linked instead of
 * preloaded. Returns before the thread listens. OPTIONS may be NULL.
 *
 * Honours JESCOPE, JESCOPE_ONLY, JESCOPE_SOCKET_DIR and JESCOPE_DEBUG as the agent does. It reads the environment: call
 * it while no other thread changes that. A forked child has a thread of its own, with its own socket.
 *
 * If another copy already has the socket of this process (the agent was preloaded), this succeeds as well: `jescope`
 * reaches the process through that one, and the thread is only a timer (JESCOPE_IS_SERVED_BY_OTHER).
 */
JESCOPE_API int jescope_start(const JescopeOptions *options, JescopeError *error);

/*
 * Ends the thread and waits for it, at most until a dump that a client has requested is written: time-limited profiling
 * is reverted, clients are disconnected, the socket is removed. It can be started again.
 */
JESCOPE_API int jescope_stop(JescopeError *error);

/* ---- direct control ---- */

typedef enum JescopeIs {
    JESCOPE_IS_STARTED = 1 << 0,         /* the thread runs */
    JESCOPE_IS_SERVED_BY_OTHER = 1 << 1, /* another copy has the socket */
    JESCOPE_IS_SERVING_MALLOC = 1 << 2,  /* malloc() is this jemalloc's */
    JESCOPE_IS_PROF_BUILT = 1 << 3,      /* built with profiling */
    JESCOPE_IS_PROF_READY = 1 << 4,      /* by prof:true or jescope's own sampler: all below is possible */
    JESCOPE_IS_PROF_ACTIVE = 1 << 5,     /* sampling now */
    JESCOPE_IS_LEASED = 1 << 6           /* for a limited time: lease_remaining_ms */
} JescopeIs;

typedef struct JescopeStatus {
    size_t size;    /* sizeof(JescopeStatus), set by the caller */
    unsigned flags; /* JescopeIs */
    unsigned clients;
    uint64_t active_since_ns;    /* CLOCK_REALTIME; 0: not active, or not known */
    uint64_t reset_at_ns;        /* the last reset through us; 0: never */
    uint64_t lease_remaining_ms; /* until the earlier state is restored */
    char jemalloc_version[64];   /* "5.3.0-0-g..." */
    char jemalloc_prefix[32];    /* of its public names: "", "je_" */
    char jemalloc_found_in[256]; /* the file it is in */
    char socket[1112];           /* where clients connect; "": there is no socket of this copy */
} JescopeStatus;

#define JESCOPE_STATUS_INIT                                                                                            \
    {                                                                                                                  \
        sizeof(JescopeStatus), 0, 0, 0, 0, 0, "", "", "", ""                                                           \
    }

JESCOPE_API int jescope_status(JescopeStatus *status, JescopeError *error);

/* Switches profiling on: permanently (0), or for DURATION_MS, at most 30 days, after which the thread restores the
 * earlier state (needs jescope_start()). */
JESCOPE_API int jescope_enable(uint64_t duration_ms, JescopeError *error);

/* Switches profiling off, even if another client switched it on. */
JESCOPE_API int jescope_disable(JescopeError *error);

/* Discards all samples. SAMPLE_BYTES is the new sampling period, the mean number of bytes between samples, a
 * power of two; 0: unchanged. */
JESCOPE_API int jescope_reset(uint64_t sample_bytes, JescopeError *error);

/* Writes a heap profile, as `jescope report` reads it, to DESCRIPTOR: a file at its position, a pipe, a socket. Waits
 * for a non-blocking descriptor. JESCOPE_SYSTEM with ENOMEM: the memory control group of the process may have no room
 * for the profile, which is in memory before it is written; jescope_dump_flags() can take it anyway. */
JESCOPE_API int jescope_dump(int descriptor, JescopeError *error);

typedef enum JescopeDumpFlag {
    JESCOPE_DUMP_FORCE = 1 /* even if the memory control group may have no room for the profile */
} JescopeDumpFlag;

/* The same with FLAGS (JescopeDumpFlag). */
JESCOPE_API int jescope_dump_flags(int descriptor, unsigned flags, JescopeError *error);

/* Writes the output of malloc_stats_print() for the options LETTERS ("J": JSON; "" or NULL: everything, as text). */
JESCOPE_API int jescope_stats(const char *letters, int descriptor, JescopeError *error);

/* TEXT is not NUL-terminated. Called in the calling thread, which may call this library again from it. */
typedef void (*JescopeWrite)(void *opaque, const char *text, size_t size);

JESCOPE_API int jescope_stats_write(const char *letters, JescopeWrite write, void *opaque, JescopeError *error);

/* ---- HTTP: the routes of `jescope serve`, to be mounted in a server of the program's own ---- */

typedef enum JescopeDialect {
    JESCOPE_DIALECT_NATIVE = 1 << 0,  /* /api/v1/... */
    JESCOPE_DIALECT_LIBMTEV = 1 << 1, /* /mtev/memory.json, ... */
    JESCOPE_DIALECT_USERVER = 1 << 2, /* /service/jemalloc/prof/... */
    JESCOPE_DIALECT_MESOS = 1 << 3,   /* /memory-profiler/... */
    JESCOPE_DIALECT_PPROF = 1 << 4    /* /pprof/..., /debug/pprof/... */
} JescopeDialect;

typedef enum JescopeHttpFlag {
    JESCOPE_HTTP_READ_ONLY = 1 /* requests that would change something are answered with 403 */
} JescopeHttpFlag;

typedef struct JescopeRequest {
    size_t size;        /* sizeof(JescopeRequest) */
    unsigned dialects;  /* JescopeDialect; 0: all */
    unsigned flags;     /* JescopeHttpFlag */
    const char *method; /* "GET" */
    const char *path;   /* as it came, still encoded; begins with '/' */
    const char *query;  /* as it came, without '?'; NULL: it is what follows '?' in path, if anything */
    const char *body;   /* may be NULL */
    size_t body_size;
} JescopeRequest;

#define JESCOPE_REQUEST_INIT                                                                                           \
    {                                                                                                                  \
        sizeof(JescopeRequest), 0, 0, NULL, NULL, NULL, NULL, 0                                                        \
    }

typedef struct JescopeReply {
    size_t size;              /* sizeof(JescopeReply), set by the caller */
    unsigned status;          /* 200 */
    const char *reason;       /* NULL: the standard phrase of the status; valid as long as the library is loaded */
    const char *content_type; /* NULL: send none; valid as long as the library is loaded */
    char headers[1024];       /* further lines "Name: value\r\n" */
    int descriptor;           /* the body, a memory file at offset 0, for the caller to close; -1: it is in body */
    size_t body_size;         /* either way */
    char body[8192];
} JescopeReply;

#define JESCOPE_REPLY_INIT                                                                                             \
    {                                                                                                                  \
        sizeof(JescopeReply), 0, NULL, NULL, "", -1, 0, ""                                                             \
    }

/*
 * Answers an HTTP request about this process. An HTTP error is an answer too; only invalid arguments are an error of
 * the call.
 *
 * No authentication is done: the server does that before the call. Requests that take a dump or render can take
 * seconds, one with `seconds=N` takes N: do not call this from an event loop. Reports are made by the program
 * `jescope`, as a sandboxed, time-limited child process.
 */
JESCOPE_API int jescope_http(const JescopeRequest *request, JescopeReply *reply, JescopeError *error);

#ifdef __cplusplus
}
#endif

#endif
