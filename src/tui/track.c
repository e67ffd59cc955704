/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/track.h"

#include <string.h>

struct Track {
    TrackPoint points[TRACK_POINTS]; /* ring buffer */
    guint count;
    guint next;
};

Track *
track_new(void)
{
    return g_new0(Track, 1);
}

void
track_free(Track *track)
{
    g_free(track);
}

guint
track_count(const Track *track)
{
    return track->count;
}

const TrackPoint *
track_point(const Track *track, guint back)
{
    return &track->points[(track->next + 2 * TRACK_POINTS - 1 - back) % TRACK_POINTS];
}

void
track_add(Track *track, gint64 time_us, const guint64 *figures)
{
    while (track->count > 0 && track_point(track, 0)->time_us >= time_us) {
        track->next = (track->next + TRACK_POINTS - 1) % TRACK_POINTS;
        track->count--;
    }
    TrackPoint *point = &track->points[track->next];
    point->time_us = time_us;
    memcpy(point->figures, figures, sizeof(point->figures));
    track->next = (track->next + 1) % TRACK_POINTS;
    track->count = MIN(track->count + 1, TRACK_POINTS);
}

gboolean
track_gain(const Track *track, StatusFigure figure, double *per_minute)
{
    const TrackPoint *earliest = NULL;
    if (track->count < 2 || track_point(track, 0)->figures[figure] == STATUS_UNKNOWN)
        return FALSE;
    const TrackPoint *latest = track_point(track, 0);
    for (guint back = 1; back < track->count; back++) {
        const TrackPoint *point = track_point(track, back);
        if (latest->time_us - point->time_us > TRACK_GAIN_S * G_USEC_PER_SEC && earliest != NULL)
            break;
        if (point->figures[figure] != STATUS_UNKNOWN)
            earliest = point;
    }
    if (earliest == NULL)
        return FALSE;
    double minutes = (double)(latest->time_us - earliest->time_us) / G_USEC_PER_SEC / 60;
    *per_minute = ((double)latest->figures[figure] - (double)earliest->figures[figure]) / minutes;
    return TRUE;
}
