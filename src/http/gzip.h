/* SPDX-License-Identifier: Apache-2.0 */
/* Compression of bodies. Thread-safe. */
#ifndef JESCOPE_HTTP_GZIP_H
#define JESCOPE_HTTP_GZIP_H

#include <gio/gio.h>

/* Whether a client with this Accept-Encoding header (NULL: none) takes gzip, RFC 9110 section 12.5.3. */
gboolean gzip_is_accepted(const char *accept);

/* Whether it pays: a body of text of some size, but not of more than 1 GiB. */
gboolean gzip_pays(const char *content_type, guint64 size);

GBytes *gzip_bytes(GBytes *plain);

/* Asked now and then, on the thread that packs: FALSE ends it. */
typedef struct {
    gboolean (*is_wanted)(gpointer data);
    gpointer data;
} GzipWish;

/* The SIZE bytes of FD (from offset 0 on; its own offset does not matter), as a memfd of *packed bytes; -1 with errno,
 * ECANCELED if WISH (NULL: it is wanted in any case) said so. */
int gzip_descriptor(int fd, guint64 size, const GzipWish *wish, guint64 *packed);

#endif
