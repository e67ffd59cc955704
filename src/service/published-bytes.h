/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the bytes on disk of published files (routes/publish.h), for all targets of a user. */
#ifndef JESCOPE_SERVICE_PUBLISHED_BYTES_H
#define JESCOPE_SERVICE_PUBLISHED_BYTES_H

#include <glib.h>
#include <sys/types.h>

enum {
    PUBLISHED_BYTES_MAX = 1 << 30, /* per user */
};

/* Replaces BEFORE with NOW bytes in the total of USER. FALSE without a change if the total would exceed the limit.
 * Thread-safe. */
gboolean published_bytes_change(uid_t user, guint64 before, guint64 now);

#endif
