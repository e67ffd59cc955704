/* SPDX-License-Identifier: Apache-2.0 */
#include "history/live-sample.h"

#include "stats/reader.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum {
    CHUNK = 64 * 1024,
};

struct LiveSample {
    Target *target;
    char letters[WIRE_LETTERS_MAX];
};

/* What malloc_stats_print leaves out at each letter. */
static const struct {
    HistoryParts part;
    const char *letters;
} left_out[] = {
    {HISTORY_ARENAS, "a"},
    {HISTORY_CLASSES, "bl"},
    {HISTORY_MUTEXES, "x"},
};

LiveSample *
live_sample_new(Target *target, HistoryParts parts, GError **error)
{
    LiveSample *live = g_new0(LiveSample, 1);
    live->target = target;
    g_strlcpy(live->letters, "Jeh", sizeof live->letters);
    for (size_t i = 0; i < G_N_ELEMENTS(left_out); i++)
        if (!(parts & left_out[i].part))
            g_strlcat(live->letters, left_out[i].letters, sizeof live->letters);
    return live;
}

void
live_sample_free(LiveSample *live)
{
    g_free(live);
}

static gboolean
keep_sample(StatsSample *sample, gpointer data, GError **error)
{
    StatsSample **kept = data;
    g_clear_pointer(kept, stats_sample_unref);
    *kept = stats_sample_ref(sample);
    return TRUE;
}

static gboolean
feed_all(StatsReader *reader, int fd, GError **error)
{
    g_autofree char *chunk = g_malloc(CHUNK);
    for (;;) {
        ssize_t length = read(fd, chunk, CHUNK);
        if (length < 0 && errno == EINTR)
            continue;
        if (length < 0) {
            g_set_error(error, HISTORY_ERROR, HISTORY_ERROR_FAILED, "cannot read statistics: %s", g_strerror(errno));
            return FALSE;
        }
        if (length == 0)
            return stats_reader_finish(reader, NULL, error);
        if (!stats_reader_feed(reader, chunk, (gsize)length, error))
            return FALSE;
    }
}

StatsSample *
live_sample_read(LiveSample *live, GError **error)
{
    gint64 time_us = g_get_real_time();
    int fd = target_stats(live->target, live->letters, error);
    if (fd < 0)
        return NULL;
    StatsSample *sample = NULL;
    g_autoptr(StatsReader) reader = stats_reader_new(keep_sample, &sample);
    gboolean ok = feed_all(reader, fd, error);
    close(fd);
    if (ok && sample != NULL) {
        sample->time_us = time_us;
        sample->source = STATS_SOURCE_LIVE;
        return sample;
    }
    if (ok)
        g_set_error(error, HISTORY_ERROR, HISTORY_ERROR_FAILED,
                    "%s gives no statistics; is its jemalloc built without?", target_label(live->target));
    g_clear_pointer(&sample, stats_sample_unref);
    return NULL;
}
