/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a batch from an operand of push: the dump, what is known about its process, and the names of its functions. */
#ifndef JESCOPE_CLI_PUSH_BATCH_H
#define JESCOPE_CLI_PUSH_BATCH_H

#include "cli/report-arguments.h"

typedef struct {
    const ReportArguments *arguments; /* where names are searched */
    const char *service;              /* NULL: the program's file name */
    const char *host;
    const char *const *labels;    /* "NAME=VALUE", NULL at the end; may be NULL */
    const char *const *variables; /* "NAME=VARIABLE", likewise */
    gboolean with_heap;           /* as BatchCircumstances */
} PushBatchOptions;

typedef struct {
    gint64 took_us;   /* time to take or open the dump */
    gboolean partial; /* a part of the dump could not be read */
    uid_t account;    /* of the process's user, or of the owner of the dump's file (confine/account.h) */
} PushBatchFacts;

/* Returns the batch as bytes for batch_read(). EXPORT_ERROR_DESTINATION: a label of OPTIONS is invalid. */
GBytes *push_batch_make(char *name, const PushBatchOptions *options, PushBatchFacts *facts, GError **error);

#endif
