/* SPDX-License-Identifier: Apache-2.0 */
/* The RouteHost for the process that the library is linked into. */
#ifndef JESCOPE_EMBED_HOST_H
#define JESCOPE_EMBED_HOST_H

#include "routes/routes.h"

/* Thread-safe. */
extern const RouteHost host_self;

/* Sets the program for rendering, which is copied; NULL: "jescope" on PATH. False if it is too long. */
bool host_set_program(const char *program);

/* To be called in a forked child: forgets the parent's published files. */
void host_forget(void);

#endif
