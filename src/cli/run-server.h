/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `jescope serve` beside a program that `run` started. It is a process of its own: what it does cannot keep a signal
 * from the program or its exit status from whoever waits for it.
 */
#ifndef JESCOPE_CLI_RUN_SERVER_H
#define JESCOPE_CLI_RUN_SERVER_H

#include <glib.h>
#include <sys/types.h>

typedef struct RunServer RunServer;

/* Listens on ADDRESSES already, so that what is wrong with them shows before the program starts. CONFIG is a file for
 * serve, or NULL. */
RunServer *run_server_new(const char *const *addresses, const char *config, GError **error);

/* Removes unix sockets. */
void run_server_free(RunServer *server);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RunServer, run_server_free)

/* Serves PROGRAM. What goes wrong is told on stderr, and the program runs on. */
void run_server_start(pid_t program, gpointer server);

/* Ends it within RUN_SERVER_STOP_MS. */
void run_server_stop(gpointer server);

enum {
    RUN_SERVER_STOP_MS = 3000,
};

#endif
