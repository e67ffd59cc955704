/* SPDX-License-Identifier: Apache-2.0 */
/* The facts about a dump's process that the dump does not contain: service, host, labels, statistics and ledger. */
#ifndef JESCOPE_EXPORT_BATCH_CIRCUMSTANCES_H
#define JESCOPE_EXPORT_BATCH_CIRCUMSTANCES_H

#include "export/batch.h"
#include "stats/ledger.h"
#include "stats/stats.h"

/* The process that was dumped, as the kernel knows it, and when by our own clock: its dump says this too, but the
 * process writes its text. */
typedef struct {
    guint64 pid, start; /* as in BatchDump */
    gint64 time;        /* likewise */
} BatchProcess;

/* Strings and pointers are borrowed. */
typedef struct {
    const char *service; /* NULL: the file name of the program */
    const char *host;
    const BatchLabel *labels; /* as Batch.labels; invalid names and empty values are left out */
    gsize n_labels;
    const BatchProcess *process; /* NULL: a file was dumped earlier, and says whose it is */
    const char *program;         /* path of the executable; NULL: determined from the dump */
    const Ledger *ledger;        /* NULL: unknown */
    const StatsSample *sample;   /* for the metrics; NULL: those in the dump */
    gboolean with_heap;          /* fill Batch.heap; requires ReportInput.text */
} BatchCircumstances;

/* Adds CIRCUMSTANCES to BYTES, a batch that another process has built without them. program and with_heap are ignored;
 * without a sample the metrics are unchanged. Checks BYTES like batch_read(). NULL with BATCH_ERROR. */
GBytes *batch_complete(GBytes *bytes, const BatchCircumstances *circumstances, GError **error);

/* NAME with each character that is invalid in a label replaced by '_'. To be freed. */
char *batch_label_name(const char *name);

/* Corrects what DUMP says of its process and time. */
void circumstances_correct(const BatchCircumstances *given, BatchDump *dump);

/* These add members of a batch (batch-form.h) to ROOT. */
void circumstances_add_pair(GVariantBuilder *root, const char *one, const char *other);
void circumstances_add_labels(const BatchCircumstances *given, GVariantBuilder *root);
void circumstances_add_ledger(const BatchCircumstances *given, GVariantBuilder *root);
/* Adds metrics to the open array: the totals of the process and of all arenas. */
void circumstances_add_sample(const StatsSample *sample, GVariantBuilder *root);

#endif
