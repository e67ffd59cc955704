/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies compressed for those who accept it. Thread-safe. */
#ifndef JESCOPE_HTTP_GZIP_H
#define JESCOPE_HTTP_GZIP_H

#include <gio/gio.h>

/* Whether a client with this Accept-Encoding header (NULL: none) takes gzip, RFC 9110 section 12.5.3. */
gboolean gzip_is_accepted(const char *accept);

/* Whether it pays: a body of text of some size. */
gboolean gzip_pays(const char *content_type, guint64 size);

GBytes *gzip_bytes(GBytes *plain);

/* The SIZE bytes of FD (from offset 0 on; its own offset does not matter), as a memfd of *packed bytes; -1 with errno.
 */
int gzip_descriptor(int fd, guint64 size, guint64 *packed);

#endif
