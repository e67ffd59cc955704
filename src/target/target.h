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

#include "target/process.h"
#include "wire/outcome.h"

#include <glib.h>
#include <sys/types.h>

typedef struct _Target Target;

/* The error codes are Outcomes. */
#define TARGET_ERROR (target_error_quark())
GQuark target_error_quark(void);

/* Opens NAME: a pid, the unique name of a process, or unix:PATH. If the target cannot be reached, the error says why
 * and what to change. */
Target *target_open(const char *name, GError **error);

typedef enum {
    TARGET_ATTACH_PLAIN = 0,
    TARGET_ATTACH_UNDER_SECCOMP = 1u << 0, /* even if a seccomp filter may kill it for the agent's system calls */
} TargetAttachFlags;

/* Loads the agent in FILE into the running process NAME (as for target_open(), except unix:PATH), unless it has an
 * agent, and opens the target. OUTCOME_NO_AGENT says why the agent cannot be loaded. */
Target *target_attach(const char *name, const char *file, TargetAttachFlags flags, GError **error);

/* How a process is reached. */
typedef enum {
    TARGET_VIA_ANY, /* through its agent if one listens, otherwise by attaching to it */
    TARGET_VIA_AGENT,
    TARGET_VIA_ATTACH, /* by briefly stopping one of its threads (docs/attach.md) */
    TARGET_VIA_SERVER, /* through another jescope (client/client.h) */
} TargetVia;

/* Like target_open(), but reaches the target only in this way. */
Target *target_open_via(const char *name, TargetVia via, GError **error);

/* Whether the process still runs; TRUE if unknown. FALSE with OUTCOME_GONE if it has ended or, without an
 * agent, executes another program. */
gboolean target_alive(const Target *target, GError **error);

/* FALSE with OUTCOME_GONE if the process has ended, or OUTCOME_PERMISSION if it has other rights than when it was
 * opened (process-change.h): to be asked after something was read of the process by its pid, and before that is used.
 */
gboolean target_check_unchanged(const Target *target, GError **error);

/* Sets the error of process_change_check(), CODE, about the process with LABEL. Returns FALSE. */
gboolean target_set_changed(const char *label, int code, GError **error);

/* The process, as it was when the target was opened; owned by TARGET. Its pid is 0 if the target is not a process. */
const Process *target_process(const Target *target);

/* Process.start_time of the process; 0: unknown. */
guint64 target_start_time(const Target *target);

/* How it is reached; not TARGET_VIA_ANY. */
TargetVia target_via(const Target *target);

/* "agent", "attach"... */
const char *target_via_name(TargetVia via);

/* Parses "agent" or "attach"; FALSE for another word. */
gboolean target_via_parse(const char *word, TargetVia *via);

void target_free(Target *target);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Target, target_free)

/* The pid in our own pid namespace; 0 if the process is not visible there. */
pid_t target_pid(const Target *target);

/* The same, but for a process of another machine its pid there. */
pid_t target_own_pid(const Target *target);

/* The user whose rights apply to what the target says, such as the names of files: the one with the fewest since it was
 * found, of the process and of who listens at the agent's socket. The process may execute a set-user-ID program and so
 * become root's, while another one that has inherited the socket goes on to answer. RIGHTS_NOBODY if unknown. */
uid_t target_user(const Target *target);

/* The process name, e.g. "redis-server"; valid as long as the target. */
const char *target_name(const Target *target);

/* For messages: "redis-server (4711)"; valid as long as the target. */
const char *target_label(const Target *target);

/* The target's operand on a command line: "4711", "unix:/run/x", a URL; valid as long as the target. */
const char *target_operand(const Target *target);

/* A one-line note for the user about the way in which the target is reached, or NULL; valid as long as the target. */
const char *target_note(const Target *target);

/* The errno of the last OUTCOME_CONTROL_FAILED (mallctl's) or OUTCOME_SYSTEM; 0 if there was none. */
int target_errno(const Target *target);

/* From now on, no operation waits for TARGET after UNTIL, a g_get_monotonic_time(), even if its own time limit is
 * longer; 0: each up to its own. */
void target_wait_until(Target *target, gint64 until);
gint64 target_waits_until(const Target *target);

/* Reads the target's identity and current state. */
gboolean target_hello(Target *target, WireHelloReply *hello, GError **error);

/* Reads a control. The result is value->text for WIRE_TYPE_STRING, otherwise value->value; other fields are
 * unspecified. */
gboolean target_read(Target *target, const char *control, WireType type, WireCtlReply *value, GError **error);

/* Writes a control; WIRE_TYPE_NONE runs an action (VALUE is ignored). OUTCOME_NO_HEADROOM if prof.active is to become
 * true where the target's control groups have no room for profiling, unless that is forced (headroom.h). */
gboolean target_write(Target *target, const char *control, WireType type, guint64 value, GError **error);

/* A request for many numbers at one time: N controls for each of COUNT arenas from FIRST on, named as in
 * WireSampleRequest. */
typedef struct {
    const char *names; /* as WireSampleRequest.names, including its end */
    guint n;
    guint first;
    guint count;
    gboolean refresh; /* refresh jemalloc's epoch first */
} SampleRequest;

/* Fills ROWS, COUNT rows of 1 + N words as in WireSampleReply; controls that jemalloc does not have are absent. Adds
 * the nanoseconds spent inside jemalloc to *SPENT_NS (may be NULL). */
gboolean target_sample(Target *target, const SampleRequest *request, guint64 *rows, guint64 *spent_ns, GError **error);

/* The maximum bytes of a dump or statistics of any target, since a hostile one could write without limit; 1 GiB by
 * default. Must not be set while another thread uses a target. */
#define TARGET_OUTPUT_DEFAULT (G_GUINT64_CONSTANT(1) << 30)
guint64 target_output_limit(void);
void target_set_output_limit(guint64 bytes);

/* The maximum bytes of statistics, which readers parse as a whole: jemalloc prints 161 MB for 4000 arenas of 4095. */
#define TARGET_STATISTICS_MAX (G_GUINT64_CONSTANT(256) << 20)

/* Whether dumps are taken, agents loaded and profiling begun even if the target's memory control group may have no room
 * for it (headroom.h); FALSE by default. Set it under the same condition. */
void target_set_forced(gboolean forced);

/* Limits of a dump in place of the two global settings; zero values use these. */
typedef struct {
    guint64 bytes;   /* maximum size */
    gboolean forced; /* taken even without headroom */
} DumpLimits;

/* Applies to further dumps of TARGET. */
void target_set_dump_limits(Target *target, const DumpLimits *limits);

/* FALSE with OUTCOME_NO_HEADROOM if TARGET's memory control group has no room for a dump. */
gboolean target_check_headroom(Target *target, GError **error);

/* Takes a heap dump. Returns a read-only descriptor of a sealed memory file, at offset 0, which the target can neither
 * change nor move; -1 on error. */
int target_dump(Target *target, GError **error);

/* The same, for the caller to append to: a file that no other process has, unless it is read-only. */
int target_dump_open(Target *target, GError **error);

/* The same as target_dump() with function names prepended (docs/formats.md), which the machine of the process resolves.
 * Only for a target of TARGET_VIA_SERVER. */
int target_dump_named(Target *target, GError **error);

/* The text of malloc_stats_print for option LETTERS (shorter than WIRE_LETTERS_MAX); returns a descriptor like
 * target_dump(). */
int target_stats(Target *target, const char *letters, GError **error);

/* Sets the program that keeps the leases of targets without an agent. It is executed with OPTION and further arguments,
 * which it passes to target_run_keeper(). Without it, such a lease does not end if this process is killed. */
void target_set_keeper(const char *program, const char *option);

/* Returns at the end of the lease; FALSE if WORDS are invalid. */
gboolean target_run_keeper(char **words);

/* Sets OUTCOME_BUSY with REMAINING_MS as for outcome_describe_busy(). Returns FALSE. */
gboolean target_set_busy(const Target *target, guint64 remaining_ms, GError **error);

/* Takes, renews or releases a lease; *LEASE becomes the lease in force afterwards (id 0: none). The header of REQUEST
 * is ignored. A period that differs from the current one discards the samples, both at the beginning and at the end.
 * OUTCOME_NO_HEADROOM as for target_write(). */
gboolean target_lease(Target *target, const WireLeaseRequest *request, WireLease *lease, GError **error);

/* Makes the agent end its lease, thread and socket; the target cannot be used afterwards. */
gboolean target_leave(Target *target, GError **error);

#endif
