/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports: a profile with its names, written in one of the formats of report_formats(). One file per format; a format is one
 * row of the table in report.c.
 */
#ifndef JESCOPE_REPORT_REPORT_H
#define JESCOPE_REPORT_REPORT_H

#include "profile/profile.h"
#include "symbolize/symbolize.h"

#endif
