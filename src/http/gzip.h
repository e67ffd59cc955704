/* SPDX-License-Identifier: Apache-2.0 */
/* Compression of bodies. Thread-safe. */
#ifndef JESCOPE_HTTP_GZIP_H
#define JESCOPE_HTTP_GZIP_H

#include <gio/gio.h>

/* Whether a client with this Accept-Encoding header (NULL: none) takes gzip, RFC 9110 section 12.5.3. */
gboolean gzip_is_accepted(const char *accept);

/* Whether compression pays: for text above a minimum size and up to 1 GiB. */
gboolean gzip_pays(const char *content_type, guint64 size);

GBytes *gzip_bytes(GBytes *plain);

/* Called regularly on the compressing thread; FALSE cancels the compression. */
typedef struct {
    gboolean (*is_wanted)(gpointer data);
    gpointer data;
} GzipWish;

/* Compresses SIZE bytes of FD from offset 0, independent of its file offset, into a memfd of *PACKED bytes. -1 with
 * errno, which is ECANCELED if WISH (may be NULL) cancelled it. */
int gzip_descriptor(int fd, guint64 size, const GzipWish *wish, guint64 *packed);

#endif
