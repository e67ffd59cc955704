/* SPDX-License-Identifier: Apache-2.0 */
/* Profile stores that accept profile.proto in a JSON document by POST: common code of the sinks pyroscope and parca. */
#ifndef JESCOPE_EXPORT_PROFILE_STORE_H
#define JESCOPE_EXPORT_PROFILE_STORE_H

#include "export/http.h"
#include "export/pprof.h"
#include "export/series.h"

/* The constant properties of a store. */
typedef struct {
    const char *path; /* appended to the URL */
    SeriesRules series;
    PprofLimits profile;
    gint64 oldest_us, newest_us; /* accepted age of a dump, and time ahead of now; 0: any */
    /* Returns a new reference to the document with LABELS and PROFILE (gzip, base64). Takes ownership of LABELS. */
    json_t *(*document)(const Batch *batch, json_t *labels, const char *profile);
} ProfileStore;

typedef struct {
    const ProfileStore *store;
    Http *http;
    char *url;
} ProfileStoreState;

/* The URL may have the setting "tenant", which is sent as X-Scope-OrgID. */
gpointer profile_store_new(const ProfileStore *store, const Destination *destination, GError **error);
void profile_store_free(gpointer state);
ExportOutcome profile_store_send(gpointer state, const Batch *const *batches, guint n, ExportReply *reply,
                                 GError **error);

#endif
