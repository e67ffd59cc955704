/* SPDX-License-Identifier: Apache-2.0 */
/* A mangled name: each is demangled within its bounds of time and length, or stays as it is. */
#include "symbolize/demangle.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *linkage = g_strndup((const char *)data, size);
    g_autofree char *plain = demangle(linkage);
    g_assert_true(plain == NULL || strlen(plain) < DEMANGLE_MAX_PLAIN);
    g_assert_true(plain == NULL || linkage[0] == '_');
    return 0;
}
