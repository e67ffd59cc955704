/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the statistics that are appended to a log. Used in the main context; a thread reads the log. */
#ifndef JESCOPE_SERVICE_LOG_SOURCE_H
#define JESCOPE_SERVICE_LOG_SOURCE_H

#include "service/core.h"

typedef struct LogSource LogSource;

/* Begins at the current end of the log that SOURCE names. */
LogSource *log_source_new(Service *service, const ServiceSource *source);
void log_source_free(LogSource *log);

/* The series of the first writer (history_log_target()). */
const char *log_source_series(const LogSource *log);

/* Reads the log to its current end a last time; a clean shutdown waits for that. */
void log_source_finish(LogSource *log);

#endif
