/* SPDX-License-Identifier: Apache-2.0 */
/* Converts errors of lower layers to failures of routes. */
#ifndef JESCOPE_SERVICE_FAILURE_H
#define JESCOPE_SERVICE_FAILURE_H

#include "wire/outcome.h"

#include <glib.h>

/* Fills FAILURE from ERROR and returns its kind. CODE is target_errno(), for errors of a target. */
Outcome failure_from_error(const GError *error, int code, Failure *failure);

#endif
