/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processor time for files that neither root nor the caller owns, or that a debuginfod server has sent: all of them
 * together have TARGET_FILES_MAX_TIME. Their tables can refer to each other so that reading them would take years. Each
 * loop whose length a file decides says what it does, and ends where that returns FALSE; what is not known by then
 * stays unknown. The same holds for the memory of what such a file decides the size of: an entry of one byte can stand
 * for a hundred. For one thread.
 */
#ifndef JESCOPE_SYMBOLIZE_PATIENCE_H
#define JESCOPE_SYMBOLIZE_PATIENCE_H

#include "confine/target-files.h"

#include <glib.h>

/* files NULL: a file of root's or the caller's, for which there are no limits. */
void patience_begin(TargetFiles *files);
void patience_end(void);

/* From here on as after patience_begin(), unless the thread has begun already: for a file that is opened because one of
 * root's or the caller's names it. */
void patience_join(TargetFiles *files);

/* Work since the clock was read; about a nanosecond each. */
#define PATIENCE_UNSEEN (1 << 20)
extern _Thread_local guint64 patience_unseen;
gboolean patience_look(void);

/* FALSE: the time is up. */
static inline gboolean
patience_spend(guint64 work)
{
    patience_unseen += work;
    return G_LIKELY(patience_unseen < PATIENCE_UNSEEN) || patience_look();
}

/* Takes BYTES of TARGET_FILES_MAX_MEMORY: until patience_end(), or for as long as FILES exist. FALSE: there are not as
 * many, and the time is up until patience_end(). */
gboolean patience_hold(guint64 bytes);
gboolean patience_keep(guint64 bytes);

/* Adds *ELEMENT, after patience_hold() for it. */
gboolean patience_append(GArray *array, gconstpointer element);

/* g_array_sort(), which cannot be stopped, for an array whose length a file decides. Empties it if the time is up. */
void patience_sort(GArray *array, GCompareFunc compare);

#endif
