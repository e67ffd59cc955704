/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of a function's name as demanglers write it: "void ns::f<int>(char const*) const [clone .cold]" is a return
 * type, a path of components with template arguments, parameters, qualifiers and clones. C++, Rust, D and C.
 */
#ifndef JESCOPE_REPORT_FUNCTION_NAME_H
#define JESCOPE_REPORT_FUNCTION_NAME_H

#include <glib.h>

/* Without return type, parameters, qualifiers and clones: "ns::f<int>". As libiberty demangles without DMGL_PARAMS.
 * Newly allocated. */
char *function_name_plain(const char *name);

/* Without template and generic arguments: "ns::f<...>(char const*)". Newly allocated. */
char *function_name_elide(const char *name);

/* Without the suffixes that compilers append to parts and copies of a function: "[clone .cold]", ".part.0", ".isra.0",
 * ".constprop.0", ".cold". Newly allocated. */
char *function_name_unclone(const char *name);

/* The last component of a plain name: "f<int>" of "ns::f<int>". Points into name. */
const char *function_name_last(const char *plain);

#endif
