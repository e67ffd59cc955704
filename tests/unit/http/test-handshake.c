/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/thread-time.h"
#include "http/handshake.h"

#include <gnutls/abstract.h>
#include <gnutls/x509.h>
#include <time.h>

/* Credentials with KEY and a certificate of it. */
static gnutls_certificate_credentials_t
certify(gnutls_x509_privkey_t key)
{
    gnutls_certificate_credentials_t credentials;
    gnutls_x509_crt_t certificate;
    const time_t now = time(NULL);
    g_assert_cmpint(gnutls_x509_crt_init(&certificate), ==, 0);
    g_assert_cmpint(gnutls_x509_crt_set_version(certificate, 3), ==, 0);
    g_assert_cmpint(gnutls_x509_crt_set_serial(certificate, "1", 1), ==, 0);
    g_assert_cmpint(gnutls_x509_crt_set_dn(certificate, "CN=test", NULL), ==, 0);
    g_assert_cmpint(gnutls_x509_crt_set_activation_time(certificate, now), ==, 0);
    g_assert_cmpint(gnutls_x509_crt_set_expiration_time(certificate, now + 3600), ==, 0);
    g_assert_cmpint(gnutls_x509_crt_set_key(certificate, key), ==, 0);
    g_assert_cmpint(gnutls_x509_crt_sign2(certificate, certificate, key, GNUTLS_DIG_SHA256, 0), ==, 0);
    g_assert_cmpint(gnutls_certificate_allocate_credentials(&credentials), ==, 0);
    g_assert_cmpint(gnutls_certificate_set_x509_key(credentials, &certificate, 1, key), ==, 0);
    gnutls_x509_crt_deinit(certificate);
    return credentials;
}

static gint64
signature_us(gnutls_x509_privkey_t key)
{
    unsigned char bytes[] = "text";
    const gnutls_datum_t text = {bytes, sizeof(bytes)};
    gnutls_privkey_t signer;
    gint64 least = G_MAXINT64;
    g_assert_cmpint(gnutls_privkey_init(&signer), ==, 0);
    g_assert_cmpint(gnutls_privkey_import_x509(signer, key, 0), ==, 0);
    for (int i = 0; i < 5; i++) {
        gnutls_datum_t signature = {0};
        const gint64 begun_us = thread_time_us();
        g_assert_cmpint(gnutls_privkey_sign_data(signer, GNUTLS_DIG_SHA256, 0, &text, &signature), ==, 0);
        least = MIN(least, thread_time_us() - begun_us);
        gnutls_free(signature.data);
    }
    gnutls_privkey_deinit(signer);
    return least;
}

/* With a fast key, the key exchange costs most. */
static void
test_costs_more_than_its_signature(void)
{
    gnutls_x509_privkey_t key;
    g_assert_cmpint(gnutls_x509_privkey_init(&key), ==, 0);
    g_assert_cmpint(
        gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0), ==, 0);
    gnutls_certificate_credentials_t credentials = certify(key);
    const gint64 handshake = handshake_measure_us(credentials), signature = signature_us(key);

    g_test_message("a handshake %" G_GINT64_FORMAT " us, a signature %" G_GINT64_FORMAT " us", handshake, signature);
    g_assert_cmpint(handshake, >, 2 * signature);
    g_assert_cmpint(handshake, <, 100 * G_USEC_PER_SEC / 1000);
    gnutls_certificate_free_credentials(credentials);
    gnutls_x509_privkey_deinit(key);
}

static void
test_without_a_key(void)
{
    gnutls_certificate_credentials_t credentials;
    g_assert_cmpint(gnutls_certificate_allocate_credentials(&credentials), ==, 0);
    g_assert_cmpint(handshake_measure_us(credentials), ==, 0);
    gnutls_certificate_free_credentials(credentials);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/http/handshake/costs-more-than-its-signature", test_costs_more_than_its_signature);
    g_test_add_func("/http/handshake/without-a-key", test_without_a_key);
    return g_test_run();
}
