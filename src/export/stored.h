/* SPDX-License-Identifier: Apache-2.0 */
/* How a batch is stored as files, in a directory or under URLs: the dump, and a document with all else. */
#ifndef JESCOPE_EXPORT_STORED_H
#define JESCOPE_EXPORT_STORED_H

#include "export/batch.h"

#define STORED_HEAP     ".heap.gz" /* Batch.heap */
#define STORED_DOCUMENT ".json"

/* "SERVICE/2026-11-22/TIME-HOST-PID-ID", of letters, digits and "._+-" in each part, which does not begin with '.': the
 * same each time. The two files have the suffixes above. To be freed. */
char *stored_path(const Batch *batch);

/* JSON: docs/push.md, "Stored files". To be freed. */
char *stored_document(const Batch *batch);

#endif
