/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/document.h"

#include <stdio.h>

enum {
    VERSION = 1,
};

void
document_print(const char *format, json_t *members)
{
    json_t *document = json_pack("{s:s, s:i}", "format", format, "version", VERSION);
    json_object_update(document, members);
    json_dumpf(document, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(16));
    fputc('\n', stdout);
    json_decref(document);
    json_decref(members);
}
