/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent protocol between a client (jescope) and the agent inside a target.
 *
 * Transport: AF_UNIX SOCK_SEQPACKET; one packet is one message, a request is answered by exactly one reply, in order.
 * Every message is a fixed-size struct that begins with WireHeader; integers are in host byte order (both ends share
 * one kernel). DUMP and STATS carry one descriptor (SCM_RIGHTS): a memfd that the client made. No file name ever
 * crosses the socket.
 *
 * Versions: a client's HELLO names the range it speaks; the agent answers with the highest version both know, which the
 * client puts in the header of every later message. A reply to a message the agent does not understand carries
 * WIRE_STATUS_UNKNOWN_OP or WIRE_STATUS_BAD_MESSAGE, and the connection stays open.
 *
 * This header and its room use libc only. docs/protocol.md explains it.
 */
#ifndef JESCOPE_WIRE_WIRE_H
#define JESCOPE_WIRE_WIRE_H

#include <stdint.h>

enum {
    WIRE_MAGIC = 0x4f43534a, /* "JSCO" in memory on a little-endian machine */
    WIRE_VERSION_MIN = 1,
    WIRE_VERSION_MAX = 1,

    WIRE_CONTROL_NAME_MAX = 128, /* with the NUL */
    WIRE_TEXT_MAX = 256,         /* with the NUL */
    WIRE_PATH_MAX = 256,         /* with the NUL; a longer path keeps its tail */
    WIRE_VERSION_TEXT_MAX = 64,
    WIRE_PREFIX_MAX = 32,
    WIRE_LETTERS_MAX = 32,
    WIRE_MESSAGE_MAX = 1024, /* no message is larger */

    WIRE_SAMPLE_CONTROLS_MAX = 64,
    WIRE_SAMPLE_NAMES_SIZE = 992,
    WIRE_SAMPLE_WORDS = 122,
};

typedef enum {
    WIRE_OP_HELLO = 1,  /* identity and capabilities */
    WIRE_OP_CTL = 2,    /* read and/or write one control, typed */
    WIRE_OP_DUMP = 3,   /* write a heap profile to the descriptor sent */
    WIRE_OP_STATS = 4,  /* write malloc_stats_print's text to the descriptor sent */
    WIRE_OP_LEASE = 5,  /* set prof.active and switch it back at a deadline, whatever happens to the client */
    WIRE_OP_SAMPLE = 6, /* read many numbers at once, for a range of arenas */
    WIRE_OP_LEAVE = 7,  /* end a lease, answer, then close the socket and end the thread */
} WireOp;

typedef enum {
    WIRE_STATUS_OK = 0,
    WIRE_STATUS_UNKNOWN_OP = 1,
    WIRE_STATUS_BAD_MESSAGE = 2,    /* wrong size, magic, enum value, missing NUL or missing descriptor */
    WIRE_STATUS_BAD_VERSION = 3,    /* no common version */
    WIRE_STATUS_NOT_ALLOWED = 4,    /* this control may not be written (or, for a few, read) through the agent */
    WIRE_STATUS_PROF_DISABLED = 5,  /* config.prof or opt.prof is false: prof.* is not touched (see jemalloc/) */
    WIRE_STATUS_CONTROL_FAILED = 6, /* mallctl returned WireReply.error */
    WIRE_STATUS_BAD_DESCRIPTOR = 7, /* the descriptor sent is not a writable memfd */
    WIRE_STATUS_BUSY = 8,           /* another lease is running; the reply describes it */
    WIRE_STATUS_NO_LEASE = 9,       /* RELEASE or RENEW of a lease that is not (or no longer) running */
    WIRE_STATUS_WRITE_FAILED = 10,  /* writing to the descriptor failed with errno WireReply.error */
} WireStatus;

/* The C type of a control, as jemalloc's manual gives it. */
typedef enum {
    WIRE_TYPE_NONE = 0, /* an action node: no value in, none out */
    WIRE_TYPE_BOOL = 1,
    WIRE_TYPE_UNSIGNED = 2,
    WIRE_TYPE_SIZE = 3,
    WIRE_TYPE_SSIZE = 4,
    WIRE_TYPE_U64 = 5,
    WIRE_TYPE_STRING = 6, /* read only: copied into the reply */
} WireType;

typedef struct {
    uint32_t magic;
    uint16_t version;
    uint16_t op;
    uint32_t sequence; /* chosen by the client, echoed by the agent */
    uint32_t size;     /* of the whole message, this header included */
} WireHeader;

/* Every reply begins with this; an error reply is this alone. */
typedef struct {
    WireHeader header;
    uint32_t status; /* WireStatus */
    int32_t error;   /* an errno value if the status says so, else 0 */
} WireReply;

typedef struct {
    WireHeader header;
    uint16_t version_min;
    uint16_t version_max;
    uint32_t reserved;
} WireHelloRequest;

typedef enum {
    WIRE_FLAG_SERVES_MALLOC = 1u << 0,  /* malloc() in this process is this jemalloc's */
    WIRE_FLAG_CONFIG_PROF = 1u << 1,    /* built with profiling */
    WIRE_FLAG_OPT_PROF = 1u << 2,       /* started with prof:true */
    WIRE_FLAG_CONFIG_STATS = 1u << 3,   /* built with statistics */
    WIRE_FLAG_PROF_ACTIVE = 1u << 4,    /* sampling now */
    WIRE_FLAG_LEASED = 1u << 5,         /* a lease is running */
    WIRE_FLAG_FROM_SYMTAB = 1u << 6,    /* found in .symtab of a static image, not by the dynamic linker */
    WIRE_FLAG_SAMPLER_READY = 1u << 7,  /* jescope's own sampler can be used */
    WIRE_FLAG_SAMPLER_SERVES = 1u << 8, /* prof.active, prof.reset, leases and dumps are those of jescope's sampler */
} WireFlag;

/* The source of WireHelloReply.active_since_ns. */
typedef enum {
    WIRE_SINCE_UNKNOWN = 0, /* the program switched it on itself at some time after its start */
    WIRE_SINCE_START = 1,   /* active when the agent started, i.e. since the process started */
    WIRE_SINCE_AGENT = 2,   /* switched on through this agent */
} WireSince;

/* The sampler of a process. */
typedef enum {
    WIRE_SAMPLER_AUTO = 0,     /* jemalloc if it can profile, else jescope */
    WIRE_SAMPLER_JEMALLOC = 1, /* its profiler */
    WIRE_SAMPLER_JESCOPE = 2,  /* the agent, by jemalloc's hooks */
} WireSampler;

/* A control of the agent itself, a WireSampler of WIRE_TYPE_UNSIGNED: the sampler from now on. Writing a different one
 * ends the lease and jescope's sampler; so does prof.active := false, after which it is AUTO again. */
#define WIRE_SAMPLER_CONTROL "jescope.sampler"

/* Another one, of WIRE_TYPE_SIZE: the maximum memory of jescope's sampler in bytes, a power of two from
 * WIRE_SAMPLER_MEMORY_MIN to WIRE_SAMPLER_MEMORY_MAX. It can be written only while the sampler is off (else EBUSY) and
 * applies the next time that it is switched on. */
#define WIRE_SAMPLER_MEMORY_CONTROL "jescope.sampler_memory"

#define WIRE_SAMPLER_MEMORY_MIN     (UINT64_C(1) << 20)
#define WIRE_SAMPLER_MEMORY_DEFAULT (UINT64_C(8) << 20)
#define WIRE_SAMPLER_MEMORY_MAX     (UINT64_C(1) << 30)

/* The environment variable that starts a program with jescope's sampler ready. Its words, separated by commas:
 * active:true, lg_sample:N (the period is 2^N bytes) and memory:BYTES. */
#define WIRE_SAMPLER_VARIABLE "JESCOPE_SAMPLER"

/* Why jescope's sampler cannot be used. */
typedef enum {
    WIRE_SAMPLER_UNASKED = 0, /* not known: jemalloc was not asked */
    WIRE_SAMPLER_READY = 1,
    WIRE_SAMPLER_NO_HOOKS = 2,    /* jemalloc has no experimental.hooks.install: not 5.2.0 to 5.3.1 */
    WIRE_SAMPLER_NO_UNWINDER = 3, /* the C library is older than glibc 2.35, or the machine is not supported */
    WIRE_SAMPLER_ODD_SIZES = 4,   /* jemalloc's size classes are not the usual ones */
    WIRE_SAMPLER_NO_AGENT = 5,    /* the process is reached without an agent, and its jemalloc has hooks */
    WIRE_SAMPLER_NO_ENDS = 6,     /* the ends of threads cannot be followed, which the first recording has shown */
} WireSamplerObstacle;

/* The state of the recording of jescope's sampler. */
typedef struct {
    uint64_t lost;          /* samples for which its memory had no room */
    uint64_t lost_bytes;    /* the sum of their sizes */
    uint64_t without_stack; /* samples that are counted, but without their stacks */
    uint32_t doublings;     /* how often the period was doubled because the memory was full */
    uint32_t lg;            /* binary logarithm of the period in use */
} WireSamplerFigures;

/* A lease as seen from outside; id 0: none. */
typedef struct {
    uint64_t id;
    uint64_t remaining_ms;
    uint8_t active;   /* the value prof.active holds during the lease */
    uint8_t restores; /* the value it returns to */
    uint8_t period;   /* the sampling period it returns to, as WireLeaseRequest.period; 0: the period stays */
    uint8_t yields;   /* 1: another TAKE replaces it */
    uint8_t reserved[4];
} WireLease;

typedef struct {
    WireReply reply;
    uint16_t version; /* the negotiated version */
    uint16_t reserved;
    uint32_t flags;           /* WireFlag */
    int32_t pid;              /* in the target's own PID namespace */
    uint32_t uid;             /* effective */
    uint64_t start_time;      /* field 22 of /proc/PID/stat, clock ticks after boot */
    uint64_t active_since_ns; /* CLOCK_REALTIME, 0 when not active or unknown */
    uint64_t reset_at_ns;     /* last prof.reset through this agent, CLOCK_REALTIME; 0: never */
    uint32_t since;           /* WireSince */
    uint32_t agent_clients;
    WireLease lease;
    char name[16]; /* /proc/PID/comm */
    char agent_version[16];
    char jemalloc_version[WIRE_VERSION_TEXT_MAX];
    char prefix[WIRE_PREFIX_MAX]; /* of the public symbols: "", "je_", "_rjem_", ... */
    char found_in[WIRE_PATH_MAX]; /* the object that holds mallctl */
    uint32_t sampler_obstacle;    /* WireSamplerObstacle */
    uint32_t reserved2;
    WireSamplerFigures sampler;
} WireHelloReply;

typedef enum {
    WIRE_CTL_READ = 1u << 0,
    WIRE_CTL_WRITE = 1u << 1, /* with type WIRE_TYPE_NONE: run the action */
} WireCtlFlag;

typedef struct {
    WireHeader header;
    uint32_t type;  /* WireType */
    uint32_t flags; /* WireCtlFlag */
    uint64_t value; /* to write; a ssize_t is sign-extended */
    char name[WIRE_CONTROL_NAME_MAX];
} WireCtlRequest;

typedef struct {
    WireReply reply;
    uint32_t type;
    uint32_t truncated; /* 1: text holds only the beginning */
    uint64_t value;     /* as read (the old value if one was written as well) */
    char text[WIRE_TEXT_MAX];
} WireCtlReply;

typedef struct {
    WireHeader header;
    uint32_t reserved[2];
} WireDumpRequest;

typedef struct {
    WireHeader header;
    char letters[WIRE_LETTERS_MAX]; /* malloc_stats_print options, e.g. "J" */
} WireStatsRequest;

/* Answer to DUMP and STATS. */
typedef struct {
    WireReply reply;
    uint64_t bytes;       /* written to the descriptor */
    uint64_t duration_ns; /* inside jemalloc */
} WireOutputReply;

typedef enum {
    WIRE_LEASE_TAKE = 1,    /* BUSY if one is running that does not yield, unless REPLACE is set */
    WIRE_LEASE_RENEW = 2,   /* new duration from now for lease_id */
    WIRE_LEASE_RELEASE = 3, /* end lease_id now, restoring prof.active and the period */
} WireLeaseAction;

#define WIRE_LEASE_MAX_DAYS 30
#define WIRE_LEASE_MAX_MS   (WIRE_LEASE_MAX_DAYS * UINT64_C(86400000))
#define WIRE_LEASE_MAX_TEXT "30 days"

enum {
    WIRE_LEASE_PERIOD_MAX = 64, /* of WireLeaseRequest.period */
    WIRE_LEASE_REPLACE =
        1u << 0, /* end a running lease first; the new one restores what that one would have restored */
    WIRE_LEASE_JEMALLOC = 1u << 1, /* TAKE: with jemalloc's profiler */
    WIRE_LEASE_JESCOPE = 1u << 2,  /* TAKE: with jescope's sampler; without both: as WIRE_SAMPLER_AUTO */
    WIRE_LEASE_YIELDS = 1u << 3,   /* TAKE: any other TAKE replaces it, as if REPLACE were set */
};

typedef struct {
    WireHeader header;
    uint32_t action; /* WireLeaseAction */
    uint32_t flags;
    uint64_t lease_id;    /* RENEW, RELEASE */
    uint64_t duration_ms; /* TAKE, RENEW; at least 1, at most WIRE_LEASE_MAX_MS */
    uint32_t active;      /* TAKE: the value to set */
    uint32_t period;      /* TAKE: 1 + the binary logarithm of the sampling period during the lease; 0: unchanged */
} WireLeaseRequest;

typedef struct {
    WireReply reply;
    WireLease lease; /* the state after the call (for BUSY: the running one; after RELEASE: id 0) */
} WireLeaseReply;

typedef enum {
    WIRE_SAMPLE_REFRESH = 1u << 0, /* advance jemalloc's epoch first, so that the numbers are current */
} WireSampleFlag;

/* Reads the same controls for COUNT arenas (or size classes) from FIRST on, one row each. names: for each control the
 * digit of its WireType ('1' to '5') and its name with a NUL, concatenated, then one more NUL; "*" stands for the
 * number of a row, and a '.' at the beginning for "stats.arenas.*.". Without a "*", FIRST is ignored and COUNT is 1. */
typedef struct {
    WireHeader header;
    uint32_t flags; /* WireSampleFlag */
    uint32_t first;
    uint32_t count; /* at least 1 */
    uint32_t reserved;
    char names[WIRE_SAMPLE_NAMES_SIZE];
} WireSampleRequest;

/* Rows of 1 + n words for n controls: one bit for each that could be read, from the lowest on, then the numbers (0
 * where it could not, a ssize_t sign-extended). As many rows as fit, at least one; request the rest separately. */
typedef struct {
    WireReply reply;
    uint32_t rows;
    uint32_t reserved;
    uint64_t words[WIRE_SAMPLE_WORDS];
    uint64_t duration_ns; /* inside jemalloc */
} WireSampleReply;

/* The answer is a WireReply alone. */
typedef struct {
    WireHeader header;
    uint32_t reserved[2];
} WireLeaveRequest;

_Static_assert(sizeof(WireHeader) == 16, "wire layout");
_Static_assert(sizeof(WireReply) == 24, "wire layout");
_Static_assert(sizeof(WireHelloRequest) == 24, "wire layout");
_Static_assert(sizeof(WireLease) == 24, "wire layout");
_Static_assert(sizeof(WireSamplerFigures) == 32, "wire layout");
_Static_assert(sizeof(WireHelloReply) == 520, "wire layout");
_Static_assert(sizeof(WireCtlRequest) == 160, "wire layout");
_Static_assert(sizeof(WireCtlReply) == 296, "wire layout");
_Static_assert(sizeof(WireDumpRequest) == 24, "wire layout");
_Static_assert(sizeof(WireStatsRequest) == 48, "wire layout");
_Static_assert(sizeof(WireOutputReply) == 40, "wire layout");
_Static_assert(sizeof(WireLeaseRequest) == 48, "wire layout");
_Static_assert(sizeof(WireLeaseReply) == 48, "wire layout");
_Static_assert(sizeof(WireSampleRequest) == 1024, "wire layout");
_Static_assert(sizeof(WireSampleReply) == 1016, "wire layout");
_Static_assert(sizeof(WireLeaveRequest) == 24, "wire layout");
_Static_assert(sizeof(WireHelloReply) <= WIRE_MESSAGE_MAX, "wire layout");

#endif
