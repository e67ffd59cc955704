/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that are published (routes/publish.h) of all targets of a user take on disk. */
#ifndef JESCOPE_SERVICE_PUBLISHED_BYTES_H
#define JESCOPE_SERVICE_PUBLISHED_BYTES_H

#include <glib.h>
#include <sys/types.h>

enum {
    PUBLISHED_BYTES_MAX = 1 << 30, /* of one user */
};

/* Instead of BEFORE bytes of USER there are NOW. FALSE, and nothing is changed: that would be too many. On any thread.
 */
gboolean published_bytes_change(uid_t user, guint64 before, guint64 now);

#endif
