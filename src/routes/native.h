/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the native API about one target: paths below /api/v1/targets/{target}. Times are seconds since 1970,
 * sizes bytes. docs/api.md is made from the route table.
 */
#ifndef JESCOPE_ROUTES_NATIVE_H
#define JESCOPE_ROUTES_NATIVE_H

#include "routes/table.h"

#define NATIVE_PATH "/api/v1/targets/{target}"

/* Index of a component in /api/v1/targets/{target}/KIND/{id}, counted from 0. */
enum {
    NATIVE_TARGET = 3,
    NATIVE_ID = 5,
};

#endif
