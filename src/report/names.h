/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Properties of names for reports: jeprof's short form, and which functions and objects belong to the allocator.
 */
#ifndef JESCOPE_REPORT_NAMES_H
#define JESCOPE_REPORT_NAMES_H

#include <glib.h>

/* "std::vector<int>::push_back(int const&)" -> "std::vector::push_back", as jeprof's ShortFunctionName. Newly
 * allocated. */
char *name_shorten(const char *name);

/* Is this function (its plain name, function_name_plain()) one by which a program enters its allocator (malloc,
 * operator new, _rjem_calloc...), or jemalloc's own on the way to a sample? */
gboolean name_is_allocator(const char *plain);

/* Is this file an allocator's shared library (libjemalloc.so.2, libtcmalloc.so.4)? */
gboolean name_is_allocator_object(const char *path);

#endif
