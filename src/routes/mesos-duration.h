/* SPDX-License-Identifier: Apache-2.0 */
/* Durations in the notation of Mesos: "5mins", "1.5hrs". Pure and thread safe. */
#ifndef JESCOPE_ROUTES_MESOS_DURATION_H
#define JESCOPE_ROUTES_MESOS_DURATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Nanoseconds, below 2^63. False leaves *ns untouched and sets WHY to Mesos' message, without a full stop. */
bool mesos_duration_parse(const char *text, uint64_t *ns, char *why, size_t size);

/* Formats NS in the largest unit not above it that gives an integer, or in the unit below that: "500ms", "36hrs",
 * "1days". */
void mesos_duration_format(uint64_t ns, char *text, size_t size);

#endif
