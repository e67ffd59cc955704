/* SPDX-License-Identifier: Apache-2.0 */
/* What a client may choose in a TLS handshake, and what that costs the server. */
#ifndef JESCOPE_HTTP_HANDSHAKE_H
#define JESCOPE_HTTP_HANDSHAKE_H

#include <glib.h>
#include <gnutls/gnutls.h>

/* The client chooses the group, so only groups that cost the server little: with FFDHE8192 a handshake takes a hundred
 * times as long as with these. The key exchanges of TLS 1.2 are those with these groups. */
#define HANDSHAKE_PRIORITIES                                                                                           \
    "NORMAL:-VERS-TLS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-KX-ALL:+ECDHE-ECDSA:+ECDHE-RSA"                                   \
    ":-GROUP-ALL:+GROUP-X25519:+GROUP-SECP256R1:+GROUP-SECP384R1"

/* The processor time that a handshake with CREDENTIALS takes the server with the group that takes most, as measured
 * with a client in this process. 0: none succeeds. */
gint64 handshake_measure_us(gnutls_certificate_credentials_t credentials);

#endif
