/* SPDX-License-Identifier: Apache-2.0 */
/* A section [push] of the configuration: where dumps of targets are pushed, which, and how often (docs/push.md). */
#ifndef JESCOPE_SERVICE_PUSH_H
#define JESCOPE_SERVICE_PUSH_H

#include "export/delivery.h"
#include "export/schedule.h"

/* Strings may be NULL unless it says otherwise; vectors end with NULL, and may be NULL. */
typedef struct {
    char *section;      /* "push", "push NAME"; not NULL */
    char *to;           /* a URL; not NULL */
    char **targets;     /* names or pids of those that are pushed; empty: all */
    char *service;      /* of all of them; NULL: the name of each program's file */
    char *host;         /* not NULL */
    char **labels;      /* "NAME=VALUE" */
    char **variables;   /* "NAME=VARIABLE" of the environment */
    char *queue;        /* the directory; not NULL */
    guint64 queue_size; /* bytes */
    char *token_file, *ca_file, *cert_file, *key_file;
    Schedule schedule; /* its host is HOST */
} ServicePush;

void service_push_free(ServicePush *push);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ServicePush, service_push_free)

/* Whether nothing is to be set up again where OTHER takes the place of PUSH. What is in files may have changed: two
 * that name one are never equal. */
gboolean service_push_equal(const ServicePush *push, const ServicePush *other);

/* Of one destination. */
typedef struct {
    char *to;
    guint64 rounds, dumps, failures, missed; /* as docs/prometheus.md; since the start */
    DeliveryFigures delivery;
    QueueFigures queue; /* of all the time that the queue exists */
} ServicePushFigures;

#endif
