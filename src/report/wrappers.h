/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrappers: functions between a program and its allocator that allocate on behalf of their callers. Reports charge
 * their memory to the callers. docs/formats.md, "Wrappers", describes the list.
 */
#ifndef JESCOPE_REPORT_WRAPPERS_H
#define JESCOPE_REPORT_WRAPPERS_H

#include <glib.h>

/*
 * Whether a function (its plain name, function_name_plain()) is a wrapper: one of a table of unambiguous names
 * (zmalloc, g_malloc0, CRYPTO_zalloc...), a part of a language's library (std::, __gnu_cxx::, Rust's alloc:: and
 * core::), or a member function of an allocator class.
 */
gboolean wrapper_is_known(const char *plain);

/*
 * Whether its name only says that it allocates: all words of its last component are allocation terms (my_malloc,
 * safe_realloc_or_die, xalloc_array, BufferAlloc). Programs also use such names for functions of their own, so reports
 * show them; they are not held responsible while their caller is known.
 */
gboolean wrapper_is_generic(const char *plain);

/* Whether it is part of a language's library, which is not the program's own code even if compiled into it. */
gboolean wrapper_is_language(const char *plain);

#endif
