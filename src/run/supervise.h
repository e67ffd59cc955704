/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a program as if it had replaced this process. */
#ifndef JESCOPE_RUN_SUPERVISE_H
#define JESCOPE_RUN_SUPERVISE_H

#include <glib.h>
#include <sys/types.h>

enum {
    SUPERVISE_NOT_EXECUTABLE = 126, /* these as in shells and env(1) */
    SUPERVISE_NOT_FOUND = 127,
    SUPERVISE_SIGNAL_BASE = 128,
};

/* Callbacks at the start and end of the program, called with signals blocked. Each may be NULL. */
typedef struct {
    void (*started)(pid_t program, gpointer data);
    void (*ended)(gpointer data);
    gpointer data;
} SuperviseHooks;

/*
 * Starts PATH with ARGV and ENVIRONMENT in this process group, so that it keeps the terminal and receives its signals
 * directly. Forwards signals that others send to this process, stops and continues with the program, and reaps all
 * other children (as PID 1). Returns the exit status, or 128+N if signal N ended the program; if it could not be
 * started, 126 or 127 with G_SPAWN_ERROR, without calling a hook. Signals stay blocked: the caller is expected to exit.
 */
int supervise(const char *path, char **argv, char **environment, const SuperviseHooks *hooks, GError **error);

#endif
