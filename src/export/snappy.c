/* SPDX-License-Identifier: Apache-2.0 */
#include "export/snappy.h"

#include "export/sink.h"

#include <dlfcn.h>
#include <snappy-c.h>

static struct {
    __typeof__(snappy_max_compressed_length) *bound;
    __typeof__(snappy_compress) *compress;
} library;

static gboolean
load(void)
{
    void *opened = dlopen("libsnappy.so.1", RTLD_NOW | RTLD_LOCAL);
    if (opened == NULL)
        return FALSE;
    library.bound = (__typeof__(library.bound))dlsym(opened, "snappy_max_compressed_length");
    library.compress = (__typeof__(library.compress))dlsym(opened, "snappy_compress");
    return library.bound != NULL && library.compress != NULL;
}

gboolean
snappy_load(GError **error)
{
    static gsize state;
    if (g_once_init_enter(&state))
        g_once_init_leave(&state, load() ? 1 : 2);
    if (state == 1)
        return TRUE;
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_DESTINATION,
                "remote write needs libsnappy, which cannot be loaded; install the package libsnappy1v5 (Debian, "
                "Ubuntu) or snappy (Fedora, Arch, Alpine)");
    return FALSE;
}

GBytes *
snappy_block(const GByteArray *bytes)
{
    size_t length = library.bound(bytes->len);
    char *block = g_malloc(length);
    if (library.compress((const char *)bytes->data, bytes->len, block, &length) == SNAPPY_OK)
        return g_bytes_new_take(block, length);
    g_free(block);
    return NULL;
}
