/* SPDX-License-Identifier: Apache-2.0 */
/* For database.c: files that may have been passed in. */
#ifndef JESCOPE_HISTORY_HANDED_INTERNAL_H
#define JESCOPE_HISTORY_HANDED_INTERNAL_H

#include "history/handed.h"

#include <sys/stat.h>

/* The real path of PATH: without links if it was passed in, else PATH itself. */
const char *handed_place(const char *path);

/* Whether this process has to ask for its files. */
gboolean handed_is_confined(void);

/* stat(2) of a file at a place. */
int handed_stat(const char *place, struct stat *status);

#endif
