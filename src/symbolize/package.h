/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JESCOPE_SYMBOLIZE_PACKAGE_H
#define JESCOPE_SYMBOLIZE_PACKAGE_H

#include <glib.h>

/* The Debian package with the debug symbols of the file at path ("libnghttp2-14-dbgsym"), by dpkg's own file lists;
 * NULL if dpkg does not know the file. Newly allocated. */
char *package_of_debug_symbols(const char *path);

#endif
