/* SPDX-License-Identifier: Apache-2.0 */
/* Slow requests that are not about a target, answered on a thread of the service. */
#ifndef JESCOPE_SITE_OFFLOAD_H
#define JESCOPE_SITE_OFFLOAD_H

#include "site/site.h"

typedef struct {
    /* Called on a thread; REPLY is empty. LEFT is the argument of offload_is_wanted(). */
    void (*answer)(gpointer data, gint *left, RouteReply *reply);
    gpointer data;
    GDestroyNotify free_data; /* called in the main context, afterwards, or if it is rejected */
    OffloadKind kind;
} Offload;

/* Answers EXCHANGE later, or with 429 if its peer has too many requests of this kind, or if those of others have taken
 * all threads for too long. Peers take turns; root and our own user on this machine do not wait. */
void offload(Site *site, Exchange *exchange, const Offload *work);

/* Whether the client of LEFT is still connected; RenderSetup.is_wanted. */
bool offload_is_wanted(void *left);

/* Sets up, and clears, the turns of SITE. */
void offload_begin(Site *site);
void offload_end(Site *site);

#endif
