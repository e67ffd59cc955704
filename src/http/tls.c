/* SPDX-License-Identifier: Apache-2.0 */
#include "http/tls.h"

#include "http/handshake.h"

#include "target/reach.h"

#include <errno.h>
#include <gio/gio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PEM_MAX = 1024 * 1024,
    COST_LEAST_US = 1000, /* of a connection with a handshake of a fast key */
};

typedef enum {
    PEM_CERTIFICATE,
    PEM_KEY,
} PemKind;

static gboolean
check_file(int fd, const char *path, PemKind kind, GError **error)
{
    struct stat facts;
    if (fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_size > PEM_MAX) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "'%s' is not a regular file, or larger than any PEM file",
                    path);
        return FALSE;
    }
    if (kind != PEM_KEY || (facts.st_mode & 0007) == 0)
        return TRUE;
    g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_PERM, "every user can read the key '%s'; chmod 600 it", path);
    return FALSE;
}

/* The contents of FD, NUL-terminated. */
static char *
read_all(int fd)
{
    char *text = g_malloc(PEM_MAX + 1);
    gsize length = 0;
    ssize_t got;
    while (length < PEM_MAX && (got = read(fd, text + length, PEM_MAX - length)) > 0)
        length += (gsize)got;
    text[length] = '\0';
    return g_realloc(text, length + 1);
}

static char *
read_pem(const char *path, PemKind kind, GError **error)
{
    int fd = reach_open_setting(path);
    if (fd < 0) {
        int code = errno;
        g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(code), "cannot open '%s': %s", path,
                    g_strerror(code));
        return NULL;
    }
    char *text = check_file(fd, path, kind, error) ? read_all(fd) : NULL;
    close(fd);
    return text;
}

/* The credentials of TLS, which are invalid if its key does not match its certificate. */
static int
load(const Tls *tls, gnutls_certificate_credentials_t *credentials)
{
    gnutls_datum_t certificate = {(unsigned char *)tls->certificate, (unsigned)strlen(tls->certificate)};
    gnutls_datum_t key = {(unsigned char *)tls->key, (unsigned)strlen(tls->key)};
    int code = gnutls_certificate_allocate_credentials(credentials);
    if (code != GNUTLS_E_SUCCESS)
        return code;
    code = gnutls_certificate_set_x509_key_mem(*credentials, &certificate, &key, GNUTLS_X509_FMT_PEM);
    if (code != GNUTLS_E_SUCCESS)
        gnutls_certificate_free_credentials(*credentials);
    return code;
}

/* Checks the files of TLS, and sets what its handshakes cost. */
static gboolean
check_pair(Tls *tls, const char *certificate_path, const char *key_path, GError **error)
{
    gnutls_certificate_credentials_t credentials;
    const int code = load(tls, &credentials);
    if (code != GNUTLS_E_SUCCESS) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "cannot use the certificate '%s' with the key '%s': %s",
                    certificate_path, key_path, gnutls_strerror(code));
        return FALSE;
    }
    tls->cost_us = MAX(handshake_measure_us(credentials), COST_LEAST_US);
    gnutls_certificate_free_credentials(credentials);
    return TRUE;
}

Tls *
tls_read(const char *certificate_path, const char *key_path, GError **error)
{
    g_autoptr(Tls) tls = g_new0(Tls, 1);
    tls->certificate = read_pem(certificate_path, PEM_CERTIFICATE, error);
    if (tls->certificate == NULL)
        return NULL;
    tls->key = read_pem(key_path, PEM_KEY, error);
    if (tls->key == NULL || !check_pair(tls, certificate_path, key_path, error))
        return NULL;
    return g_steal_pointer(&tls);
}

void
tls_free(Tls *tls)
{
    if (tls->key != NULL)
        explicit_bzero(tls->key, strlen(tls->key));
    g_free(tls->key);
    g_free(tls->certificate);
    g_free(tls);
}

gboolean
tls_equal(const Tls *a, const Tls *b)
{
    return strcmp(a->certificate, b->certificate) == 0 && strcmp(a->key, b->key) == 0;
}

Tls *
tls_copy(const Tls *tls)
{
    Tls *copy = g_new0(Tls, 1);
    copy->certificate = g_strdup(tls->certificate);
    copy->key = g_strdup(tls->key);
    copy->cost_us = tls->cost_us;
    return copy;
}
