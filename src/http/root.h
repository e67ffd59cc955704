/* SPDX-License-Identifier: Apache-2.0 */
/* What a visitor finds first. */
#ifndef JESCOPE_HTTP_ROOT_H
#define JESCOPE_HTTP_ROOT_H

#include "http/site.h"

/* "/": a page that lists the targets. */
void root_answer_page(Site *site, Exchange *exchange);

/* "/api/v1": every path of the native API with what it is for. */
void root_answer_index(Site *site, Exchange *exchange);

/* "/healthz": "ok". */
void root_answer_health(Site *site, Exchange *exchange);

#endif
