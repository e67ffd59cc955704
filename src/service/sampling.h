/* SPDX-License-Identifier: Apache-2.0 */
/* Takes a sample of a target, on the thread of its work. */
#ifndef JESCOPE_SERVICE_SAMPLING_H
#define JESCOPE_SERVICE_SAMPLING_H

#include "service/live.h"

/* Takes a sample of JOB's target for WHAT, which becomes its latest one; NULL with ERROR. Sets *HELLO (HELLO may be
 * NULL) in the same exchange. */
StatsSample *sampling_take(Job *job, SampledFor what, WireHelloReply *hello, GError **error);

#endif
