/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/causes.h"

const Cause causes[CAUSES] = {
#define CAUSE(ID, ...) [CAUSE_##ID] = {__VA_ARGS__},
#include "stats/causes.def"
#undef CAUSE
};
