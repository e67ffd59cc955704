/* SPDX-License-Identifier: Apache-2.0 */
/* The scrape address of each target, in the form of Prometheus' HTTP service discovery
 * (https://prometheus.io/docs/prometheus/latest/http_sd/), which Alloy supports as well: __profile_path_prefix__ is for
 * its scraper of profiles. */
#ifndef JESCOPE_SITE_SD_H
#define JESCOPE_SITE_SD_H

#include "site/site.h"

/* The response to a client that connected to ADDRESS ("HOST:PORT") by SCHEME ("http"). TARGETS is of ServiceTarget. */
GBytes *sd_write(const GPtrArray *targets, const char *address, const char *scheme);

#endif
