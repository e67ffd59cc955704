/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a program as if it ran in our place. */
#ifndef JESCOPE_RUN_SUPERVISE_H
#define JESCOPE_RUN_SUPERVISE_H

#include <glib.h>
#include <sys/types.h>

enum {
    SUPERVISE_NOT_EXECUTABLE = 126, /* as shells and env(1) have it */
    SUPERVISE_NOT_FOUND = 127,
    SUPERVISE_SIGNAL_BASE = 128,
};

/* Callbacks while the program runs. Each may be NULL. Signals are blocked then. */
typedef struct {
    void (*started)(pid_t program, gpointer data);
    void (*ended)(gpointer data);
    gpointer data;
} SuperviseHooks;

/*
 * Starts PATH with ARGV and ENVIRONMENT in our process group, so that it keeps the terminal and its signals reach it
 * directly; forwards the signals that others send to us, stops when it stops (and lets it continue), and reaps whatever
 * else becomes our child (as PID 1). Returns its exit status, 128+N if signal N ended it; 126 or 127 with
 * G_SPAWN_ERROR if it could not be started; then no hook is called. Leaves signals blocked: the caller is about to
 * exit.
 */
int supervise(const char *path, char **argv, char **environment, const SuperviseHooks *hooks, GError **error);

#endif
