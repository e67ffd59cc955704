/* SPDX-License-Identifier: Apache-2.0 */
/* "/api/v1/targets/{target}/ledger": all memory of a target, line by line. */
#include "site/table.h"

#include "routes/native-reply.h"
#include "routes/reply.h"
#include "service/service.h"
#include "stats/ledger-write.h"

static void
ledger_answer(const RouteHost *host, const RouteRequest *request, RouteReply *reply)
{
    g_auto(LedgerTaken) taken = {0};
    Failure failure = {0};
    Outcome result = service_work_take_ledger(host, &taken, &failure);
    if (result != OUTCOME_DONE) {
        native_failure(reply, result, &failure);
        return;
    }
    g_autoptr(GString) text = g_string_new("{");
    ledger_append_json(text, &taken);
    g_string_append(text, "}\n");
    reply_begin(reply, 200, REPLY_JSON);
    reply_add(reply, text->str, text->len);
}

static const Route rows[] = {
    {ROUTE_DIALECT_NATIVE, "GET|HEAD", "/api/v1/targets/{target}/ledger",
     "all memory of the process by what it is used for, in lines that add up", .flags = ROUTE_PRINTING,
     .answer = ledger_answer},
};

const RouteTable ledger_answer_routes = {rows, G_N_ELEMENTS(rows)};
