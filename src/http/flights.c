/* SPDX-License-Identifier: Apache-2.0 */
#include "http/flights.h"

struct Flight {
    Flights *flights;
    char *key;
    gboolean listed; /* in Flights.by_key */
    Errand *errand;
    GQueue waiting;        /* of Passenger: for the next departure */
    GQueue aboard;         /* of Passenger: asked for */
    ServiceTicket *ticket; /* NULL: on the ground */
    guint departure;       /* source id; 0: none is planned */
};

typedef struct {
    GList link;
    Exchange *exchange;
    GQueue *queue; /* that it is in */
} Passenger;

struct Flights {
    Service *service;
    GHashTable *by_key; /* of Flight, by its key */
    GHashTable *all;    /* the set of them */
    GString *key;       /* of the request at hand */
};

static void
free_flight(gpointer data)
{
    Flight *flight = data;
    if (flight->ticket != NULL)
        service_ticket_cancel(flight->ticket);
    if (flight->departure != 0)
        g_source_remove(flight->departure);
    errand_unref(flight->errand);
    g_free(flight->key);
    g_free(flight);
}

static gboolean
is_idle(const Flight *flight)
{
    return flight->ticket == NULL && flight->departure == 0 && flight->waiting.length == 0;
}

/* What nobody waits for stays only as long as there is room for it. */
static void
drop_if_idle(Flight *flight)
{
    Flights *flights = flight->flights;
    if (!is_idle(flight) || (flight->listed && g_hash_table_size(flights->by_key) <= FLIGHTS_KEPT))
        return;
    if (flight->listed)
        g_hash_table_remove(flights->by_key, flight->key);
    g_hash_table_remove(flights->all, flight);
}

static void
free_passenger(gpointer data)
{
    Passenger *passenger = data;
    if (passenger->queue != NULL)
        g_queue_unlink(passenger->queue, &passenger->link);
    g_free(passenger);
}

static void
answer_all(GQueue *queue, Answer *answer)
{
    GList *link;
    while ((link = g_queue_pop_head_link(queue)) != NULL) {
        Passenger *passenger = link->data;
        passenger->queue = NULL;
        exchange_answer(passenger->exchange, answer_ref(answer));
    }
}

static void plan_departure(Flight *flight);

static void
land(Flight *flight, Answer *answer)
{
    flight->ticket = NULL;
    answer_all(&flight->aboard, answer);
    if (flight->waiting.length > 0)
        plan_departure(flight);
    drop_if_idle(flight);
}

static void
on_done(gpointer result, const GError *error, gpointer data)
{
    g_autoptr(Answer) answer = result != NULL ? answer_ref(result) : errand_answer_error(error);
    land(data, answer);
}

static void
board(Flight *flight)
{
    GList *link;
    while ((link = g_queue_pop_head_link(&flight->waiting)) != NULL) {
        ((Passenger *)link->data)->queue = &flight->aboard;
        g_queue_push_tail_link(&flight->aboard, link);
    }
}

static gboolean
depart(gpointer data)
{
    Flight *flight = data;
    g_autoptr(GError) error = NULL;
    flight->departure = 0;
    board(flight);
    ServiceTarget *target = errand_target(flight->errand, flight->flights->service, &error);
    if (target != NULL)
        flight->ticket = errand_send(flight->errand, target, NULL, on_done, flight, &error);
    if (flight->ticket == NULL) {
        g_autoptr(Answer) answer = errand_answer_error(error);
        land(flight, answer);
    }
    return G_SOURCE_REMOVE;
}

/* Once the server has read what other clients have sent meanwhile: they are in the same source's turn. */
static void
plan_departure(Flight *flight)
{
    if (flight->ticket == NULL && flight->departure == 0)
        flight->departure = g_idle_add_full(G_PRIORITY_DEFAULT, depart, flight, NULL);
}

/* In Flights.key. A query has no blank in it, so what is before and behind one cannot be confused. */
static const char *
make_key(Flights *flights, const Exchange *exchange)
{
    const RouteRequest *request = exchange_request(exchange);
    g_string_assign(flights->key, exchange_accepts_gzip(exchange) ? "gzip " : "");
    g_string_append(flights->key, request->method);
    g_string_append_c(flights->key, ' ');
    g_string_append(flights->key, request->query);
    g_string_append_c(flights->key, ' ');
    g_string_append(flights->key, request->path);
    return flights->key->str;
}

Flight *
flights_find(Flights *flights, const Exchange *exchange)
{
    if (exchange_request(exchange)->body_size > 0)
        return NULL;
    return g_hash_table_lookup(flights->by_key, make_key(flights, exchange));
}

void
flights_join(Flight *flight, Exchange *exchange)
{
    Passenger *passenger = g_new0(Passenger, 1);
    passenger->link.data = passenger;
    passenger->exchange = exchange;
    passenger->queue = &flight->waiting;
    g_queue_push_tail_link(&flight->waiting, &passenger->link);
    exchange_set_data(exchange, passenger, free_passenger);
    plan_departure(flight);
}

void
flights_begin(Flights *flights, Exchange *exchange, const Meaning *meaning)
{
    Flight *flight = g_new0(Flight, 1);
    flight->flights = flights;
    flight->key = g_strdup(make_key(flights, exchange));
    flight->errand = errand_new(meaning, exchange_accepts_gzip(exchange) ? ANSWER_GZIP : ANSWER_PLAIN);
    flight->listed = exchange_request(exchange)->body_size == 0;
    g_hash_table_add(flights->all, flight);
    if (flight->listed)
        g_hash_table_insert(flights->by_key, flight->key, flight);
    flights_join(flight, exchange);
}

Flights *
flights_new(Service *service)
{
    Flights *flights = g_new0(Flights, 1);
    flights->service = service;
    flights->by_key = g_hash_table_new(g_str_hash, g_str_equal);
    flights->all = g_hash_table_new_full(NULL, NULL, free_flight, NULL);
    flights->key = g_string_new(NULL);
    return flights;
}

void
flights_free(Flights *flights)
{
    g_hash_table_unref(flights->by_key);
    g_hash_table_unref(flights->all);
    g_string_free(flights->key, TRUE);
    g_free(flights);
}

void
flights_forget(Flights *flights)
{
    GHashTableIter iterator;
    gpointer key;
    g_hash_table_remove_all(flights->by_key);
    g_hash_table_iter_init(&iterator, flights->all);
    while (g_hash_table_iter_next(&iterator, &key, NULL)) {
        Flight *flight = key;
        flight->listed = FALSE;
        if (is_idle(flight))
            g_hash_table_iter_remove(&iterator);
    }
}
