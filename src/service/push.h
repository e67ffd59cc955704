/* SPDX-License-Identifier: Apache-2.0 */
/* A section [push] of the configuration: which dumps are pushed where, and how often (docs/push.md). */
#ifndef JESCOPE_SERVICE_PUSH_H
#define JESCOPE_SERVICE_PUSH_H

#include "export/delivery.h"
#include "export/schedule.h"

/* Strings may be NULL unless noted otherwise; vectors are NULL-terminated and may be NULL. */
typedef struct {
    char *section;      /* "push", "push NAME"; not NULL */
    char *to;           /* a URL; not NULL */
    char **targets;     /* names or pids of the targets to push; empty: all */
    char *service;      /* the service of all targets; NULL: the file name of each program */
    char *host;         /* not NULL */
    char **labels;      /* "NAME=VALUE" */
    char **variables;   /* "NAME=VARIABLE" of the environment */
    char *queue;        /* the directory; not NULL */
    guint64 queue_size; /* bytes */
    char *token_file, *ca_file, *cert_file, *key_file;
    Schedule schedule; /* schedule.host is HOST */
} ServicePush;

void service_push_free(ServicePush *push);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ServicePush, service_push_free)

/* Whether PUSH can continue unchanged if OTHER replaces it. Sections that name files are never equal, since the content
 * may have changed. */
gboolean service_push_equal(const ServicePush *push, const ServicePush *other);

/* The figures of one destination. */
typedef struct {
    char *to;
    guint64 rounds, dumps, failures, missed; /* as in docs/prometheus.md; since the start */
    DeliveryFigures delivery;
    QueueFigures queue; /* counters cover the whole life of the queue */
} ServicePushFigures;

#endif
