/* SPDX-License-Identifier: Apache-2.0 */
/* The series in which the samples of a process are kept. */
#ifndef JESCOPE_SERVICE_SERIES_NAME_H
#define JESCOPE_SERVICE_SERIES_NAME_H

#include "service/scan-result.h"
#include "service/shared-history.h"

enum {
    SERIES_NUMBERS_OF_USER = 256, /* processes of one name and user that are followed */
    SERIES_NUMBERS_MAX = 16 * SERIES_NUMBERS_OF_USER,
};

/*
 * The series of FOUND, which none of TAKEN (a set of names) is.
 *
 * Of a process that a source names: that of the source. If it may be numbered, SERIES, SERIES/2...: the one that has
 * samples of this process, else the first that is free and has always been its owner's (history_claim()), so that a
 * service that is reloaded goes on in the series it had. NULL with ERROR: too many are in use, or the history cannot be
 * written.
 *
 * Of another: the name of the process, or one like it, that has always been this user's and unit's: no user can write
 * into another's samples by taking his name while he is away.
 */
char *series_name_choose(SharedHistory *history, GHashTable *taken, const ScanFound *found, GError **error);

#endif
