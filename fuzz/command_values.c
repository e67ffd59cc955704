/* SPDX-License-Identifier: Apache-2.0 */
/* Values on the command line and in MALLOC_CONF. */
#include "cli/duration.h"
#include "cli/size.h"
#include "run/conf.h"
#include "text/suggest.h"

#include <glib.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const words[] = {"enable", "disable", "dump", "--version", NULL};

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    guint64 bytes = 0;
    guint64 ms = 0;
    if (size_parse(text, "--sample", &bytes, NULL))
        g_free(size_format(bytes));
    if (duration_parse(text, "--for", &ms, NULL)) {
        g_assert_cmpuint(ms, <=, G_GUINT64_CONSTANT(86400000) * DURATION_MAX_DAYS);
        g_free(duration_format(ms));
    }
    g_free(conf_value(text, "prof"));
    suggest(text, words);
    return 0;
}
