/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pushing by the service: for each section [push] of the options rounds (export/schedule.h), in which targets are
 * dumped by work on them (SERVICE_SLOW), two at a time, and their batches queued, and a thread that sends them
 * (push-sender.h). push_sink (sink.h) begins and ends it.
 */
#ifndef JESCOPE_SERVICE_PUSH_SINK_H
#define JESCOPE_SERVICE_PUSH_SINK_H

#include "service/core.h"
#include "service/push.h"

/* The sections are OPTIONS (of ServicePush; NULL: none; takes a reference) from now on. One that has not changed goes
 * on as it was, one with files reads them again. What waits in the queue of one that has gone stays there. In the main
 * context; may wait for a second for each section. */
void push_sink_reconfigure(gpointer state, GPtrArray *options);

/* Of ServicePushFigures. In the main context. */
GArray *push_sink_figures(gpointer state);

#endif
