/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/thread-time.h"

#include <time.h>

gint64
thread_time_us(void)
{
    struct timespec spent = {0};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
    return (gint64)spent.tv_sec * G_USEC_PER_SEC + spent.tv_nsec / 1000;
}
