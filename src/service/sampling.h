/* SPDX-License-Identifier: Apache-2.0 */
/* One sample of one target, on the thread of its work. */
#ifndef JESCOPE_SERVICE_SAMPLING_H
#define JESCOPE_SERVICE_SAMPLING_H

#include "service/live.h"

/* A sample of JOB's target for WHAT, which becomes its latest one; NULL with ERROR. HELLO (may be NULL) is asked in the
 * same breath. */
StatsSample *sampling_take(Job *job, SampledFor what, WireHelloReply *hello, GError **error);

#endif
