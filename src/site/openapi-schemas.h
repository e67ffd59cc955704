/* SPDX-License-Identifier: Apache-2.0 */
/* The responses of each operation, for the OpenAPI description. A test validates real responses against it. */
#ifndef JESCOPE_SITE_OPENAPI_SCHEMAS_H
#define JESCOPE_SITE_OPENAPI_SCHEMAS_H

#include "site/openapi.h"

typedef struct {
    const char *method; /* NULL: any */
    const char *path;
    const char *id;     /* operationId; NULL: derived from method and path */
    unsigned status;    /* of a successful response */
    const char *types;  /* media types, separated by ','; "": no body */
    const char *schema; /* of a JSON response: a name of the schemas; NULL: any JSON */
} OpenapiAnswer;

/* The response of OPERATION; never NULL. */
const OpenapiAnswer *openapi_answer_of(const OpenapiOperation *operation);

/* Named schemas as the text of a JSON object. */
extern const char openapi_schemas[];

#endif
