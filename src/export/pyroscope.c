/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Grafana Pyroscope: push.v1.PusherService/Push with JSON, one profile named "memory". The limits are the defaults of
 * Pyroscope 2 (validation/limits.go): 16 000 samples, 4 MiB, a depth of 1000, 30 labels, values of 2048 bytes; dumps at
 * most an hour old or ten minutes ahead. A profile has an id, by which duplicates are recognized.
 */
#include "export/profile-store.h"

static json_t *
document(const Batch *batch, json_t *labels, const char *profile)
{
    const char *id = batch->dump.id;
    g_autofree char *uuid = g_strdup_printf("%.8s-%.4s-%.4s-%.4s-%.12s", id, id + 8, id + 12, id + 16, id + 20);
    return json_pack("{s:[{s:o, s:[{s:s, s:s}]}]}", "series", "labels", labels, "samples", "ID", uuid, "rawProfile",
                     profile);
}

static const ProfileStore store = {
    .path = "/push.v1.PusherService/Push",
    .series = {.service = "service_name", .metric = "memory", .labels = 30, .value_bytes = 2048},
    .profile = {.samples = 16000, .depth = 1000, .bytes = 4 << 20},
    .oldest_us = (gint64)59 * 60 * G_USEC_PER_SEC,
    .newest_us = (gint64)9 * 60 * G_USEC_PER_SEC,
    .document = document,
};

static gpointer new (const Destination *destination, GError **error)
{
    return profile_store_new(&store, destination, error);
}

const ExportSink pyroscope_sink = {
    .name = "pyroscope",
    .summary = "profiles for Grafana Pyroscope, by its push API",
    .form = "pyroscope://HOST[:PORT][?tenant=NAME]",
    .transport = EXPORT_TLS,
    .max_batches = 1,
    .new = new,
    .free = profile_store_free,
    .send = profile_store_send,
};
