/* SPDX-License-Identifier: Apache-2.0 */
/* Collects statistics: at each beat a sample of every live target goes into the history, and is judged for advice. */
#ifndef JESCOPE_SERVICE_BEAT_H
#define JESCOPE_SERVICE_BEAT_H

#include "service/core.h"

/* Beats as SERVICE's options say. In the main context. */
Beat *beat_new(Service *service);
void beat_free(Beat *beat);

/* The interval may have changed. */
void beat_reconfigure(Beat *beat);

/* No more samples are taken. */
void beat_stop(Beat *beat);

#endif
