/* SPDX-License-Identifier: Apache-2.0 */
/* The processes that are visible to a client: those that one user could reach, all, or none. */
#ifndef JESCOPE_TARGET_VIEWER_H
#define JESCOPE_TARGET_VIEWER_H

#include <glib.h>

/* A user id, or one of these. */
typedef gint64 Viewer;

#define VIEWER_ALL  ((Viewer)-1)
#define VIEWER_NONE ((Viewer)-2)

#endif
