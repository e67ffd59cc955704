/* SPDX-License-Identifier: Apache-2.0 */
/* The key files of the black box: what life.h says of a snapshot and of an end, as text. Pure. */
#ifndef JESCOPE_BLACKBOX_RECORD_H
#define JESCOPE_BLACKBOX_RECORD_H

#include "blackbox/life.h"

enum {
    RECORD_MAX = 64 * 1024, /* bytes of a key file; a larger one is not ours */
};

/* The process that a record is of. */
typedef struct {
    char *name;
    char *boot;
    uid_t user; /* (uid_t)-1: unknown */
} RecordProcess;

void record_process_clear(RecordProcess *process);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RecordProcess, record_process_clear)

/* To be freed. The dump is not written, it is known by its place. */
char *record_of_snapshot(const BlackboxSnapshot *snapshot, const RecordProcess *process);
char *record_of_end(const BlackboxEnd *end, const RecordProcess *process);

/* BLACKBOX_ERROR_FORMAT. *PROCESS is to be cleared. Names are fit for terminals. */
BlackboxSnapshot *record_read_snapshot(const char *text, gsize length, RecordProcess *process, GError **error);
gboolean record_read_end(const char *text, gsize length, BlackboxEnd *end, RecordProcess *process, GError **error);

#endif
