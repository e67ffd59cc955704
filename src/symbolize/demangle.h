/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Demangled names of functions: C++ (Itanium), Rust (legacy and v0), D. Thread-safe.
 *
 * A name refers back to parts of itself, so that 300 characters can stand for gigabytes, and be ambiguous in more ways
 * than can be tried. libiberty has no bound for either. Names with few references are demangled at once; others by a
 * thread that is given up after DEMANGLE_PATIENCE_S, and no more of them once that has happened DEMANGLE_LOSSES times.
 * There may be any number of names that take nearly as long: once all of this process have taken DEMANGLE_MOST_OVER_S
 * more processor time than is common, those with references stay mangled.
 */
#ifndef JESCOPE_SYMBOLIZE_DEMANGLE_H
#define JESCOPE_SYMBOLIZE_DEMANGLE_H

#include <glib.h>

enum {
    DEMANGLE_MAX_MANGLED = 16384, /* real names have some kilobytes */
    DEMANGLE_MAX_PLAIN = 256 * 1024,
    DEMANGLE_PATIENCE_S = 2,
    DEMANGLE_LOSSES = 3,
    DEMANGLE_MOST_OVER_S = 5,
};

/* To be freed with g_free(); NULL if linkage is not mangled, longer than these limits, or takes too long. */
char *demangle(const char *linkage);

#endif
