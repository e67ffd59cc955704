/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A target: one process whose jemalloc can be controlled. Callers see only this interface; the ways of reaching a
 * target are implementations (implementation.h). Data from a target is checked before it is returned: strings are
 * terminated, valid UTF-8 and free of control characters, numbers are within the limits of wire.h.
 *
 * A Target belongs to one thread at a time. Calls block, but never longer than a deadline of the implementation.
 */
#ifndef JESCOPE_TARGET_TARGET_H
#define JESCOPE_TARGET_TARGET_H

#include "wire/outcome.h"

#include <glib.h>
#include <sys/types.h>

typedef struct _Target Target;

/* Its codes are Outcomes. */
#define TARGET_ERROR (target_error_quark())
GQuark target_error_quark(void);

/* NAME: a pid, the name of a process if it is unique, or unix:PATH. When there is nothing to talk to, the error says
 * why and what to change. */
Target *target_open(const char *name, GError **error);

typedef enum {
    TARGET_ATTACH_PLAIN = 0,
    TARGET_ATTACH_UNDER_SECCOMP = 1u << 0, /* although a seccomp filter may kill it for the agent's system calls */
} TargetAttachFlags;

/* Brings the agent in FILE into the process that NAME names (as for target_open(), but no socket), which keeps running,
 * and opens it; done at once if there is an agent already. OUTCOME_NO_AGENT says why it cannot be brought in. */
Target *target_attach(const char *name, const char *file, TargetAttachFlags flags, GError **error);

/* How a process is reached. */
typedef enum {
    TARGET_VIA_ANY, /* through its agent if it has one that listens, else by attaching to it */
    TARGET_VIA_AGENT,
    TARGET_VIA_ATTACH, /* by stopping one of its threads for a moment (docs/attach.md) */
    TARGET_VIA_SERVER, /* another jescope asks it for us (client/client.h) */
} TargetVia;

/* The same, but only this way. */
Target *target_open_via(const char *name, TargetVia via, GError **error);

/* Whether its process still runs. TRUE if unknown. */
gboolean target_alive(const Target *target);

/* Process.start_time of its process; 0: unknown. */
guint64 target_start_time(const Target *target);

/* How it is reached; not TARGET_VIA_ANY. */
TargetVia target_via(const Target *target);

/* "agent", "attach"... */
const char *target_via_name(TargetVia via);

/* FALSE: no such word; only "agent" and "attach" are possible. */
gboolean target_via_parse(const char *word, TargetVia *via);

void target_free(Target *target);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Target, target_free)

/* In our own pid namespace; 0 if it is not visible from there. */
pid_t target_pid(const Target *target);

/* The same, but of a process of another machine the pid that it has there. */
pid_t target_own_pid(const Target *target);

/* The process name, e.g. "redis-server"; valid as long as the target. */
const char *target_name(const Target *target);

/* For messages: "redis-server (4711)"; valid as long as the target. */
const char *target_label(const Target *target);

/* What names it on a command line: "4711", "unix:/run/x", a URL; valid as long as the target. */
const char *target_operand(const Target *target);

/* A note for the user about the way in which it is reached, one line, or NULL; valid as long as the target. */
const char *target_note(const Target *target);

/* The errno of the last OUTCOME_CONTROL_FAILED (mallctl's) or OUTCOME_SYSTEM; 0: there was none. */
int target_errno(const Target *target);

/* Its identity and present state. */
gboolean target_hello(Target *target, WireHelloReply *hello, GError **error);

/* Reads a control: of *VALUE, text for WIRE_TYPE_STRING, value for the others; nothing else is looked at. */
gboolean target_read(Target *target, const char *control, WireType type, WireCtlReply *value, GError **error);

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

/* The most bytes that a dump or statistics may have, of any target; a hostile one could write without end. 1 GiB unless
 * it was set. Not to be set while another thread talks to a target. */
#define TARGET_OUTPUT_DEFAULT (G_GUINT64_CONSTANT(1) << 30)
guint64 target_output_limit(void);
void target_set_output_limit(guint64 bytes);

/* Whether a dump is taken also where the target's memory control group may have no room for it (headroom.h). FALSE
 * unless it was set, as the limit. */
void target_set_forced(gboolean forced);

/* The cost of a dump, if it differs from the two above; zeros: it does not. */
typedef struct {
    guint64 bytes;   /* that it may have, at most */
    gboolean forced; /* it is taken also without headroom */
} DumpLimits;

/* For the dumps of TARGET from now on. */
void target_set_dump_limits(Target *target, const DumpLimits *limits);

/* Whether TARGET's memory control group has room for a dump: FALSE with OUTCOME_NO_HEADROOM. */
gboolean target_check_headroom(Target *target, GError **error);

/* Takes a heap dump. Returns a read-only descriptor of a sealed memory file, at offset 0, which the target can neither
 * change nor move; -1 on error. */
int target_dump(Target *target, GError **error);

/* The same with the names of its functions in front (docs/formats.md), from where its files are. Only for a target of
 * TARGET_VIA_SERVER. */
int target_dump_named(Target *target, GError **error);

/* The text of malloc_stats_print for option LETTERS (shorter than WIRE_LETTERS_MAX); returns as target_dump(). */
int target_stats(Target *target, const char *letters, GError **error);

/* The program that keeps the leases of targets without an agent, called with OPTION and further words, which it passes
 * to target_run_keeper(). Without it, such a lease is not ended if this process is killed. */
void target_set_keeper(const char *program, const char *option);

/* Returns at the end of the lease; FALSE: invalid words. */
gboolean target_run_keeper(char **words);

/* OUTCOME_BUSY; REMAINING_MS: as for outcome_describe_busy(). Returns FALSE. */
gboolean target_set_busy(const Target *target, guint64 remaining_ms, GError **error);

/* Takes, renews or releases a lease; *lease is the one that runs afterwards (id 0: none). The header of REQUEST is not
 * looked at. Another period than the present one discards the samples, twice. */
gboolean target_lease(Target *target, const WireLeaseRequest *request, WireLease *lease, GError **error);

/* Has the agent end its lease, its thread and its socket; there is nothing to talk to afterwards. */
gboolean target_leave(Target *target, GError **error);

#endif
