/* SPDX-License-Identifier: Apache-2.0 */
/* From a profile with its names to the bytes of a batch. */
#ifndef JESCOPE_EXPORT_BATCH_BUILD_H
#define JESCOPE_EXPORT_BATCH_BUILD_H

#include "export/batch-circumstances.h"
#include "report/report.h"

/* Reads and names nothing: for a confined process (confine/confined.h). */
GBytes *batch_build(const ReportInput *input, const BatchCircumstances *circumstances, GError **error);

#endif
