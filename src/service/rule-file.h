/* SPDX-License-Identifier: Apache-2.0 */
/* Memory files for the programs of rules: copies, since what a program keeps open is emptied when its rule is done. */
#ifndef JESCOPE_SERVICE_RULE_FILE_H
#define JESCOPE_SERVICE_RULE_FILE_H

#include "wire/outcome.h"

/* Takes ownership of FROM. Returns a copy that cannot be written; -1 with FAILURE. Thread-safe. */
int rule_file_new(int from, Failure *failure);

/* A separate read-only descriptor at offset 0, for a program of any user; -1 with errno. */
int rule_file_open(int file);

/* Empties FILE for all that have it open, and closes it; -1: does nothing. */
void rule_file_free(int file);

#endif
