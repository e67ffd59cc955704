/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the bytes of a batch from a symbolized profile. */
#ifndef JESCOPE_EXPORT_BATCH_BUILD_H
#define JESCOPE_EXPORT_BATCH_BUILD_H

#include "export/batch-circumstances.h"
#include "report/report.h"

/* Opens no file and looks up no name, so that a confined process can run it (confine/confined.h). NULL with ERROR. */
GBytes *batch_build(const ReportInput *input, const BatchCircumstances *circumstances, GError **error);

#endif
