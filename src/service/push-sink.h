/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pushing by the service. Each section [push] of the options has rounds (export/schedule.h), in which targets are
 * dumped by work on them (SERVICE_SLOW), two at a time, and their batches are queued; and a thread that sends them
 * (push-sender.h). push_sink (sink.h) starts and stops it.
 */
#ifndef JESCOPE_SERVICE_PUSH_SINK_H
#define JESCOPE_SERVICE_PUSH_SINK_H

#include "service/core.h"
#include "service/push.h"

/* Replaces the sections with OPTIONS (of ServicePush; NULL: none; takes a reference). Unchanged sections continue;
 * those with files read them again. The queue of a removed section keeps its entries. Called in the main context; may
 * block for a second per section. */
void push_sink_reconfigure(gpointer state, GPtrArray *options);

/* The figures of all sections, of ServicePushFigures. Called in the main context. */
GArray *push_sink_figures(gpointer state);

#endif
