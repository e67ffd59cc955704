/* SPDX-License-Identifier: Apache-2.0 */
/* The process we are linked into, as routes want a target. */
#ifndef JESCOPE_EMBED_HOST_H
#define JESCOPE_EMBED_HOST_H

#include "routes/routes.h"

/* Thread safe. */
extern const RouteHost host_self;

/* The program that renders: NULL for "jescope" on PATH. Copied. False: it is too long. */
bool host_set_program(const char *program);

/* In a forked child: forgets what the parent has published. */
void host_forget(void);

#endif
