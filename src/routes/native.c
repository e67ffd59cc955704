/* SPDX-License-Identifier: Apache-2.0 */
#include "routes/native-reply.h"
#include "routes/reply.h"
#include "routes/table.h"

static void
native_unknown(const Route *route, const RouteRequest *request, RouteReply *reply)
{
    native_error(reply, 404, &(NativeError){.code = "not_found", .hint = "see /api/v1 for the paths of this server"},
                 "no such path: %s", request->path);
}

static void
native_wrong_method(const Route *route, const RouteRequest *request, RouteReply *reply)
{
    native_error(reply, 405, &(NativeError){.code = "method_not_allowed", .hint = "see the Allow header"},
                 "method %s not allowed for %s", request->method, request->path);
}

const Dialect native_dialect = {
    .dialect = ROUTE_DIALECT_NATIVE,
    .name = "native",
    .paths = {"/"},
    .unknown = native_unknown,
    .wrong_method = native_wrong_method,
};
