/* SPDX-License-Identifier: Apache-2.0 */
/* The recent figures of one target, for charts and rates. */
#ifndef JESCOPE_TUI_TRACK_H
#define JESCOPE_TUI_TRACK_H

#include "routes/status.h"

#include <glib.h>

enum {
    TRACK_POINTS = 512,
    TRACK_GAIN_S = 60, /* interval of the gain per minute, in seconds */
};

typedef struct {
    gint64 time_us;
    guint64 figures[STATUS_FIGURES];
} TrackPoint;

typedef struct Track Track;

Track *track_new(void);
void track_free(Track *track);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Track, track_free)

/* Adds a point. It replaces points of the same or a later time. */
void track_add(Track *track, gint64 time_us, const guint64 *figures);

guint track_count(const Track *track);

/* The point BACK steps before the latest, which is 0; BACK is below track_count(). */
const TrackPoint *track_point(const Track *track, guint back);

/* Bytes per minute that FIGURE gained over the last TRACK_GAIN_S seconds, or over the points available. FALSE if
 * unknown. */
gboolean track_gain(const Track *track, StatusFigure figure, double *per_minute);

#endif
