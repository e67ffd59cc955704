/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes as people write them; text/size.h has how they read them. */
#ifndef JESCOPE_CLI_SIZE_H
#define JESCOPE_CLI_SIZE_H

#include "text/size.h"

/* Bytes from "512KiB", "64K", "1.5MiB", "4096": K, M, G and T are powers of 1024, with "iB" or "B" after them or
 * nothing; the case does not matter. FALSE with CLI_ERROR_USAGE, *bytes untouched, for anything else or above 2^63-1.
 * OPTION ("--sample") is named in the error. Zero is a size. */
gboolean size_parse(const char *text, const char *option, guint64 *bytes, GError **error);

#endif
