/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to the native API about a target of our own service, answered by the routes without HTTP. */
#ifndef JESCOPE_TUI_LOCAL_ASK_H
#define JESCOPE_TUI_LOCAL_ASK_H

#include "service/service.h"

typedef struct {
    guint id;
    const char *method;
    const char *path; /* below "/api/v1/targets/{target}", with its query */
} LocalQuestion;

/* The result of the work. */
typedef struct {
    guint id;
    char *body; /* NULL: ERROR says why */
    GError *error;
} LocalAnswer;

/* Work on TARGET that answers QUESTION. */
void local_ask_prepare(ServiceWork *work, ServiceTarget *target, const LocalQuestion *question);

#endif
