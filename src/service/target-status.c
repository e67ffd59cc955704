/* SPDX-License-Identifier: Apache-2.0 */
/* service_target_status() */
#include "service/live.h"
#include "service/recordings.h"

void
service_target_status(ServiceTarget *target, RouteStatus *status)
{
    live_fill_status(target, status);
    status->is_recording = recordings_running(target, &status->recording);
}
