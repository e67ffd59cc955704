/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The black box of the service: a thread reads the control groups of the targets that ServiceBlackbox chooses, and has
 * their snapshots taken by work on them (SERVICE_KEEPS). blackbox_sink (sink.h) tells it of targets.
 */
#ifndef JESCOPE_SERVICE_BLACKBOX_H
#define JESCOPE_SERVICE_BLACKBOX_H

#include "service/core.h"

/* SERVICE's options have changed. In the main context. */
void blackbox_reconfigure(Service *service);

/* Its part of FIGURES. */
void blackbox_count(const Service *service, ServiceFigures *figures);

#endif
