/* SPDX-License-Identifier: Apache-2.0 */
/* Slow requests that are not about a target, answered on a thread of the service. */
#ifndef JESCOPE_SITE_OFFLOAD_H
#define JESCOPE_SITE_OFFLOAD_H

#include "site/site.h"

typedef struct {
    void (*answer)(gpointer data, RouteReply *reply); /* called on a thread; REPLY is empty */
    gpointer data;
    GDestroyNotify free_data; /* called in the main context, afterwards, or if it is rejected */
    gboolean is_report;       /* the answer is made by a child */
} Offload;

/* Answers EXCHANGE later, or with 429 if its peer has too many requests, or too many reports are being made. */
void offload(Site *site, Exchange *exchange, const Offload *work);

#endif
