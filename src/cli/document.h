/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output of --json: one object that begins with "format" ("jescope-ps") and "version", followed by the command's
 * data. docs/formats.md has the keys. Within a version keys are added, never renamed or removed. Sizes are bytes, times
 * are ISO 8601 in UTC (in a status: seconds since 1970), durations are seconds; unknown values are null.
 */
#ifndef JESCOPE_CLI_DOCUMENT_H
#define JESCOPE_CLI_DOCUMENT_H

#include <jansson.h>

/* From now on the process ends with a message and STATUS_FAILED where the library has no memory for a document, of
 * which callers would otherwise print a part, or nothing, as if it were all. */
void document_need_memory(void);

/* Prints MEMBERS, an object, as a document on stdout and takes over the reference. If MEMBERS is NULL, it ends the
 * process in the same way. */
void document_print(const char *format, json_t *members);

#endif
