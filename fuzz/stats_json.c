/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON scanner alone, without lines around it. */
#include "stats/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t taken;
    if (size == 0)
        return 0;
    size_t piece = (size_t)data[0] * data[0] + 1;
    JsonSnapshot *snapshot = json_snapshot_new();
    JsonResult result = JSON_MORE;
    for (size_t at = 1; at < size && result == JSON_MORE; at += piece)
        result = json_snapshot_feed(snapshot, (const char *)data + at, MIN(piece, size - at), &taken);
    if (result == JSON_DONE) {
        StatsSample *sample = json_snapshot_take(snapshot);
        g_clear_pointer(&sample, stats_sample_unref);
    }
    json_snapshot_free(snapshot);
    return 0;
}
