/* SPDX-License-Identifier: Apache-2.0 */
/* What an implementation of Target provides; for the files of target/ only. */
#ifndef JESCOPE_TARGET_IMPLEMENTATION_H
#define JESCOPE_TARGET_IMPLEMENTATION_H

#include "target/target.h"

/* As the functions of target.h with the same names; output() serves dump (LETTERS is NULL) and stats. */
typedef struct {
    TargetVia via;
    gboolean (*hello)(Target *target, WireHelloReply *hello, GError **error);
    gboolean (*read)(Target *target, const char *control, WireType type, ControlValue *value, GError **error);
    gboolean (*write)(Target *target, const char *control, WireType type, guint64 value, GError **error);
    gboolean (*sample)(Target *target, const SampleRequest *request, guint64 *rows, guint64 *spent_ns, GError **error);
    int (*output)(Target *target, const char *letters, GError **error);
    gboolean (*lease)(Target *target, const LeaseRequest *request, WireLease *lease, GError **error);
    gboolean (*leave)(Target *target, GError **error); /* NULL: there is no agent that could */
    void (*free)(Target *target);                      /* of everything but the fields below */
} TargetOps;

/* An implementation's own struct begins with this. */
struct _Target {
    const TargetOps *ops;
    pid_t pid;
    char *name;
    char *label;
    int failure; /* target_errno() */
};

/* Sets name and label, freeing earlier ones. */
void target_set_name(Target *target, const char *name);

#endif
