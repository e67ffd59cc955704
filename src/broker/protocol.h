/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of an unprivileged server to the process that kept its privileges: messages of fixed size, one at a time,
 * each with one reply (confine/channel.h). A request about a process has its pid, start time and ids as the server
 * found them; it is refused if the pid now belongs to another process, or that has other ids (process-change.h), and
 * what a session has read is discarded if this is so afterwards.
 *
 * Work that may take time, or reads data that a process controls, is done in a session: the reply carries a socket to a
 * separate process that does this work.
 */
#ifndef JESCOPE_BROKER_PROTOCOL_H
#define JESCOPE_BROKER_PROTOCOL_H

#include "routes/routes.h"
#include "target/process.h"

#define BROKER_MAGIC UINT32_C(0x62736a31)

typedef enum {
    BROKER_FILE,   /* text: one of the operator's files; the reply has the descriptor */
    BROKER_WATCH,  /* with an inotify descriptor */
    BROKER_UNLINK, /* text: a socket of the server */
    BROKER_EXITS,  /* the reply has the subscription of exit-events.h */
    /* Sessions. */
    BROKER_OPEN,     /* detail: a ReachFile. A BrokerResult with a copy of it */
    BROKER_CONNECT,  /* text: the path of an agent's socket. A BrokerResult with the connection */
    BROKER_VARIABLE, /* text: a name. A BrokerResult with the value */
    BROKER_OWN_DUMP, /* with the dump; detail: the process's pid in its own namespace; text: a prefix. A BrokerResult */
    BROKER_RENDER,   /* with the dump and optionally a base; text: format, title and options, each NUL-terminated, and a
                        final NUL; detail: seconds, number: bytes of RenderSetup. A BrokerRendered with the report */
    BROKER_GROWTH, /* with the dumps in order; text: the id of each, then options, each NUL-terminated, and a final NUL;
                      detail and number as for RENDER. A BrokerRendered with the answer */
    BROKER_TARGET, /* text: an address; detail: a TargetVia. target/proxy.h */
    /* number: the maximum number of targets per user. Each BrokerHints is answered with BrokerSeen messages up to
     * BROKER_SEEN_END */
    BROKER_SCAN,
    /* optionally with the samples of its history (RenderExamination.kept); text: an address; detail: seconds, number:
     * milliseconds of the watch. A BrokerRendered with the answer; closing the other end of the session cancels it */
    BROKER_EXAMINE,
    BROKER_N_KINDS,
} BrokerKind;

enum {
    BROKER_TEXT_MAX = 16 * 1024,
    BROKER_VALUE_MAX = 64 * 1024,
    BROKER_HINTS_MAX = 1024,
    BROKER_PATH_MAX = 4096,
    BROKER_UNIT_MAX = 256,
};

typedef struct {
    guint32 magic, kind;
    gint32 pid; /* 0: not about a process */
    guint32 detail;
    guint64 start_time; /* Process.start_time */
    guint32 uids[PROCESS_UIDS], gids[PROCESS_UIDS];
    guint32 closed; /* Process.closed */
    guint64 number;
    char text[BROKER_TEXT_MAX];
} BrokerRequest;

typedef struct {
    gint32 error; /* errno; 0: success */
} BrokerReply;

typedef struct {
    gint32 error;
    guint32 present; /* VARIABLE: the variable is set */
    char value[BROKER_VALUE_MAX];
} BrokerResult;

typedef struct {
    guint32 result; /* Outcome */
    Failure failure;
} BrokerRendered;

typedef struct {
    guint32 n;
    gint32 pids[BROKER_HINTS_MAX];
} BrokerHints;

typedef enum {
    BROKER_SEEN_FOUND,
    BROKER_SEEN_LOST,    /* of process, only pid and start_time */
    BROKER_SEEN_TROUBLE, /* address: the error of a target's name */
    BROKER_SEEN_END,
} BrokerSeenKind;

/* A row of a ScanResult. */
typedef struct {
    guint32 kind;
    guint32 named;
    Process process;
    uid_t user; /* followed by its Identity */
    guint32 contained;
    char unit[BROKER_UNIT_MAX];
    char program[BROKER_PATH_MAX];
    char address[BROKER_PATH_MAX];
} BrokerSeen;

/* Whether a session of this kind reads or finds something of a process, which takes little time unless the process or
 * its user delays it. */
gboolean broker_is_brief(BrokerKind kind);

/* Checks a request, received as SIZE bytes with N_FDS descriptors. If it returns 0, text is terminated, and detail and
 * the number of descriptors are valid; otherwise it returns an errno value. */
int broker_check_request(const BrokerRequest *request, gsize size, guint n_fds);

/* Whether the server uses the format and options in TEXT, of a RENDER request, for itself or its clients. SOURCE: lines
 * of source files are permitted. */
gboolean broker_check_rendering(const char *text, gboolean source);

/* Whether TEXT is valid for a GROWTH request with N dumps: their ids, then options that the server offers. */
gboolean broker_check_growth(const char *text, guint n);

#endif
