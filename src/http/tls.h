/* SPDX-License-Identifier: Apache-2.0 */
/* A certificate with its key, read from files and checked. */
#ifndef JESCOPE_HTTP_TLS_H
#define JESCOPE_HTTP_TLS_H

#include <glib.h>

typedef struct {
    char *certificate; /* PEM, with the chain */
    char *key;         /* PEM */
    gint64 cost_us;    /* processor time of a handshake, as measured with the key */
} Tls;

/* Fails if a file cannot be read, others can read the key, or the key does not match the certificate. */
Tls *tls_read(const char *certificate_path, const char *key_path, GError **error);
void tls_free(Tls *tls);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Tls, tls_free)

Tls *tls_copy(const Tls *tls);
gboolean tls_equal(const Tls *a, const Tls *b);

#endif
