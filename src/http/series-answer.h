/* SPDX-License-Identifier: Apache-2.0 */
/* "/api/v1/targets/{target}/series": how values of a target moved, through its restarts. */
#ifndef JESCOPE_HTTP_SERIES_ANSWER_H
#define JESCOPE_HTTP_SERIES_ANSWER_H

#include "http/site.h"

enum {
    SERIES_POINTS_MAX = 1000000, /* in one answer */
};

void series_answer(Site *site, Exchange *exchange);

#endif
