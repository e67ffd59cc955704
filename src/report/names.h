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

/* Whether a function (its plain name, function_name_plain()) is an allocator's entry point (malloc, operator new,
 * _rjem_calloc...), or one of jemalloc's own on the way to a sample. */
gboolean name_is_allocator(const char *plain);

/* Whether a file is an allocator's shared library (libjemalloc.so.2, libtcmalloc.so.4). */
gboolean name_is_allocator_object(const char *path);

#endif
