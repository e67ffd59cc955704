/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a command repeatedly on the default main context, never twice at a time, discarding its output. */
#ifndef JESCOPE_CLI_TRIGGER_H
#define JESCOPE_CLI_TRIGGER_H

#include <glib.h>

typedef enum {
    TRIGGER_ON_TICK, /* a run begins every interval; one that takes longer skips the next */
    TRIGGER_REST,    /* the interval from the end of a run to the beginning of the next */
} TriggerMode;

/* Called after each run with NULL, or the reason of its failure. */
typedef void (*TriggerFunc)(const char *failure, gpointer data);

typedef struct Trigger Trigger;

/* Runs ARGV (found by PATH) immediately and then every EVERY_MS. FUNC may be NULL. */
Trigger *trigger_new(const char *const *argv, guint every_ms, TriggerMode mode, TriggerFunc func, gpointer data);

/* Ends a running command, by SIGTERM to its process group. */
void trigger_free(Trigger *trigger);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Trigger, trigger_free)

#endif
