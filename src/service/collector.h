/* SPDX-License-Identifier: Apache-2.0 */
/* Takes a sample of every live target at each tick and passes it to the sinks (sink.h). Used in the main context. */
#ifndef JESCOPE_SERVICE_COLLECTOR_H
#define JESCOPE_SERVICE_COLLECTOR_H

#include "service/core.h"

/* Ticks at the interval in SERVICE's options. If these name sources, the first tick is as soon as the existing targets
 * are known. */
Collector *collector_new(Service *service);
void collector_free(Collector *collector);

/* To be called after a change of the interval. */
void collector_reconfigure(Collector *collector);

/* Stops taking samples. Logs are read to their current end once more; a clean shutdown waits for that. */
void collector_stop(Collector *collector);

#endif
