/* SPDX-License-Identifier: Apache-2.0 */
/* From a request to who answers it. */
#include "http/site.h"

#include "http/flights.h"
#include "http/meaning.h"

#include <string.h>

/* A change that is under way. */
typedef struct {
    Site *site;
    Exchange *exchange;
    ServiceTicket *ticket; /* NULL: it is done */
    char *about;           /* for the audit */
    gboolean sleeps;       /* counted in Site.sleepers */
} Change;

/* ---- the audit ---- */

/* Escaped, so that nobody can forge a line. */
static char *
describe(const Exchange *exchange, const char *label)
{
    const RouteRequest *request = exchange_request(exchange);
    g_autofree char *path = g_strescape(request->path, NULL);
    g_autofree char *query = g_strescape(request->query, NULL);
    return g_strdup_printf("audit: %s: %s %s%s%s%s%s", exchange_who(exchange), request->method, path,
                           query[0] != '\0' ? "?" : "", query, label != NULL ? " on " : "", label != NULL ? label : "");
}

static void
audit(const Site *site, const char *about, const Answer *answer)
{
    g_autofree char *line = g_strdup_printf("%s: %u", about, answer_status(answer));
    site->say(line, site->data);
}

/* ---- changes ---- */

static void
free_change(gpointer data)
{
    Change *change = data;
    if (change->ticket != NULL)
        service_ticket_cancel(change->ticket);
    change->site->sleepers -= change->sleeps;
    g_free(change->about);
    g_free(change);
}

static void
finish(Change *change, Answer *answer)
{
    change->ticket = NULL;
    audit(change->site, change->about, answer);
    exchange_answer(change->exchange, answer);
}

static void
on_done(gpointer result, const GError *error, gpointer data)
{
    finish(data, result != NULL ? answer_ref(result) : errand_answer_error(error));
}

static Answer *
refuse_sleeper(void)
{
    Answer *answer = answer_new_failure(&(AnswerFailure){
        .status = 429,
        .code = "busy",
        .message = "two requests with seconds= are under way already",
        .hint = "wait for one of them, or start a recording instead",
    });
    answer_add_header(answer, "Retry-After", "5");
    return answer;
}

static void
send_change(Change *change, const Meaning *meaning)
{
    g_autoptr(GError) error = NULL;
    AnswerCoding coding = exchange_accepts_gzip(change->exchange) ? ANSWER_GZIP : ANSWER_PLAIN;
    g_autoptr(Errand) errand = errand_new(meaning, coding);
    ServiceTarget *target = errand_target(errand, change->site->service, &error);
    change->about = describe(change->exchange, target != NULL ? service_target_label(target) : NULL);
    if (target != NULL)
        change->ticket = errand_send(errand, target, exchange_who(change->exchange), on_done, change, &error);
    if (change->ticket == NULL)
        finish(change, errand_answer_error(error));
}

static void
make_change(Site *site, Exchange *exchange, const Meaning *meaning)
{
    gboolean sleeps = (routes_flags(meaning->route, &meaning->request) & ROUTE_WAITING) != 0;
    if (sleeps && site->sleepers >= SITE_SLEEPERS_MAX) {
        exchange_answer(exchange, refuse_sleeper());
        return;
    }
    Change *change = g_new0(Change, 1);
    change->site = site;
    change->exchange = exchange;
    change->sleeps = sleeps;
    site->sleepers += sleeps;
    exchange_set_data(exchange, change, free_change);
    send_change(change, meaning);
}

/* ---- refusals ---- */

/* libmtev's clients look at the words of the status. */
static Answer *
in_words_of(const Meaning *meaning, Answer *refusal)
{
    if (meaning->route == NULL || meaning->route->dialect != ROUTE_DIALECT_LIBMTEV)
        return refusal;
    RouteReply reply = {.status = 403, .reason = "DENIED", .content_type = "text/html", .descriptor = -1};
    answer_unref(refusal);
    return answer_new_route(&reply, ANSWER_PLAIN);
}

static void
refuse(const Site *site, Exchange *exchange, const Meaning *meaning, Answer *refusal)
{
    Answer *answer = in_words_of(meaning, refusal);
    if (meaning->needs == ROUTE_ROLE_CONTROL) {
        g_autofree char *about = describe(exchange, NULL);
        audit(site, about, answer);
    }
    exchange_answer(exchange, answer);
}

/* ---- the handler ---- */

static Answer *
admit(Exchange *exchange, gpointer data)
{
    const Site *site = data;
    return guard_admit(&site->rules, exchange);
}

static void
answer_page(Site *site, Exchange *exchange, const ServiceRoute *page)
{
    Answer *refusal = service_routes_check(page, exchange_request(exchange));
    if (refusal != NULL)
        exchange_answer(exchange, refusal);
    else
        page->answer(site, exchange);
}

static void
handle_new(Site *site, Exchange *exchange)
{
    Meaning meaning;
    meaning_find(exchange_request(exchange), site->dialects, &meaning);
    Answer *refusal = guard_allow(exchange, meaning.needs);
    if (refusal != NULL)
        refuse(site, exchange, &meaning, refusal);
    else if (meaning.page != NULL)
        answer_page(site, exchange, meaning.page);
    else if (meaning.route == NULL)
        exchange_answer(exchange, meaning_answer_unknown(&meaning));
    else if (meaning.needs == ROUTE_ROLE_CONTROL)
        make_change(site, exchange, &meaning);
    else
        flights_begin(site->flights, exchange, &meaning);
}

static void
handle(Exchange *exchange, gpointer data)
{
    Site *site = data;
    Flight *flight = flights_find(site->flights, exchange);
    if (flight != NULL && guard_may(exchange, ROUTE_ROLE_READ))
        flights_join(flight, exchange);
    else
        handle_new(site, exchange);
}

ServerHandler
site_handler(Site *site)
{
    return (ServerHandler){.admit = admit, .handle = handle, .data = site};
}
