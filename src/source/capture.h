/* SPDX-License-Identifier: Apache-2.0 */
/* Dumps with the line that records their process, time and circumstances (profile/capture.h). */
#ifndef JESCOPE_SOURCE_CAPTURE_H
#define JESCOPE_SOURCE_CAPTURE_H

#include "target/target.h"

/* The time during which a recording sampled, microseconds since 1970; 0: unknown. */
typedef struct {
    guint64 since;
    guint64 until;
} CaptureWindow;

typedef enum {
    CAPTURE_ADDRESSES,
    CAPTURE_NAMES, /* for a server's target: symbolized by the server, which has its files */
} CaptureContent;

/* As target_dump(), with the line of profile/capture.h at the end. Unknown values are omitted; WINDOW may be NULL. */
int capture_dump(Target *target, const CaptureWindow *window, CaptureContent content, GError **error);

/* A sentence as by stats_outside_notice() if another heap is the process's main one, else NULL, also if unknown. To be
 * freed. */
char *capture_notice(Target *target);

#endif
