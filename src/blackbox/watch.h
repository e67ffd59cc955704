/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches a target until it ends: reads its control group at short intervals, takes snapshots when they are due
 * (pacer.h), keeps them (keeper.h), and records how it ended.
 */
#ifndef JESCOPE_BLACKBOX_WATCH_H
#define JESCOPE_BLACKBOX_WATCH_H

#include "blackbox/call.h"
#include "blackbox/observer.h"

/* Callbacks for a log, on the thread of the watch. Strings are borrowed. */
typedef struct {
    void (*kept)(const Target *target, const BlackboxSnapshot *snapshot, gpointer data); /* may be NULL */
    void (*ended)(const Target *target, const char *what, gpointer data);     /* blackbox_describe_end(); may be NULL */
    void (*failed)(const Target *target, const GError *error, gpointer data); /* of a snapshot; may be NULL */
    gpointer data;
} WatchTells;

typedef struct {
    ObserverOptions observer;
    int stop;        /* a descriptor; readable: the watch should end */
    WatchCall *call; /* NULL: none */
    WatchTells tells;
} WatchOptions;

typedef enum {
    WATCH_ENDED, /* the process has ended */
    WATCH_STOPPED,
    WATCH_FAILED, /* the watch could not begin */
} WatchResult;

/* Blocks. TARGET must be a process of this machine, and belongs to the calling thread until this returns. */
WatchResult watch_run(Target *target, const WatchOptions *options, GError **error);

#endif
