/* SPDX-License-Identifier: Apache-2.0 */
/* For database.c: files that the parent process may open for this one. */
#ifndef JESCOPE_HISTORY_HANDED_INTERNAL_H
#define JESCOPE_HISTORY_HANDED_INTERNAL_H

#include "history/handed.h"

#include <sys/stat.h>

/* PATH, with symbolic links resolved if it was handed over. */
const char *handed_place(const char *path);

/* Whether this process has to ask its parent for files. */
gboolean handed_is_confined(void);

/* stat(2) of the file PLACE, by the parent if confined. */
int handed_stat(const char *place, struct stat *status);

#endif
