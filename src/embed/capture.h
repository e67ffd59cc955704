/* SPDX-License-Identifier: Apache-2.0 */
/* Takes dumps of this process, with the line that records when and how they were taken (routes/capture-line.h). */
#ifndef JESCOPE_EMBED_CAPTURE_H
#define JESCOPE_EMBED_CAPTURE_H

#include "routes/routes.h"

typedef struct {
    uint64_t recording; /* the recording that it results from; 0: none */
    uint64_t since_ms;  /* start of the recording, in milliseconds since 1970 */
    RouteCapture capture;
} CaptureWanted;

/* Takes a dump to a memory file, at offset 0, which the caller closes. It does not record the memory of other
 * allocators. With the turn. */
Outcome capture_take(const CaptureWanted *wanted, int *descriptor, Failure *failure);

#endif
