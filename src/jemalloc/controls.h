/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jemalloc's controls as far as we know them by name: their types, and which of them a client may use through the
 * agent. One table, controls.def, feeds all of it. Pure and thread safe.
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
    /* "arena.4096.…" is about all arenas (MALLCTL_ARENAS_ALL of jemalloc 5; before, their number stood for all). Arenas
     * have lower numbers. */
    CONTROL_ALL_ARENAS = 4096,
};

typedef enum {
    CONTROL_READABLE = 1u << 0,
    CONTROL_WRITABLE = 1u << 1,       /* by jemalloc's own rules; with CONTROL_NONE: an action to run */
    CONTROL_AGENT_WRITES = 1u << 2,   /* a client may write it */
    CONTROL_VALUE_OPTIONAL = 1u << 3, /* may be run as an action, without its value */
    CONTROL_READ_ACTS = 1u << 4,      /* reading changes something or needs more than a place for the answer */
} ControlFlag;

typedef struct {
    const char *pattern; /* "*" matches one component of digits */
    ControlType type;
    unsigned flags;    /* ControlFlag */
    const char *since; /* first release that has it, as far as tested */
} Control;

/* The row for @name, or NULL for a name we do not know (which jemalloc may). */
const Control *control_find(const char *name);

/* Whether @name is made of the characters, and in the shape, that control names have: a component that begins with a
 * digit is a number. Nothing else is handed to jemalloc. */
bool control_name_is_sound(const char *name);

/* Whether a client may read @name as a @type: a string only where the table says so, since a wrong pointer would be
 * followed. */
bool control_may_read(const char *name, ControlType type);

/* Whether a client may write @name as a @type. */
bool control_may_write(const char *name, ControlType type);

/* Whether @name is part of the profiler, which must not be touched unless config.prof and opt.prof are true. */
bool control_is_profiling(const char *name);

#endif
