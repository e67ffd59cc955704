/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who makes room where there is too little for all: the account (account.h) that has most loses its oldest, so that
 * no account displaces what those with less have. Pure.
 */
#ifndef JESCOPE_CONFINE_EVICTION_H
#define JESCOPE_CONFINE_EVICTION_H

#include <glib.h>

typedef struct {
    guint64 number; /* for the caller */
    guint64 account;
    guint64 bytes;
    gboolean leaves;
} Evictable;

typedef struct {
    guint64 bytes;
    guint entries;
} EvictionLimits;

/* Marks those of HELD, N from the oldest to the newest, that leave for ADDED, which counts towards its account (NULL:
 * what is added is in HELD). While there are too many entries, the account with most entries loses its oldest one;
 * then, while there are too many bytes, the account with most bytes. FALSE: that would be ADDED itself; the marks mean
 * nothing then. */
gboolean eviction_choose(Evictable *held, guint n, const Evictable *added, const EvictionLimits *limits);

#endif
