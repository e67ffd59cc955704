/* SPDX-License-Identifier: Apache-2.0 */
/* Requests about no target whose answer takes long, and is made on a thread of the service. */
#ifndef JESCOPE_SITE_OFFLOAD_H
#define JESCOPE_SITE_OFFLOAD_H

#include "site/site.h"

typedef struct {
    void (*answer)(gpointer data, RouteReply *reply); /* on a thread; REPLY is empty */
    gpointer data;
    GDestroyNotify free_data; /* in the main context, after it, or where it is refused */
    gboolean is_report;       /* a child makes the answer */
} Offload;

/* Answers EXCHANGE later, with 429 if it is one too many of its peer, or too many reports are being made. */
void offload(Site *site, Exchange *exchange, const Offload *work);

#endif
