/* SPDX-License-Identifier: Apache-2.0 */
/* Stored files by HTTP PUT: common code of the sinks put and s3. */
#ifndef JESCOPE_EXPORT_PUT_H
#define JESCOPE_EXPORT_PUT_H

#include "export/http.h"

/* The state of both sinks. */
typedef struct {
    const Destination *destination;
    Http *http;
} PutState;

gpointer put_new(const Destination *destination, HttpCredentials credentials, const char *region, GError **error);
void put_free(gpointer state);
ExportOutcome put_send(gpointer state, const Batch *const *batches, guint n, ExportReply *reply, GError **error);

#endif
