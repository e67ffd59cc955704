/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The implementation of Target for the process we are in: libjescope (include/jescope.h), which the program must link.
 * Apart from the other implementations, so that jescope itself need not.
 */
#ifndef JESCOPE_TARGET_INPROCESS_H
#define JESCOPE_TARGET_INPROCESS_H

#include "target/target.h"

/* Leases need jescope_start(); nothing else does. */
Target *inprocess_open(GError **error);

#endif
