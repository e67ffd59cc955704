/* SPDX-License-Identifier: Apache-2.0 */
/* What one target is asked, with all it needs to be asked again. Reference-counted, for any thread. */
#ifndef JESCOPE_HTTP_ERRAND_H
#define JESCOPE_HTTP_ERRAND_H

#include "http/meaning.h"

typedef struct Errand Errand;

/* MEANING has a route. */
Errand *errand_new(const Meaning *meaning, AnswerCoding coding);
Errand *errand_ref(Errand *errand);
void errand_unref(Errand *errand);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Errand, errand_unref)

/* The target as it is called now; borrowed. NULL as service_lookup(). */
ServiceTarget *errand_target(const Errand *errand, Service *service, GError **error);

/* Asks; the result that DONE gets is an Answer. NULL as service_target_submit(). */
ServiceTicket *errand_send(Errand *errand, ServiceTarget *target, const char *who, ServiceDone done, gpointer data,
                           GError **error);

/* What to tell a client instead of a result. */
Answer *errand_answer_error(const GError *error);

#endif
