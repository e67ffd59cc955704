/* SPDX-License-Identifier: Apache-2.0 */
/* Maps keys found by readers to metrics: a hash table of the text and json columns of metrics.def. */
#ifndef JESCOPE_STATS_KEYS_H
#define JESCOPE_STATS_KEYS_H

#include "stats/stats.h"

typedef enum {
    KEYS_TEXT,
    KEYS_JSON,
} KeysOf;

/* The metric of SCOPE that KEY names, or -1. Thread-safe. */
int keys_find(KeysOf of, StatsScope scope, const char *key, gsize length);

#endif
