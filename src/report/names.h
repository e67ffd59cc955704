/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What reports need to know about names: jeprof's short form, which functions and objects belong to the allocator, and
 * making a foreign string safe to print.
 */
#ifndef JESCOPE_REPORT_NAMES_H
#define JESCOPE_REPORT_NAMES_H

#include <glib.h>

/* "std::vector<int>::push_back(int const&)" -> "std::vector::push_back", as jeprof's ShortFunctionName. Newly
 * allocated. */
char *name_shorten(const char *name);

/*
 * What a person can read in one line: names of up to 100 characters as they are, longer ones in their short form, and
 * what is left of the longest cut with an ellipsis. Newly allocated.
 */
char *name_display(const char *name);

/* Is this function one by which a program enters its allocator (malloc, operator new, _rjem_calloc...)? */
gboolean name_is_allocator(const char *function);

/* Is this file an allocator's shared library (libjemalloc.so.2, libtcmalloc.so.4)? */
gboolean name_is_allocator_object(const char *path);

/* A copy that is valid UTF-8 without control characters (shown as "?"), so that no format and no terminal can trip over
 * it. */
char *name_clean(const char *name);

#endif
