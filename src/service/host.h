/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on the target of a job, on the job's thread. Functions whose JOB is a void pointer (to a Job) also serve
 * as RouteHostOps. */
#ifndef JESCOPE_SERVICE_HOST_H
#define JESCOPE_SERVICE_HOST_H

#include "service/work.h"
#include "source/capture.h"

Outcome host_hello(void *job, WireHelloReply *hello, Failure *failure);
Outcome host_read(void *job, const char *control, WireType type, WireCtlReply *value, Failure *failure);
Outcome host_write(void *job, const char *control, WireType type, uint64_t value, Failure *failure);
/* capture is as for RouteHostOps.dump, NULL meaning zeros; window as for capture_dump(). */
typedef struct {
    const RouteCapture *capture;
    const CaptureWindow *window;
} HostDump;
Outcome host_dump(Job *job, const HostDump *wanted, int *descriptor, Failure *failure);
/* Whether the target's memory control group has space for a dump with CAPTURE. */
Outcome host_check_headroom(Job *job, const RouteCapture *capture, Failure *failure);
/* Replaces the dump *DESCRIPTOR with a symbolized one. May take as long as a rendering, and releases the target first.
 * *DESCRIPTOR is unchanged unless OUTCOME_DONE. */
Outcome host_symbolize(Job *job, int *descriptor, Failure *failure);
Outcome host_lease(void *job, const WireLeaseRequest *request, WireLease *lease, Failure *failure);

Outcome host_stats(void *job, const char *letters, int *descriptor, Failure *failure);
Outcome host_dump_to_own_file(void *job, Failure *failure);
Outcome host_render(void *job, const RouteRendering *rendering, int *descriptor, Failure *failure);
Outcome host_page(void *job, const RoutePage *page, int *descriptor, Failure *failure);

/* Implements RouteHostOps.dump_open. */
Outcome host_open_dump(void *job, uint64_t id, int *descriptor, Failure *failure);

/* Implements RouteHostOps.base_open, for dumps of targets of the same user. */
Outcome host_open_base(void *job, uint64_t id, int *descriptor, Failure *failure);

/* Sets *INCARNATION to that of dump ID, if dumps of JOB's target may be compared with it. */
Outcome host_find_base(Job *job, uint64_t id, gint64 *incarnation, Failure *failure);

/* Keeps a dump of JOB's target and emits an event. RECORDING is the recording that it results from, or 0. */
Outcome host_keep_dump(Job *job, int descriptor, guint64 recording, RouteDump *dump, Failure *failure);

#endif
