/* SPDX-License-Identifier: Apache-2.0 */
/* Removes what describes processes of which nothing is kept any more. Any user can start any number of processes, of
 * any names, so each has a share of such rows. */
#ifndef JESCOPE_HISTORY_FORGET_H
#define JESCOPE_HISTORY_FORGET_H

#include "history/database.h"

enum {
    FORGET_LIVES_OF_USER = 1024, /* incarnations without samples, dumps and recordings; more than run at a time */
    FORGET_NOTES_OF_USER = 4096,
    FORGET_NAMES_OF_USER = 4096, /* names of targets without data that stay with their first user */
};

/* To be called in a transaction that has removed samples. Ids of incarnations are never reused. */
gboolean forget_empty(History *history, GError **error);

/* Keeps to FORGET_NAMES_OF_USER. */
gboolean forget_names(History *history, GError **error);

#endif
