/* SPDX-License-Identifier: Apache-2.0 */
/* The processor time of a thread, by which work for others is bounded and charged: unlike elapsed time, it does not
 * grow while other processes use the machine. */
#ifndef JESCOPE_CONFINE_THREAD_TIME_H
#define JESCOPE_CONFINE_THREAD_TIME_H

#include <glib.h>

/* The processor time that the calling thread has used, in microseconds. */
gint64 thread_time_us(void);

#endif
