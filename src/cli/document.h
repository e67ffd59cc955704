/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output of --json: one object that begins with "format" ("jescope-ps") and "version", followed by the command's
 * data. docs/formats.md has the keys. Within a version keys are added, never renamed or removed. Sizes are bytes, times
 * are ISO 8601 in UTC (in a status: seconds since 1970), durations are seconds; unknown values are null.
 */
#ifndef JESCOPE_CLI_DOCUMENT_H
#define JESCOPE_CLI_DOCUMENT_H

#include <jansson.h>

/* Prints MEMBERS, an object, as a document on stdout and takes over the reference. */
void document_print(const char *format, json_t *members);

#endif
