/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrappers: functions between a program and its allocator that allocate on behalf of their callers. Reports charge
 * their memory to the callers. docs/formats.md, "Wrappers", describes the list.
 */
#ifndef JESCOPE_REPORT_WRAPPERS_H
#define JESCOPE_REPORT_WRAPPERS_H

#include <glib.h>

/*
 * Is this function (its plain name, function_name_plain()) a wrapper: one of a table of names that mean nothing else in
 * any program (zmalloc, g_malloc0, CRYPTO_zalloc...), or part of a language's library (std::, __gnu_cxx::, Rust's
 * alloc:: and core::), or a member function of an allocator class?
 */
gboolean wrapper_is_known(const char *plain);

/*
 * Whether its name says no more than that it allocates: all words of its last component are of the trade (my_malloc,
 * safe_realloc_or_die, xalloc_array, BufferAlloc). Programs use such names for functions of their own as well, so
 * reports show them; they are not to be blamed while their caller is known.
 */
gboolean wrapper_is_generic(const char *plain);

/* Whether it is part of a language's library, which is not the program's own code even if compiled into it. */
gboolean wrapper_is_language(const char *plain);

#endif
