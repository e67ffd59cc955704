/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sampling.h"

#include "cli/command.h"
#include "cli/size.h"
#include "routes/values.h"

#include <stdio.h>

gboolean
sampling_parse(const char *text, unsigned *lg, GError **error)
{
    guint64 bytes;
    if (!size_parse(text, "--sample", &bytes, error))
        return FALSE;
    if (bytes == 0) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "--sample: '%s' is no sampling period; 512KiB is a good one",
                    text);
        return FALSE;
    }
    unsigned rounded = value_log2_rounded(bytes);
    if (bytes != G_GUINT64_CONSTANT(1) << rounded) {
        g_autofree char *used = size_format(G_GUINT64_CONSTANT(1) << rounded);
        fprintf(stderr, "jescope: --sample %s: jemalloc samples by powers of two, so it will be %s\n", text, used);
    }
    *lg = rounded;
    return TRUE;
}

void
sampling_warn(unsigned lg)
{
    if (lg >= SAMPLING_LG_CHEAPEST || lg >= 64)
        return;
    g_autofree char *period = size_format(G_GUINT64_CONSTANT(1) << lg);
    /* Measured on jemalloc 5.3.0 with 64-byte objects. */
    fprintf(stderr,
            "jescope: warning: a sampling period of %s is expensive: each sampled small object takes a page (at 4 KiB, "
            "100 MB of live data occupied 614 MB) and allocating slows down (14 times at 4 KiB)\n",
            period);
}
