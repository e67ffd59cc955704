/* SPDX-License-Identifier: Apache-2.0 */
/* "/api/v1/targets": who can be asked. */
#ifndef JESCOPE_HTTP_TARGET_LIST_H
#define JESCOPE_HTTP_TARGET_LIST_H

#include "http/site.h"

void target_list_answer(Site *site, Exchange *exchange);

#endif
