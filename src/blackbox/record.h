/* SPDX-License-Identifier: Apache-2.0 */
/* The key files of the black box: converts snapshots and ends (life.h) to text and back. Pure. */
#ifndef JESCOPE_BLACKBOX_RECORD_H
#define JESCOPE_BLACKBOX_RECORD_H

#include "blackbox/life.h"

enum {
    RECORD_MAX = 64 * 1024, /* bytes of a key file; larger ones are rejected */
};

/* The process of a record. */
typedef struct {
    char *name;
    char *boot;
    uid_t user; /* (uid_t)-1: unknown */
} RecordProcess;

void record_process_clear(RecordProcess *process);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RecordProcess, record_process_clear)

/* To be freed. The text does not contain the path of the dump, which follows from its own. */
char *record_of_snapshot(const BlackboxSnapshot *snapshot, const RecordProcess *process);
char *record_of_end(const BlackboxEnd *end, const RecordProcess *process);

/* Fail with BLACKBOX_ERROR_FORMAT. *PROCESS must be cleared in any case. Strings are printable. */
BlackboxSnapshot *record_read_snapshot(const char *text, gsize length, RecordProcess *process, GError **error);
gboolean record_read_end(const char *text, gsize length, BlackboxEnd *end, RecordProcess *process, GError **error);

#endif
