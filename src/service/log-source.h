/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the statistics that are appended to a log. In the main context; the log is read on a thread. */
#ifndef JESCOPE_SERVICE_LOG_SOURCE_H
#define JESCOPE_SERVICE_LOG_SOURCE_H

#include "service/core.h"

typedef struct LogSource LogSource;

/* Begins at the present end of the log that SOURCE names. */
LogSource *log_source_new(Service *service, const ServiceSource *source);
void log_source_free(LogSource *log);

/* Of the first writer (history_log_target()). */
const char *log_source_series(const LogSource *log);

/* Reads what there is once more, which a clean end waits for, and then no more. */
void log_source_finish(LogSource *log);

#endif
