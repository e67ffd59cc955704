/* SPDX-License-Identifier: Apache-2.0 */
#include "routes/report-format.h"

#include "routes/reply.h"

#include <string.h>

const ReportFormat report_formats[] = {
#define FORMAT(writer, name, suffixes, type, suffix, flags, about) {name, suffixes, type, suffix, flags},
#include "routes/formats.def"
#undef FORMAT
};

const size_t report_n_formats = sizeof(report_formats) / sizeof(report_formats[0]);

const char report_raw_words[] = "raw"
#define FORMAT(writer, name, suffixes, type, suffix, flags, about) "|" name
#include "routes/formats.def"
#undef FORMAT
    ;

const ReportFormat *
report_format_find(const char *name)
{
    for (size_t i = 0; i < report_n_formats; i++)
        if (strcmp(report_formats[i].name, name) == 0)
            return &report_formats[i];
    return NULL;
}
