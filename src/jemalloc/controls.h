/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The jemalloc controls known to jescope: their types, and which of them a client may use through the agent; all from
 * the table controls.def. Pure and thread-safe.
 */
#ifndef JESCOPE_JEMALLOC_CONTROLS_H
#define JESCOPE_JEMALLOC_CONTROLS_H

#include <stdbool.h>

/* The C type of a control's value, as jemalloc's manual gives it. The numbers are those of the agent protocol's
 * WireType. */
typedef enum {
    CONTROL_NONE = 0, /* an action: no value */
    CONTROL_BOOL = 1,
    CONTROL_UNSIGNED = 2,
    CONTROL_SIZE = 3,
    CONTROL_SSIZE = 4,
    CONTROL_U64 = 5,
    CONTROL_STRING = 6,
} ControlType;

enum {
    /* "arena.4096.…" stands for all arenas (MALLCTL_ARENAS_ALL of jemalloc 5; before, the number of arenas did). Arenas
     * have lower numbers. */
    CONTROL_ALL_ARENAS = 4096,
};

typedef enum {
    CONTROL_READABLE = 1u << 0,
    CONTROL_WRITABLE = 1u << 1,       /* by jemalloc's own rules; with CONTROL_NONE: an action to run */
    CONTROL_AGENT_WRITES = 1u << 2,   /* a client may write it */
    CONTROL_VALUE_OPTIONAL = 1u << 3, /* may be run as an action, without its value */
    CONTROL_READ_ACTS = 1u << 4,      /* reading has side effects or requires more than a buffer for the answer */
} ControlFlag;

typedef struct {
    const char *pattern; /* "*" matches a component of digits */
    ControlType type;
    unsigned flags;    /* ControlFlag */
    const char *since; /* first tested release that has it */
} Control;

/* The row for NAME, or NULL for an unknown name (which jemalloc may still have). */
const Control *control_find(const char *name);

/* Whether NAME has valid characters and the form of a control name: a component that begins with a digit is a number.
 * Other names must not be passed to jemalloc. */
bool control_name_is_sound(const char *name);

/* Whether a client may read NAME as a TYPE. Strings are only permitted for controls with this type in the table,
 * since a wrong pointer would be dereferenced. */
bool control_may_read(const char *name, ControlType type);

/* Whether a client may write NAME as a TYPE. */
bool control_may_write(const char *name, ControlType type);

/* Whether NAME belongs to the profiler, whose controls must not be used unless config.prof and opt.prof are true. */
bool control_is_profiling(const char *name);

#endif
