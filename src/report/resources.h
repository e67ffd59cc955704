/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are compiled in (report.gresource.xml): the style and scripts of pictures. */
#ifndef JESCOPE_REPORT_RESOURCES_H
#define JESCOPE_REPORT_RESOURCES_H

#include "report/writer.h"

/* Writes one of them unchanged. name must be in report.gresource.xml. */
void report_resource_write(Writer *writer, const char *name);

#endif
