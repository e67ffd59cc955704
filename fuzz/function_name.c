/* SPDX-License-Identifier: Apache-2.0 */
/* The name of a function from a hostile executable, dump or perf map. */
#include "report/function-name.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A name may become longer only by an ellipsis. */
static void
check_unclone(const char *name)
{
    g_autofree char *once = function_name_unclone(name);
    g_assert_cmpuint(strlen(once), <=, strlen(name));
}

static void
check_plain(const char *name)
{
    g_autofree char *plain = function_name_plain(name);
    g_assert_cmpuint(strlen(plain), <=, strlen(name));
    const char *last = function_name_last(plain);
    g_assert_true(last >= plain && last <= plain + strlen(plain));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *name = g_strndup((const char *)data, size);
    check_plain(name);
    check_unclone(name);
    g_free(function_name_elide(name));
    return 0;
}
