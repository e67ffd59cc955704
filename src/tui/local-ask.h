/* SPDX-License-Identifier: Apache-2.0 */
/* Native API requests about a target of this process's service, answered by the routes without HTTP. */
#ifndef JESCOPE_TUI_LOCAL_ASK_H
#define JESCOPE_TUI_LOCAL_ASK_H

#include "service/service.h"

typedef struct {
    guint id;
    const char *method;
    const char *path; /* below "/api/v1/targets/{target}", including the query */
} LocalQuestion;

/* The result of the work. */
typedef struct {
    guint id;
    char *body; /* NULL: ERROR says why */
    GError *error;
} LocalAnswer;

/* Prepares WORK that answers QUESTION about TARGET. */
void local_ask_prepare(ServiceWork *work, ServiceTarget *target, const LocalQuestion *question);

#endif
