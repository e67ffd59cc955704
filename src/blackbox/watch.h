/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches one target until it ends: reads its control group at short intervals, takes snapshots when they are due
 * (pacer.h), keeps them (keeper.h), and notes how it has ended.
 */
#ifndef JESCOPE_BLACKBOX_WATCH_H
#define JESCOPE_BLACKBOX_WATCH_H

#include "blackbox/call.h"
#include "blackbox/observer.h"

/* What happens, for a log; strings are borrowed. Called on the thread of the watch. */
typedef struct {
    void (*kept)(const Target *target, const BlackboxSnapshot *snapshot, gpointer data); /* may be NULL */
    void (*ended)(const Target *target, const char *what, gpointer data);     /* blackbox_describe_end(); may be NULL */
    void (*failed)(const Target *target, const GError *error, gpointer data); /* a snapshot; the watch goes on */
    gpointer data;
} WatchTells;

typedef struct {
    ObserverOptions observer;
    int stop;        /* readable: the watch is to end */
    WatchCall *call; /* NULL: none */
    WatchTells tells;
} WatchOptions;

typedef enum {
    WATCH_ENDED, /* the process has */
    WATCH_STOPPED,
    WATCH_FAILED, /* it could not begin */
} WatchResult;

/* Blocks. TARGET is of a process of this machine, and the calling thread's until this returns. */
WatchResult watch_run(Target *target, const WatchOptions *options, GError **error);

#endif
