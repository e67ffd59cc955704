/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics in JSON without lines around them: the scanner, and the check of what a server passes on. */
#include "stats/json.h"
#include "text/json-check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t taken;
    if (size == 0)
        return 0;
    size_t piece = (size_t)data[0] * data[0] + 1;
    guint64 rows = G_MAXUINT64;
    JsonSnapshot *snapshot = json_snapshot_new(&rows);
    JsonResult result = JSON_MORE;
    for (size_t at = 1; at < size && result == JSON_MORE; at += piece)
        result = json_snapshot_feed(snapshot, (const char *)data + at, MIN(piece, size - at), &taken);
    if (result == JSON_DONE) {
        StatsSample *sample = json_snapshot_take(snapshot);
        g_clear_pointer(&sample, stats_sample_unref);
    }
    json_snapshot_free(snapshot);
    if (json_check((const char *)data + 1, size - 1))
        g_assert_true(size > 1 && g_utf8_validate_len((const char *)data + 1, size - 1, NULL));
    return 0;
}
