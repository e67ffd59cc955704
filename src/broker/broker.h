/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of `jescope serve` that stays root: it finds targets, connects to them, opens files that only root may open,
 * and starts work that needs a target's privileges, for one unprivileged process that was started together with it.
 * docs/decisions/0012-root-server.md describes it and the remaining risk if the server is compromised.
 */
#ifndef JESCOPE_BROKER_BROKER_H
#define JESCOPE_BROKER_BROKER_H

#include <glib.h>

/* The operator's permissions. Vectors end with NULL. */
typedef struct {
    char **targets;   /* like ServiceOptions.targets: may be opened in any way; empty: none, agents are discovered */
    char **files;     /* that may be read */
    char **variables; /* of targets' environments that may be read */
    char **sockets;   /* that may be removed */
    gboolean source;  /* reports may show lines of source files */
} BrokerPolicy;

void broker_policy_free(BrokerPolicy *policy);

/* Reads the settings; called again before each requested file. NULL if they are invalid; the previous ones then stay in
 * force. */
typedef BrokerPolicy *BrokerReadPolicy(gpointer data);

typedef struct {
    BrokerReadPolicy *read;
    gpointer data;
} BrokerSettings;

/* Answers requests at SOCKET until its other end is closed. In a process of one thread, which is to end afterwards. */
void broker_run(int socket, const BrokerSettings *settings);

#endif
