/* SPDX-License-Identifier: Apache-2.0 */
/* The sampling period: on average one sample per so many allocated bytes. jemalloc takes powers of two only. */
#ifndef JESCOPE_CLI_SAMPLING_H
#define JESCOPE_CLI_SAMPLING_H

#include <glib.h>

enum {
    SAMPLING_LG_DEFAULT = 19,  /* 512 KiB, jemalloc's own default */
    SAMPLING_LG_CHEAPEST = 16, /* 64 KiB: shorter periods draw the warning */
};

/* The exponent for the value of --sample. Says on stderr when the size had to be rounded. CLI_ERROR_USAGE as
 * size_parse(). */
gboolean sampling_parse(const char *text, unsigned *lg, GError **error);

/* Says on stderr what a period of 2^LG bytes costs, if that is much. */
void sampling_warn(unsigned lg);

#endif
