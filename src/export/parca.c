/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parca: ProfileStoreService/WriteRaw with JSON (/profiles/writeraw), one profile named "memory". "normalized": the
 * addresses are file offsets. Parca publishes no limits of its own; these keep the request below the 4 MiB that gRPC
 * receivers accept by default.
 */
#include "export/profile-store.h"

static json_t *
document(const Batch *batch, json_t *labels, const char *profile)
{
    return json_pack("{s:b, s:[{s:{s:o}, s:[{s:s}]}]}", "normalized", TRUE, "series", "labels", "labels", labels,
                     "samples", "rawProfile", profile);
}

static const ProfileStore store = {
    .path = "/profiles/writeraw",
    .series = {.service = "job", .metric = "memory", .labels = 64, .value_bytes = 2048},
    .profile = {.samples = 16000, .depth = 1000, .bytes = 3 << 20},
    .document = document,
};

static gpointer new (const Destination *destination, GError **error)
{
    return profile_store_new(&store, destination, error);
}

const ExportSink parca_sink = {
    .name = "parca",
    .summary = "profiles for Parca, by WriteRaw",
    .form = "parca://HOST[:PORT]",
    .transport = EXPORT_TLS,
    .max_batches = 1,
    .new = new,
    .free = profile_store_free,
    .send = profile_store_send,
};
