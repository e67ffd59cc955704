/* SPDX-License-Identifier: Apache-2.0 */
#include "routes/pause.h"

#include <time.h>

void
pause_for(const RouteHost *host, uint64_t ms)
{
    struct timespec left = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
    if (host->ops->pause != NULL) {
        host->ops->pause(host->data, ms);
        return;
    }
    while (nanosleep(&left, &left) != 0) {
    }
}
