/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Root's server in two processes: a small one that stays root (broker/broker.h), and the server itself, which becomes
 * another user before it accepts requests.
 */
#ifndef JESCOPE_CLI_SERVE_SPLIT_H
#define JESCOPE_CLI_SERVE_SPLIT_H

#include "broker/broker.h"
#include "cli/serve-privileges.h"
#include "service/push.h"

#include <sys/types.h>

#define SERVE_SPLIT_USER "jescope" /* the default user of the server, if it exists */

typedef struct {
    char name[64];
    uid_t uid;
    gid_t gid;
} ServeUser;

/* Determines the user of root's server: NAME, or the default (NULL). uid 0: it remains one process. */
gboolean serve_split_user(const char *name, ServeUser *user, GError **error);

/* Starts the process that remains root; must be called before there are threads. Returns its socket, -1 on error. */
int serve_split_begin(const BrokerSettings *settings, ServeNeeds needs, GError **error);

/* The files that the server writes; NULL: none of this kind. */
typedef struct {
    const char *history;     /* a file */
    const char *blackbox;    /* a directory */
    const GPtrArray *pushes; /* of ServicePush, each with the directory of its queue */
} ServePaths;

/* Becomes USER, without any capability, and reaches targets through SOCKET from now on. USER becomes the owner of the
 * history file, of its directory if it holds nothing else, and of the directories of the black box and of queues if
 * they are empty. Must be called before there are threads. */
gboolean serve_split_finish(int socket, const ServeUser *user, const ServePaths *paths, GError **error);

#endif
