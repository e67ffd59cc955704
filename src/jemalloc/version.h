/* SPDX-License-Identifier: Apache-2.0 */
/* jemalloc's version text, and what is peculiar to some versions. Pure and thread safe. */
#ifndef JESCOPE_JEMALLOC_VERSION_H
#define JESCOPE_JEMALLOC_VERSION_H

#include <stdbool.h>

typedef struct {
    unsigned major;
    unsigned minor;
    unsigned bugfix;
} JemallocVersion;

typedef enum {
    /* max_background_threads := 0 is accepted, and divides by zero as soon as background threads run (5.1.0 to 5.3.0).
     */
    JEMALLOC_QUIRK_ZERO_BACKGROUND_THREADS = 1u << 0,
} JemallocQuirk;

/* Parses "MAJOR.MINOR.BUGFIX-NREV-gSHA" as the control "version" gives it. False leaves @version untouched. */
bool jemalloc_version_parse(const char *text, JemallocVersion *version);

/* The set of JemallocQuirk that @version has. A version we cannot parse (NULL) is given them all. */
unsigned jemalloc_quirks(const JemallocVersion *version);

#endif
