/* SPDX-License-Identifier: Apache-2.0 */
/* A batch stored as files, in a directory or below a URL: the dump, and a document with everything else. */
#ifndef JESCOPE_EXPORT_STORED_H
#define JESCOPE_EXPORT_STORED_H

#include "export/batch.h"

#define STORED_HEAP     ".heap.gz" /* Batch.heap */
#define STORED_DOCUMENT ".json"

/* "SERVICE/2026-11-22/TIME-HOST-PID-ID": each part consists of letters, digits and "._+-" and does not begin with '.'.
 * Deterministic. The two files have the suffixes above. To be freed. */
char *stored_path(const Batch *batch);

/* The JSON document: docs/push.md, "Stored files". To be freed. */
char *stored_document(const Batch *batch);

#endif
