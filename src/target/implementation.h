/* SPDX-License-Identifier: Apache-2.0 */
/* The interface of implementations of Target; only for target/ and client/. */
#ifndef JESCOPE_TARGET_IMPLEMENTATION_H
#define JESCOPE_TARGET_IMPLEMENTATION_H

#include "target/output-pages.h"
#include "target/process.h"
#include "target/target.h"

/* Like the functions of target.h with the same names; output() serves dump (LETTERS is NULL) and stats. */
typedef struct {
    TargetVia via;
    gboolean (*hello)(Target *target, WireHelloReply *hello, GError **error);
    gboolean (*read)(Target *target, const char *control, WireType type, WireCtlReply *value, GError **error);
    gboolean (*write)(Target *target, const char *control, WireType type, guint64 value, GError **error);
    gboolean (*sample)(Target *target, const SampleRequest *request, guint64 *rows, guint64 *spent_ns, GError **error);
    int (*output)(Target *target, const char *letters, GError **error);
    int (*output_named)(Target *target, GError **error); /* NULL but for TARGET_VIA_SERVER */
    gboolean (*lease)(Target *target, const WireLeaseRequest *request, WireLease *lease, GError **error);
    gboolean (*leave)(Target *target, GError **error);               /* NULL: without an agent */
    gboolean (*check_program)(const Target *target, GError **error); /* of target_alive(); NULL: any program */
    void (*free)(Target *target);                                    /* frees everything but the fields below */
} TargetOps;

/* An implementation's own struct begins with this. */
struct _Target {
    const TargetOps *ops;
    pid_t pid;
    pid_t own_pid;      /* target_own_pid() if pid is 0 */
    guint64 start_time; /* Process.start_time, since the pid may be reused; 0: unknown */
    Process found;      /* the process as it was when the target was opened; pid 0: unknown */
    uid_t user;         /* target_user() */
    char *name;
    char *label;
    char *operand;
    char *note;  /* target_note() */
    int failure; /* target_errno() */
    DumpLimits limits;
    guint64 output_max; /* limit of the output in bytes; set before output() is called */
    OutputPlan plan;    /* who is charged for the output; set before output() is called */
    gint64 until;       /* of target_wait_until() */
};

/* MS, the time limit of an operation that begins now, or what is left until target_wait_until(), in milliseconds. */
guint target_time_limit(const Target *target, guint ms);

/* ops->output(), with output_max within the limit of its kind. */
int target_output(Target *target, const char *letters, GError **error);

/* Whether a check of the room in the target's groups is overridden, by target_set_forced() or by the dump limits of
 * TARGET, which may be NULL. */
gboolean target_is_forced(const Target *target);

/* Sets NAME to the Nth name of REQUEST, expanded for ARENA; see WireSampleRequest. Returns its type. */
WireType target_sample_name(const SampleRequest *request, guint n, guint arena, char name[WIRE_CONTROL_NAME_MAX]);

/* Sets the process that the target is, and its user. */
void target_set_process(Target *target, const Process *found);

/* Sets name and label; frees earlier ones. */
void target_set_name(Target *target, const char *name);

#endif
