/* SPDX-License-Identifier: Apache-2.0 */
/* How the figures of one target moved lately: the latest points, for charts and rates. */
#ifndef JESCOPE_TUI_TRACK_H
#define JESCOPE_TUI_TRACK_H

#include "routes/status.h"

#include <glib.h>

enum {
    TRACK_POINTS = 512,
    TRACK_GAIN_S = 60, /* seconds that the gain per minute is of */
};

typedef struct {
    gint64 time_us;
    guint64 figures[STATUS_FIGURES];
} TrackPoint;

typedef struct Track Track;

Track *track_new(void);
void track_free(Track *track);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Track, track_free)

/* A point of the same or an earlier time than the last one replaces it. */
void track_add(Track *track, gint64 time_us, const guint64 *figures);

guint track_count(const Track *track);

/* The latest is 0. */
const TrackPoint *track_point(const Track *track, guint back);

/* Bytes per minute that FIGURE gained over the last TRACK_GAIN_S, or what there is of it. FALSE: unknown. */
gboolean track_gain(const Track *track, StatusFigure figure, double *per_minute);

#endif
