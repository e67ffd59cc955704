/* SPDX-License-Identifier: Apache-2.0 */
/* "/api/v1/targets/{target}/growth": growth over the kept dumps of a target. */
#include "site/table.h"

#include "routes/native-reply.h"
#include "routes/reply.h"
#include "routes/report-query.h"
#include "service/service.h"

enum {
    FEWEST_DUMPS = 3,
};

/* The newest kept dumps, oldest first. Returns their number. */
static size_t
choose_dumps(const RouteHost *host, guint64 ids[static RENDER_GROWTH_MAX])
{
    RouteDump kept[RENDER_GROWTH_MAX];
    size_t n = host->ops->dumps(host->data, kept, RENDER_GROWTH_MAX);
    for (size_t i = 0; i < n; i++)
        ids[i] = kept[n - 1 - i].id;
    return n;
}

static void
growth_answer(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    guint64 ids[RENDER_GROWTH_MAX];
    const size_t n = choose_dumps(host, ids);
    ReportQuery query;
    Failure failure = {0};
    int descriptor = -1;
    if (n < FEWEST_DUMPS) {
        native_error(reply, 409,
                     &(NativeError){"too_few_dumps", "take more with POST .../dumps while profiling stays on"},
                     "growth needs at least %d kept dumps; %zu %s kept", FEWEST_DUMPS, n, n == 1 ? "is" : "are");
        return;
    }
    if (!report_query_read(&query, request, reply))
        return;
    const ServiceGrowth wanted = {.options = query.options, .ids = ids, .n = n};
    Outcome result = service_work_growth(host, &wanted, &descriptor, &failure);
    if (result == OUTCOME_DONE)
        reply_file(reply, REPLY_JSON, descriptor);
    else
        native_failure(reply, result, &failure);
}

static const Route rows[] = {
    {ROUTE_DIALECT_NATIVE, "GET|HEAD", "/api/v1/targets/{target}/growth",
     "functions and stacks that grow over the kept dumps (of more than 32, the newest 32), with error and verdict",
     .parameters = growth_query_parameters, .flags = ROUTE_SLOW, .answer = growth_answer},
};

const RouteTable growth_answer_routes = {rows, G_N_ELEMENTS(rows)};
