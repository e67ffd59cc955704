/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches one target until it ends: reads its control group at short intervals, takes snapshots when they are due
 * (pacer.h), keeps them (keeper.h), and notes how it has ended.
 */
#ifndef JESCOPE_BLACKBOX_WATCH_H
#define JESCOPE_BLACKBOX_WATCH_H

#include "blackbox/observer.h"

/* What happens, for a log; strings are borrowed. Called on the thread of the watch. */
typedef struct {
    void (*kept)(const Target *target, const BlackboxSnapshot *snapshot, gpointer data); /* may be NULL */
    void (*ended)(const Target *target, const char *what, gpointer data);     /* blackbox_describe_end(); may be NULL */
    void (*failed)(const Target *target, const GError *error, gpointer data); /* a snapshot; the watch goes on */
    gpointer data;
} WatchTells;

/* A snapshot that another thread asks for and waits for. */
typedef struct WatchCall WatchCall;

WatchCall *watch_call_new(void);
void watch_call_free(WatchCall *call);

/* Has the watch with CALL take a snapshot, if the control group of its process is GROUP or below it, and waits for it,
 * for MS at most. From any thread, one at a time for each call. */
void watch_call_before_kill(WatchCall *call, const char *group, guint ms);

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
