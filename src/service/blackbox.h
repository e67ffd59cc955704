/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The black box of the service: a thread reads the control groups of the targets that ServiceBlackbox selects, and
 * submits work on them to take snapshots (SERVICE_KEEPS). It learns of targets through blackbox_sink (sink.h).
 */
#ifndef JESCOPE_SERVICE_BLACKBOX_H
#define JESCOPE_SERVICE_BLACKBOX_H

#include "service/core.h"

/* Applies changed options of SERVICE. Called in the main context. */
void blackbox_reconfigure(Service *service);

/* Sets FIGURES.blackbox. */
void blackbox_count(const Service *service, ServiceFigures *figures);

#endif
