/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the samples in a history to a size, which users share. */
#ifndef JESCOPE_HISTORY_SPACE_H
#define JESCOPE_HISTORY_SPACE_H

#include "history/database.h"

/* Sets *BYTES to those in use, not including free pages, which are returned to the system later, and *DUMPS to the part
 * of dumps. */
gboolean space_used(History *history, guint64 *bytes, guint64 *dumps, GError **error);

/* Removes the oldest samples of the users with most until all but dumps takes at most MAX_BYTES; adds their number to
 * *REMOVED. Of several users each keeps a quarter of an equal share, whatever else takes space. Must be called in a
 * transaction. */
gboolean space_keep_to(History *history, guint64 max_bytes, guint64 *removed, GError **error);

#endif
