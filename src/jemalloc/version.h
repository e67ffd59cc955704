/* SPDX-License-Identifier: Apache-2.0 */
/* jemalloc's version text, and peculiarities of versions. Pure and thread safe. */
#ifndef JESCOPE_JEMALLOC_VERSION_H
#define JESCOPE_JEMALLOC_VERSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    unsigned major;
    unsigned minor;
    unsigned bugfix;
} JemallocVersion;

typedef enum {
    /* max_background_threads := 0 is accepted, and divides by zero as soon as background threads run (5.1.0 to 5.3.0).
     */
    JEMALLOC_QUIRK_ZERO_BACKGROUND_THREADS = 1u << 0,
    /* prof.dump fails with EFAULT in a thread that has never allocated while opt.prof is true (3.x). */
    JEMALLOC_QUIRK_DUMP_AFTER_ALLOCATION = 1u << 1,
} JemallocQuirk;

/* Parses "MAJOR.MINOR.BUGFIX-NREV-gSHA" as the control "version" gives it. False leaves @version untouched. */
bool jemalloc_version_parse(const char *text, JemallocVersion *version);

/* Whether a jemalloc of this version takes hooks for allocations (experimental.hooks.install): 5.2.0 to 5.3.1. */
bool jemalloc_version_has_hooks(const char *text);

/* The set of JemallocQuirk that @version has. A version we cannot parse (NULL) is given them all. */
unsigned jemalloc_quirks(const JemallocVersion *version);

/* Whether the process would pay for a write of @value to the control @name, which jemalloc takes. */
typedef enum {
    JEMALLOC_HARMLESS,
    JEMALLOC_HARMFUL,
    JEMALLOC_HARMFUL_WITHOUT_THREADS, /* if max_background_threads is 0, which the program itself may have set */
} JemallocHarm;

JemallocHarm jemalloc_harm(unsigned quirks, const char *name, uint64_t value);

/* The environment variable that a jemalloc with this symbol prefix reads: "_rjem_" makes "_RJEM_MALLOC_CONF".
 * SIZE is at least sizeof("MALLOC_CONF"); a longer prefix is cut. */
void jemalloc_conf_variable(const char *prefix, char *text, size_t size);

#endif
