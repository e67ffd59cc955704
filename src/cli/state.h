/* SPDX-License-Identifier: Apache-2.0 */
/* What `status` and `ps` tell about a target. */
#ifndef JESCOPE_CLI_STATE_H
#define JESCOPE_CLI_STATE_H

#include "target/target.h"

#include <jansson.h>

typedef enum {
    MEMORY_ALLOCATED,
    MEMORY_ACTIVE,
    MEMORY_METADATA,
    MEMORY_RESIDENT,
    MEMORY_MAPPED,
    MEMORY_RETAINED,
    MEMORY_FIGURES,
} MemoryFigure;

/* The figures' names ("allocated"), which are also those of the controls below "stats." and of the JSON keys. */
extern const char *const memory_names[MEMORY_FIGURES];

/* A figure that this jemalloc does not have. */
#define MEMORY_UNKNOWN G_MAXUINT64

typedef struct {
    WireHelloReply hello;
    guint64 memory[MEMORY_FIGURES]; /* bytes or MEMORY_UNKNOWN */
    guint64 sample_period;          /* bytes; 0: unknown */
    gboolean threads_sampled;       /* new threads are sampled (prof.thread_active_init) */
} TargetState;

/* Asks TARGET for everything. A control that its jemalloc lacks is no error. */
gboolean state_read(Target *target, TargetState *state, GError **error);

/* Refreshes the statistics and reads one figure; MEMORY_UNKNOWN if this jemalloc does not have it. */
gboolean state_read_memory(Target *target, MemoryFigure figure, guint64 *bytes, GError **error);

/* CLI_ERROR_FAILED if a recording or 'enable --for' is running in TARGET. */
gboolean state_check_unleased(Target *target, GError **error);

/* Ends the one that is running, if there is one: it would switch profiling at its end. */
gboolean state_end_lease(Target *target, GError **error);

/* One word: "off" (cannot profile), "ready" or "active". */
const char *state_profiling_word(const TargetState *state);

/* The object that --json prints; new reference. */
json_t *state_json(const TargetState *state, const Target *target);

/* Prints a JSON value on stdout and drops the reference. */
void state_print_json(json_t *value);

#endif
