/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of the history file and the migration of older files. */
#ifndef JESCOPE_HISTORY_SCHEMA_H
#define JESCOPE_HISTORY_SCHEMA_H

/* "JSCH", in PRAGMA application_id: identifies a history file. */
enum { SCHEMA_APPLICATION = 0x4a534348 };

/* schema_steps[N] migrates a file from PRAGMA user_version N to N + 1. Steps are never changed once released; a change
 * of the schema is a new step at the end. */
extern const char *const schema_steps[];

/* The user_version this program reads and writes: the number of steps. */
extern const int schema_version;

/* The oldest user_version from which samples can be read without migration. */
extern const int schema_readable;

#endif
