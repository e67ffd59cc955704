/* SPDX-License-Identifier: Apache-2.0 */
/* Where each target is scraped, in the form of Prometheus' HTTP service discovery
 * (https://prometheus.io/docs/prometheus/latest/http_sd/), which Alloy reads as well: __profile_path_prefix__ is for
 * its scraper of profiles. */
#ifndef JESCOPE_SITE_SD_H
#define JESCOPE_SITE_SD_H

#include "site/site.h"

/* The answer to a client that reached us as ADDRESS ("HOST:PORT") by SCHEME ("http"). TARGETS is of ServiceTarget. */
GBytes *sd_write(const GPtrArray *targets, const char *address, const char *scheme);

#endif
