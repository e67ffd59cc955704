/* SPDX-License-Identifier: Apache-2.0 */
/* Profile stores that take profile.proto in a JSON document by POST: what the sinks pyroscope and parca share. */
#ifndef JESCOPE_EXPORT_PROFILE_STORE_H
#define JESCOPE_EXPORT_PROFILE_STORE_H

#include "export/http.h"
#include "export/pprof.h"
#include "export/series.h"

/* One store's rules, a constant. */
typedef struct {
    const char *path; /* behind the URL */
    SeriesRules series;
    PprofLimits profile;
    gint64 oldest_us, newest_us; /* of a dump, before and after now; 0: any */
    /* A new reference: the document with LABELS and PROFILE (gzip, in base64). Takes LABELS over. */
    json_t *(*document)(const Batch *batch, json_t *labels, const char *profile);
} ProfileStore;

typedef struct {
    const ProfileStore *store;
    Http *http;
    char *url;
} ProfileStoreState;

/* The URL may have the setting "tenant": X-Scope-OrgID. */
gpointer profile_store_new(const ProfileStore *store, const Destination *destination, GError **error);
void profile_store_free(gpointer state);
ExportOutcome profile_store_send(gpointer state, const Batch *const *batches, guint n, ExportReply *reply,
                                 GError **error);

#endif
