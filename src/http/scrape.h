/* SPDX-License-Identifier: Apache-2.0 */
/* The endpoints of Prometheus, as service-routes.h has them. */
#ifndef JESCOPE_HTTP_SCRAPE_H
#define JESCOPE_HTTP_SCRAPE_H

#include "http/site.h"

/* GET /metrics: every live target and ourselves; with target=ID that target alone. */
void scrape_answer(Site *site, Exchange *exchange);

#endif
