/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JESCOPE_SITE_ROOT_H
#define JESCOPE_SITE_ROOT_H

#include "http/exchange.h"

/* Whether the client of EXCHANGE displays HTML: it gets the page at "/", other clients a list of links. */
gboolean root_is_for_browser(const Exchange *exchange);

#endif
