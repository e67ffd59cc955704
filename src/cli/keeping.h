/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `collect` and `serve` for the retention of statistics. */
#ifndef JESCOPE_CLI_KEEPING_H
#define JESCOPE_CLI_KEEPING_H

#include "history/history.h"

enum {
    KEEPING_MAX_DAYS = 36500,
};

/* Each fails with a CLI_ERROR_USAGE that names the option, leaving its out-parameter untouched. NULL as text means the
 * default. */

/* --every, by default 10s. */
gboolean keeping_parse_every(const char *text, guint64 *every_us, GError **error);

/* --detail: a word, by default "arenas". */
gboolean keeping_parse_detail(const char *text, HistoryParts *parts, GError **error);

typedef struct {
    const char *keep;     /* --keep */
    const char *thin;     /* --thin */
    const char *max_size; /* --max-size */
} KeepingLimits;

/* Unlimited by default. */
gboolean keeping_parse_limits(const KeepingLimits *limits, HistoryRetention *retention, GError **error);

#endif
