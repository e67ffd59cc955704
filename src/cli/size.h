/* SPDX-License-Identifier: Apache-2.0 */
/* Parses sizes; text/size.h formats them. */
#ifndef JESCOPE_CLI_SIZE_H
#define JESCOPE_CLI_SIZE_H

#include "text/size.h"

/* Bytes from "512KiB", "64K", "1.5MiB", "4096": K, M, G and T are powers of 1024, optionally followed by "iB" or "B";
 * case is ignored. FALSE with CLI_ERROR_USAGE, *bytes untouched, for anything else or above 2^63-1. OPTION ("--sample")
 * is named in the error. Zero is valid. */
gboolean size_parse(const char *text, const char *option, guint64 *bytes, GError **error);

#endif
