/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the series for the samples of a process. */
#ifndef JESCOPE_SERVICE_SERIES_NAME_H
#define JESCOPE_SERVICE_SERIES_NAME_H

#include "service/scan-result.h"
#include "service/shared-history.h"

enum {
    SERIES_NUMBERS_OF_USER = 256, /* maximum number of followed processes per name and user */
    SERIES_NUMBERS_MAX = 16 * SERIES_NUMBERS_OF_USER,
};

/*
 * The series of FOUND, a name that is not in the set TAKEN.
 *
 * For a process named by a source: the source's series, which the process's user claims if it has no owner, so that its
 * samples share the space of the history as that user's. If it may be numbered, one of SERIES, SERIES/2...: that with
 * samples of this process, otherwise the first free one that has always belonged to its owner (history_claim()), so
 * that a restarted service continues its series. NULL with ERROR if too many are in use, or the history cannot be
 * written.
 *
 * For other processes: the name of the process, or a similar one, that has always belonged to this user and unit, so
 * that no user can add to another's samples by using the name of an absent process.
 */
char *series_name_choose(SharedHistory *history, GHashTable *taken, const ScanFound *found, GError **error);

#endif
