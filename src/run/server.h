/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `jescope serve` for a program that `run` started. This is a separate process, so that it cannot interfere with the
 * program's signals or exit status.
 */
#ifndef JESCOPE_RUN_SERVER_H
#define JESCOPE_RUN_SERVER_H

#include "http/address.h"

#include <glib.h>
#include <sys/types.h>

typedef struct RunServer RunServer;

/* Already listens on ADDRESSES (of Address), so that an unusable one fails before the program starts. CONFIG is a
 * configuration file for serve, or NULL. */
RunServer *run_server_new(const GArray *addresses, const char *config, GError **error);

/* Also removes the unix sockets. */
void run_server_free(RunServer *server);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RunServer, run_server_free)

/* Starts the server process for PROGRAM. */
gboolean run_server_start(RunServer *server, pid_t program, GError **error);

/* Ends the server process within RUN_SERVER_STOP_MS. */
void run_server_stop(RunServer *server);

enum {
    RUN_SERVER_STOP_MS = 3000,
};

#endif
