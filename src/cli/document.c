/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/document.h"

#include "cli/command.h"
#include "text/printable.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    VERSION = 1,
};

/* Without what stdout has buffered, which is a part of a document. */
static void G_GNUC_NORETURN
fail(const char *why)
{
    command_say("%s", why);
    _exit(STATUS_FAILED);
}

static void *
allocate(size_t size)
{
    void *memory = malloc(size);
    if (memory == NULL)
        fail("not enough memory for a document in JSON");
    return memory;
}

void
document_need_memory(void)
{
    json_set_alloc_funcs(allocate, free);
}

void
document_print(const char *format, json_t *members)
{
    json_t *document = json_pack("{s:s, s:i}", "format", format, "version", VERSION);
    const gboolean complete = json_object_update(document, members) == 0;
    char *text = complete ? json_dumps(document, JSON_INDENT(2) | JSON_REAL_PRECISION(16)) : NULL;
    if (text == NULL)
        fail("the document cannot be written: it has a value that is not JSON");
    g_autofree char *printable = text_printable_json(text);
    puts(printable);
    free(text);
    json_decref(document);
    json_decref(members);
}
