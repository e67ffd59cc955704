/* SPDX-License-Identifier: Apache-2.0 */
/* Dumps of this process with the line that records when and how they were taken (routes/capture-line.h). */
#ifndef JESCOPE_EMBED_CAPTURE_H
#define JESCOPE_EMBED_CAPTURE_H

#include "routes/routes.h"

typedef struct {
    uint64_t recording; /* the recording of which it is the result; 0: none */
    uint64_t since_ms;  /* of it: when it began, in milliseconds since 1970 */
    RouteCapture capture;
} CaptureWanted;

/* A dump in a memory file at offset 0, the caller's to close. It does not record the memory of other allocators. With
 * the turn. */
Outcome capture_take(const CaptureWanted *wanted, int *descriptor, Failure *failure);

#endif
