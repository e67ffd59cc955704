/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the documents of the native API (docs/api.md). Their sender is not trusted: members that are absent or of
 * another type are 0, FALSE or empty, and text is cut to its buffer and stripped of control characters,
 * line feeds as well. Objects may be
 * NULL. */
#ifndef JESCOPE_CLIENT_DOCUMENT_H
#define JESCOPE_CLIENT_DOCUMENT_H

#include "routes/status.h"
#include "wire/wire.h"

#include <glib.h>
#include <jansson.h>

/* Parses the document in LENGTH bytes of TEXT. NULL with OUTCOME_PROTOCOL: it is not JSON; with OUTCOME_TOO_LARGE: its
 * number of values would take far more memory than the text. */
json_t *document_parse(const char *text, gsize length, GError **error);

/* Approximately the bytes of memory that the values of a document will take, without their texts. */
gsize document_weight(const char *text, gsize length);

/* Reads all bytes of DESCRIPTOR, a file, and closes it; NUL-terminated, to be freed. NULL with OUTCOME_SYSTEM. *LENGTH
 * excludes the NUL. */
char *document_read(int descriptor, gsize *length, GError **error);

/* Reads the answer to GET /api/v1/targets/ID. FALSE: it is not such a document. */
gboolean document_hello(const json_t *status, WireHelloReply *hello);

enum {
    DOCUMENT_TEXT_MAX = 256,  /* with the NUL: names are cut */
    DOCUMENT_LONG_MAX = 4096, /* likewise, for longer texts */
};

/* The texts of a status. */
typedef struct {
    char name[DOCUMENT_TEXT_MAX];
    char series[DOCUMENT_TEXT_MAX];
    char state[16];
    char reach[16];
    char user[DOCUMENT_TEXT_MAX];
    char arguments[DOCUMENT_LONG_MAX];
    char control_group[DOCUMENT_LONG_MAX];
} DocumentTexts;

/* Reads a complete status (docs/formats.md), except its recording; its strings are in TEXTS. FALSE: it is not one. */
gboolean document_status(const json_t *document, RouteStatus *status, DocumentTexts *texts);

/* Reads the answer of .../profiling. FALSE: it is not such a document. */
gboolean document_lease(const json_t *profiling, WireLease *lease);

/* Copies a string of OBJECT. */
void document_text(const json_t *object, const char *key, char *text, gsize size);

#endif
