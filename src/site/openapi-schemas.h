/* SPDX-License-Identifier: Apache-2.0 */
/* The responses of each operation, for the OpenAPI description. A test validates real responses against it. */
#ifndef JESCOPE_SITE_OPENAPI_SCHEMAS_H
#define JESCOPE_SITE_OPENAPI_SCHEMAS_H

#include "site/openapi.h"

typedef struct {
    const char *method; /* NULL: any */
    const char *path;
    const char *id;     /* operationId; NULL: made of method and path */
    unsigned status;    /* of success */
    const char *types;  /* media types, with ',' between them; "": no body */
    const char *schema; /* of the JSON answer, a name of the schemas; NULL: any JSON */
} OpenapiAnswer;

/* The answer of OPERATION; never NULL. */
const OpenapiAnswer *openapi_answer_of(const OpenapiOperation *operation);

/* Named schemas as the text of a JSON object. */
extern const char openapi_schemas[];

#endif
