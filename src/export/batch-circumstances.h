/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of a dump beside it: its service, host, labels, statistics and ledger. */
#ifndef JESCOPE_EXPORT_BATCH_CIRCUMSTANCES_H
#define JESCOPE_EXPORT_BATCH_CIRCUMSTANCES_H

#include "export/batch.h"
#include "stats/ledger.h"
#include "stats/stats.h"

/* What the dump does not tell. */
typedef struct {
    const char *service; /* NULL: the file name of the program */
    const char *host;
    const BatchLabel *labels; /* as Batch.labels; names that are not labels and empty values are left out */
    gsize n_labels;
    const char *program;       /* path of the executable; NULL: by the dump */
    const Ledger *ledger;      /* NULL: unknown */
    const StatsSample *sample; /* its totals; NULL: what the dump says of itself */
    gboolean with_heap;        /* Batch.heap; input.text must be there */
} BatchCircumstances;

/* BYTES, a batch that was built by another process without them, with CIRCUMSTANCES; program and with_heap are not
 * looked at, and without a sample the metrics stay. Checks BYTES as batch_read() does. */
GBytes *batch_complete(GBytes *bytes, const BatchCircumstances *circumstances, GError **error);

/* NAME with each character that a label cannot have replaced by '_'. To be freed. */
char *batch_label_name(const char *name);

/* Members of a batch (batch-form.h), for its builder. */
void circumstances_add_pair(GVariantBuilder *root, const char *one, const char *other);
void circumstances_add_labels(const BatchCircumstances *given, GVariantBuilder *root);
void circumstances_add_ledger(const BatchCircumstances *given, GVariantBuilder *root);
/* Elements: the totals of the process, and all arenas together. */
void circumstances_add_sample(const StatsSample *sample, GVariantBuilder *root);

#endif
