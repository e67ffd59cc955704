/* SPDX-License-Identifier: Apache-2.0 */
/* jemalloc's version text, and quirks of versions. Pure and thread-safe. */
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
    /* max_background_threads := 0 is accepted, and causes a division by zero once background threads run (5.1.0 to
     * 5.3.0). */
    JEMALLOC_QUIRK_ZERO_BACKGROUND_THREADS = 1u << 0,
    /* prof.dump fails with EFAULT in a thread that has never allocated while opt.prof is true (3.x). */
    JEMALLOC_QUIRK_DUMP_AFTER_ALLOCATION = 1u << 1,
} JemallocQuirk;

/* Parses "MAJOR.MINOR.BUGFIX-NREV-gSHA", the form of the control "version". If false, VERSION is unchanged. */
bool jemalloc_version_parse(const char *text, JemallocVersion *version);

/* Whether this version of jemalloc supports hooks for allocations (experimental.hooks.install): 5.2.0 to 5.3.1. */
bool jemalloc_version_has_hooks(const char *text);

/* The set of JemallocQuirk of VERSION. NULL (a version that cannot be parsed) has all of them. */
unsigned jemalloc_quirks(const JemallocVersion *version);

/* Whether writing VALUE to the control NAME, which jemalloc accepts, harms the process. */
typedef enum {
    JEMALLOC_HARMLESS,
    JEMALLOC_HARMFUL,
    JEMALLOC_HARMFUL_WITHOUT_THREADS, /* if max_background_threads is 0, which the program may have set */
} JemallocHarm;

JemallocHarm jemalloc_harm(unsigned quirks, const char *name, uint64_t value);

/* The environment variable that a jemalloc with this symbol prefix reads: "_RJEM_MALLOC_CONF" for "_rjem_". SIZE is at
 * least sizeof("MALLOC_CONF"); a prefix that does not fit is truncated. */
void jemalloc_conf_variable(const char *prefix, char *text, size_t size);

#endif
