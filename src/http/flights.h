/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that change nothing, and that are the same, share an answer: those that come while the target is being asked
 * wait, and are all answered by asking once more. Nobody gets an answer that was found before he asked. For the
 * server's thread.
 */
#ifndef JESCOPE_HTTP_FLIGHTS_H
#define JESCOPE_HTTP_FLIGHTS_H

#include "http/errand.h"

enum {
    FLIGHTS_KEPT = 256, /* of errands that may soon be asked again */
};

typedef struct Flights Flights;
typedef struct Flight Flight;

Flights *flights_new(Service *service);
void flights_free(Flights *flights);

/* Forgets what requests meant, since that has changed; those on their way are not affected. */
void flights_forget(Flights *flights);

/* What EXCHANGE asks for, if somebody has asked for it before; else NULL. Valid until the next call. */
Flight *flights_find(Flights *flights, const Exchange *exchange);

/* EXCHANGE will be answered. */
void flights_join(Flight *flight, Exchange *exchange);

/* EXCHANGE, that MEANING is of and that changes nothing, will be answered, and others like it will find it. */
void flights_begin(Flights *flights, Exchange *exchange, const Meaning *meaning);

#endif
