/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/document.h"

#include "text/printable.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    VERSION = 1,
};

void
document_print(const char *format, json_t *members)
{
    json_t *document = json_pack("{s:s, s:i}", "format", format, "version", VERSION);
    json_object_update(document, members);
    char *text = json_dumps(document, JSON_INDENT(2) | JSON_REAL_PRECISION(16));
    g_autofree char *printable = text_printable_json(text != NULL ? text : "");
    puts(printable);
    free(text);
    json_decref(document);
    json_decref(members);
}
