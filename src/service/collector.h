/* SPDX-License-Identifier: Apache-2.0 */
/* At each tick, takes a sample of every live target and hands it to the sinks (sink.h). In the main context. */
#ifndef JESCOPE_SERVICE_COLLECTOR_H
#define JESCOPE_SERVICE_COLLECTOR_H

#include "service/core.h"

/* Ticks as SERVICE's options say; where they name sources, first as soon as the targets that are there are known. */
Collector *collector_new(Service *service);
void collector_free(Collector *collector);

/* The interval may have changed. */
void collector_reconfigure(Collector *collector);

/* No more samples are taken; logs are read to their end once more, which a clean end waits for. */
void collector_stop(Collector *collector);

#endif
