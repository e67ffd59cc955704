/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A target: one process whose jemalloc we can talk to. Commands see only this interface; how the target is reached is
 * the business of an implementation (implementation.h). What comes from a target is checked before it is handed out:
 * strings are terminated, valid UTF-8 and free of control characters, numbers are within the limits of wire.h.
 *
 * A Target belongs to one thread at a time. Calls block, but never longer than a deadline of the implementation.
 */
#ifndef JESCOPE_TARGET_TARGET_H
#define JESCOPE_TARGET_TARGET_H

#include "wire/wire.h"

#include <glib.h>
#include <sys/types.h>

typedef struct _Target Target;

#define TARGET_ERROR (target_error_quark())
GQuark target_error_quark(void);

typedef enum {
    TARGET_ERROR_NAME,       /* not the name of a target */
    TARGET_ERROR_NO_PROCESS, /* nothing runs under this pid or name */
    TARGET_ERROR_AMBIGUOUS,  /* several processes have this name */
    TARGET_ERROR_PERMISSION, /* not ours */
    TARGET_ERROR_NO_AGENT,   /* jemalloc is there, but nobody to talk to */
    TARGET_ERROR_NO_JEMALLOC,
    TARGET_ERROR_GONE,        /* ended while we talked to it */
    TARGET_ERROR_SILENT,      /* no answer within the deadline */
    TARGET_ERROR_PROTOCOL,    /* an answer that no agent of ours gives */
    TARGET_ERROR_NOT_ALLOWED, /* this control may not be written */
    TARGET_ERROR_PROFILING,   /* its jemalloc cannot profile: built or started without */
    TARGET_ERROR_CONTROL,     /* mallctl failed */
    TARGET_ERROR_BUSY,        /* another lease is running */
    TARGET_ERROR_NO_LEASE,    /* this lease is not running any more */
    TARGET_ERROR_OUTPUT,      /* a dump or statistics could not be written */
} TargetError;

/* The value of a control, by its WireType: text for WIRE_TYPE_STRING, value for the others (a ssize_t sign-extended).
 */
typedef struct {
    guint64 value;
    gboolean truncated; /* text holds only the beginning */
    char text[WIRE_TEXT_MAX];
} ControlValue;

typedef struct {
    WireLeaseAction action;
    guint64 id;          /* RENEW, RELEASE */
    guint64 duration_ms; /* TAKE, RENEW */
    gboolean active;     /* TAKE: what prof.active shall be */
} LeaseRequest;

/* NAME: a pid, the name of a process if it is unique, or unix:PATH. When there is nothing to talk to, the error says
 * why and what to change. */
Target *target_open(const char *name, GError **error);

typedef enum {
    TARGET_ATTACH_PLAIN = 0,
    TARGET_ATTACH_UNDER_SECCOMP = 1u << 0, /* although a filter may kill it for what the agent does */
} TargetAttachFlags;

/* Brings the agent in FILE into the process that NAME names (as for target_open(), but no socket), which keeps running,
 * and opens it; done at once if there is an agent already. TARGET_ERROR_NO_AGENT says why it cannot be brought in. */
Target *target_attach(const char *name, const char *file, TargetAttachFlags flags, GError **error);

/* How a process is reached. */
typedef enum {
    TARGET_VIA_ANY, /* through its agent if it has one, else by attaching to it */
    TARGET_VIA_AGENT,
    TARGET_VIA_ATTACH, /* by stopping one of its threads for a moment (docs/attach.md) */
    TARGET_VIA_INSIDE, /* it is our own */
} TargetVia;

/* The same, but only this way. */
Target *target_open_via(const char *name, TargetVia via, GError **error);

/* Whether its process still runs. TRUE if that cannot be told. */
gboolean target_alive(const Target *target);

/* How it is reached; not TARGET_VIA_ANY. */
TargetVia target_via(const Target *target);

/* "agent", "attach"... */
const char *target_via_name(TargetVia via);

/* FALSE: no such word; only "agent" and "attach" can be asked for. */
gboolean target_via_parse(const char *word, TargetVia *via);

void target_free(Target *target);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Target, target_free)

/* In our own pid namespace; 0 if it is not visible from there. */
pid_t target_pid(const Target *target);

/* The process name, e.g. "redis-server"; valid as long as the target. */
const char *target_name(const Target *target);

/* For messages: "redis-server (4711)"; valid as long as the target. */
const char *target_label(const Target *target);

/* The errno of the last TARGET_ERROR_CONTROL (mallctl's) or TARGET_ERROR_OUTPUT; 0: there was none. */
int target_errno(const Target *target);

/* Who it is and how it is, asked anew. */
gboolean target_hello(Target *target, WireHelloReply *hello, GError **error);

/* Reads a control. */
gboolean target_read(Target *target, const char *control, WireType type, ControlValue *value, GError **error);

/* Writes a control; WIRE_TYPE_NONE runs an action (VALUE is ignored). */
gboolean target_write(Target *target, const char *control, WireType type, guint64 value, GError **error);

/* Many numbers of one moment: the same N controls for COUNT arenas from FIRST on, named as in WireSampleRequest. */
typedef struct {
    const char *names; /* as WireSampleRequest.names, its end included */
    guint n;
    guint first;
    guint count;
    gboolean refresh; /* jemalloc's epoch first */
} SampleRequest;

/* ROWS has room for COUNT rows of 1 + N words, as in WireSampleReply; a control that jemalloc does not have is absent.
 * SPENT_NS, if not NULL, grows by the time inside jemalloc. */
gboolean target_sample(Target *target, const SampleRequest *request, guint64 *rows, guint64 *spent_ns, GError **error);

/* Takes a heap dump. Returns a sealed memfd at offset 0, its size never changes; -1 on error. */
int target_dump(Target *target, GError **error);

/* The text of malloc_stats_print for option LETTERS (shorter than WIRE_LETTERS_MAX); returns as target_dump(). */
int target_stats(Target *target, const char *letters, GError **error);

/* Takes, renews or releases a lease; *lease is the one that runs afterwards (id 0: none). */
gboolean target_lease(Target *target, const LeaseRequest *request, WireLease *lease, GError **error);

/* Has the agent end its lease, its thread and its socket; there is nothing to talk to afterwards. */
gboolean target_leave(Target *target, GError **error);

#endif
