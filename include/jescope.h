/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libjescope: jescope inside a program that uses jemalloc. docs/embedding.md tells how to use it, libjescope(3) what
 * each function does.
 *
 * All functions may be called from any thread at any time, but not from a signal handler; calls that touch jemalloc
 * take turns. None allocates from the heap under study: what they need is on the stack (up to 64 KiB) or mapped.
 * Descriptors they make are CLOEXEC. None is a point where a thread is cancelled. In a forked child they go on working;
 * after vfork() they must not be called.
 *
 * Errors: every function that can fail returns a JescopeCode, 0 for success, and fills *ERROR where that is not NULL.
 * Out-parameters are then untouched.
 */
#ifndef JESCOPE_H
#define JESCOPE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define JESCOPE_API __attribute__((visibility("default")))

typedef enum JescopeCode {
    JESCOPE_OK = 0,
    JESCOPE_INVALID = 1,         /* an argument that cannot be meant */
    JESCOPE_NO_JEMALLOC = 2,     /* no jemalloc serves this process */
    JESCOPE_NO_PROFILING = 3,    /* jemalloc was built, or started, without profiling */
    JESCOPE_NOT_ALLOWED = 4,     /* the environment says JESCOPE=off, or a control that may not be written */
    JESCOPE_BUSY = 5,            /* profiling is on for a time already, by somebody else's wish */
    JESCOPE_NOT_STARTED = 6,     /* needs the thread of jescope_start() */
    JESCOPE_ALREADY_STARTED = 7, /* by an earlier call */
    JESCOPE_CONTROL_FAILED = 8,  /* jemalloc refused: JescopeError.error is what mallctl() returned */
    JESCOPE_SYSTEM = 9,          /* a system call failed: JescopeError.error is its errno */
    JESCOPE_NOT_FOUND = 10       /* no such lease, recording or dump any more */
} JescopeCode;

typedef struct JescopeError {
    int code;          /* JescopeCode */
    int error;         /* an errno value where the code says so, else 0 */
    char message[512]; /* one sentence that names the value and the way out; no full stop */
} JescopeError;

/* "0.1.0" */
JESCOPE_API const char *jescope_version(void);

/* ---- the thread: so that `jescope` reaches this process ---- */

typedef enum JescopeStartFlag {
    JESCOPE_START_NO_SOCKET =
        1 /* the thread only keeps time: for jescope_enable() and the recordings of jescope_http() */
} JescopeStartFlag;

/* Zero all of it, set size. What is zero or NULL is as said here. */
typedef struct JescopeOptions {
    size_t size;                  /* sizeof(JescopeOptions) */
    unsigned flags;               /* JescopeStartFlag */
    unsigned dumps_kept;          /* by jescope_http(): at most so many (8; 64 is the most) ... */
    uint64_t dump_bytes_kept;     /* ... and so many bytes of them (64 MiB), but always the newest */
    const char *socket_directory; /* absolute; NULL: as JESCOPE_SOCKET_DIR and XDG_RUNTIME_DIR say */
    const char *program;          /* the jescope that renders for jescope_http(); NULL: "jescope" on PATH */
} JescopeOptions;

/*
 * Starts one thread, named "jescope", that waits for clients on a socket of this user's: the preloaded agent, linked.
 * Returns before it listens. OPTIONS may be NULL.
 *
 * Heeds JESCOPE, JESCOPE_ONLY, JESCOPE_SOCKET_DIR and JESCOPE_DEBUG as the agent does. It reads the environment: call
 * it while no other thread changes that. A forked child has a thread of its own, with its own socket.
 *
 * Where another copy has this process's socket already (the agent was preloaded), this is a success, too: `jescope`
 * reaches the process through that one, and the thread only keeps time (JESCOPE_IS_SERVED_BY_OTHER).
 */
JESCOPE_API int jescope_start(const JescopeOptions *options, JescopeError *error);

/*
 * Ends the thread and waits for it (at most as long as a dump takes that a client has asked for): profiling that was on
 * for a time goes back to what it was, clients are disconnected, the socket's file is removed. It may be started again.
 */
JESCOPE_API int jescope_stop(JescopeError *error);

/* ---- direct control ---- */

typedef enum JescopeIs {
    JESCOPE_IS_STARTED = 1 << 0,         /* the thread is there */
    JESCOPE_IS_SERVED_BY_OTHER = 1 << 1, /* another copy has the socket */
    JESCOPE_IS_SERVING_MALLOC = 1 << 2,  /* malloc() is this jemalloc's */
    JESCOPE_IS_PROF_BUILT = 1 << 3,      /* built with profiling */
    JESCOPE_IS_PROF_READY = 1 << 4,      /* started with prof:true: all below is possible */
    JESCOPE_IS_PROF_ACTIVE = 1 << 5,     /* sampling now */
    JESCOPE_IS_LEASED = 1 << 6           /* for a time only: lease_remaining_ms */
} JescopeIs;

typedef struct JescopeStatus {
    size_t size;    /* sizeof(JescopeStatus), set by the caller */
    unsigned flags; /* JescopeIs */
    unsigned clients;
    uint64_t active_since_ns;    /* CLOCK_REALTIME; 0: not active, or not known */
    uint64_t reset_at_ns;        /* the last reset through us; 0: never */
    uint64_t lease_remaining_ms; /* until prof.active goes back to what it was */
    char jemalloc_version[64];   /* "5.3.0-0-g..." */
    char jemalloc_prefix[32];    /* of its public names: "", "je_" */
    char jemalloc_found_in[256]; /* the file it is in */
    char socket[1112];           /* where clients connect; "" as long as there is none of ours */
} JescopeStatus;

JESCOPE_API int jescope_status(JescopeStatus *status, JescopeError *error);

/* Switches profiling on: for good (0), or for DURATION_MS, at most 30 days, after which the thread switches it back
 * (needs jescope_start()). */
JESCOPE_API int jescope_enable(uint64_t duration_ms, JescopeError *error);

/* Switches profiling off, whoever switched it on. */
JESCOPE_API int jescope_disable(JescopeError *error);

/* Discards all samples. SAMPLE_BYTES is the mean distance of samples from now on, a power of two; 0: as it is. */
JESCOPE_API int jescope_reset(uint64_t sample_bytes, JescopeError *error);

/* Writes a heap profile, as `jescope report` reads it, to DESCRIPTOR: a file at its position, a pipe, a socket. A
 * descriptor that does not block is waited for. */
JESCOPE_API int jescope_dump(int descriptor, JescopeError *error);

/* Writes what malloc_stats_print() prints for the option LETTERS ("J": JSON; "" or NULL: all of it, as text). */
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
    JESCOPE_HTTP_READ_ONLY = 1 /* what would change something is answered with 403 */
} JescopeHttpFlag;

/* Zero all of it, set size. */
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

typedef struct JescopeReply {
    size_t size;              /* sizeof(JescopeReply), set by the caller */
    unsigned status;          /* 200 */
    const char *reason;       /* NULL: the usual one of the status; lives as long as the library */
    const char *content_type; /* NULL: send none; lives as long as the library */
    char headers[1024];       /* further lines "Name: value\r\n" */
    int descriptor;           /* the body, a memory file at offset 0, for the caller to close; -1: it is in body */
    size_t body_size;         /* either way */
    char body[8192];
} JescopeReply;

/*
 * Answers an HTTP request about this process. An HTTP error is an answer too; only arguments that cannot be meant are
 * an error of the call, and touch nothing.
 *
 * Nobody is asked who he is: that is the server's affair, before it calls. Requests that take a dump or render take as
 * long as that takes, and one with a `seconds` parameter as long as it says: not for the thread of an event loop. What
 * is symbolized or drawn is made by the program `jescope`, run as a child.
 */
JESCOPE_API int jescope_http(const JescopeRequest *request, JescopeReply *reply, JescopeError *error);

/* ---- the protocol without a socket ---- */

/*
 * Answers one message of the agent protocol (docs/protocol.md) as the socket would: REQUEST of REQUEST_SIZE bytes, with
 * DESCRIPTOR (-1: none), a memory file, for a dump or statistics; it stays the caller's. REPLY has room for 1024 bytes;
 * *REPLY_SIZE is how many there are. Succeeds whenever there is a reply: its status may say otherwise.
 */
JESCOPE_API int jescope_exchange(const void *request, size_t request_size, int descriptor, void *reply,
                                 size_t *reply_size, JescopeError *error);

#ifdef __cplusplus
}
#endif

#endif
