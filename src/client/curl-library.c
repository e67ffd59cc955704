/* SPDX-License-Identifier: Apache-2.0 */
#include "client/curl-library.h"

#include "target/target.h"

#include <dlfcn.h>

CurlLibrary curl_library;

/* The one that Debian's other packages use, then the usual name. */
static const char *const libraries[] = {"libcurl-gnutls.so.4", "libcurl.so.4"};

static gboolean
resolve(void *library)
{
#define RESOLVE(function)                                                                                              \
    curl_library.function = (__typeof__(function) *)dlsym(library, #function);                                         \
    if (curl_library.function == NULL)                                                                                 \
        return FALSE;
    CURL_FUNCTIONS(RESOLVE)
    return curl_library.curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
}

static gboolean
load(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(libraries); i++) {
        void *library = dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL);
        if (library != NULL && resolve(library))
            return TRUE;
    }
    return FALSE;
}

gboolean
curl_library_load(const char *what, GError **error)
{
    static gsize state;
    if (g_once_init_enter(&state))
        g_once_init_leave(&state, load() ? 1 : 2);
    if (state == 1)
        return TRUE;
    g_set_error(error, TARGET_ERROR, OUTCOME_SYSTEM,
                "%s need libcurl, which cannot be loaded; install the package libcurl3-gnutls (Debian, Ubuntu) or "
                "libcurl (Fedora, Arch, Alpine)",
                what);
    return FALSE;
}
