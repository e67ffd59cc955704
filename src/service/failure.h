/* SPDX-License-Identifier: Apache-2.0 */
/* Converts errors of lower rooms to failures of routes. */
#ifndef JESCOPE_SERVICE_FAILURE_H
#define JESCOPE_SERVICE_FAILURE_H

#include "wire/outcome.h"

#include <glib.h>

/* Fills FAILURE from ERROR and returns what kind of failure it is. CODE is target_errno()'s, for errors of a target. */
Outcome failure_from_error(const GError *error, int code, Failure *failure);

#endif
