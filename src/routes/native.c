/* SPDX-License-Identifier: Apache-2.0 */
#include "routes/native.h"

#include "routes/native-reply.h"
#include "routes/reply.h"

#include <string.h>

RouteRole
native_role(const RouteRequest *request)
{
    bool reads = strcmp(request->method, "GET") == 0 || strcmp(request->method, "HEAD") == 0;
    return reads ? ROUTE_ROLE_READ : ROUTE_ROLE_CONTROL;
}

void
native_unknown(const Route *route, const RouteRequest *request, RouteReply *reply)
{
    native_error(reply, 404,
                 &(NativeError){.code = "not_found", .hint = "docs/api.md and /api/v1/openapi.json list them"},
                 "nothing is at %s", request->path);
}

void
native_wrong_method(const Route *route, const RouteRequest *request, RouteReply *reply)
{
    native_error(reply, 405,
                 &(NativeError){.code = "method_not_allowed", .hint = "the header Allow has the possible ones"},
                 "%s cannot be asked with %s", request->path, request->method);
    native_allow(reply, route);
}
