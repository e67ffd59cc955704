/* SPDX-License-Identifier: Apache-2.0 */
#include "service/failure.h"

#include "history/history.h"
#include "target/target.h"

#include <errno.h>
#include <stdarg.h>

static RouteResult
result_of(const GError *error)
{
    static const RouteResult of_target[] = {
        [TARGET_ERROR_NAME] = ROUTE_INVALID,
        [TARGET_ERROR_NO_PROCESS] = ROUTE_GONE,
        [TARGET_ERROR_AMBIGUOUS] = ROUTE_INVALID,
        [TARGET_ERROR_PERMISSION] = ROUTE_UNREACHABLE,
        [TARGET_ERROR_NO_AGENT] = ROUTE_UNREACHABLE,
        [TARGET_ERROR_NO_JEMALLOC] = ROUTE_NO_JEMALLOC,
        [TARGET_ERROR_GONE] = ROUTE_GONE,
        [TARGET_ERROR_SILENT] = ROUTE_UNREACHABLE,
        [TARGET_ERROR_PROTOCOL] = ROUTE_UNREACHABLE,
        [TARGET_ERROR_NOT_ALLOWED] = ROUTE_NOT_ALLOWED,
        [TARGET_ERROR_PROFILING] = ROUTE_NO_PROFILING,
        [TARGET_ERROR_CONTROL] = ROUTE_CONTROL_FAILED,
        [TARGET_ERROR_BUSY] = ROUTE_BUSY,
        [TARGET_ERROR_NO_LEASE] = ROUTE_NOT_FOUND,
        [TARGET_ERROR_OUTPUT] = ROUTE_SYSTEM,
    };
    if (error->domain == TARGET_ERROR && (gsize)error->code < G_N_ELEMENTS(of_target))
        return of_target[error->code];
    if (g_error_matches(error, HISTORY_ERROR, HISTORY_ERROR_MISSING))
        return ROUTE_NOT_FOUND;
    return ROUTE_SYSTEM;
}

RouteResult
failure_from_error(const GError *error, int code, RouteFailure *failure)
{
    RouteResult result = result_of(error);
    failure->error = result == ROUTE_CONTROL_FAILED || result == ROUTE_SYSTEM ? (code != 0 ? code : EIO) : 0;
    g_strlcpy(failure->why, error->message, sizeof(failure->why));
    g_strdelimit(failure->why, "\n", ' ');
    return result;
}

RouteResult
failure_set(RouteFailure *failure, RouteResult result, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    failure->error = 0;
    g_vsnprintf(failure->why, sizeof(failure->why), format, arguments);
    va_end(arguments);
    return result;
}

RouteResult
failure_from_errno(RouteFailure *failure, const char *what)
{
    int code = errno;
    failure_set(failure, ROUTE_SYSTEM, "cannot %s: %s", what, g_strerror(code));
    failure->error = code;
    return ROUTE_SYSTEM;
}
