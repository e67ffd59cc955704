/* SPDX-License-Identifier: Apache-2.0 */
#include "embed/failure.h"

#include "routes/reply.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

int
failure_set(JescopeError *failure, JescopeCode code, int error, const char *format, ...)
{
    if (failure != NULL) {
        int saved = errno;
        va_list arguments;
        failure->code = (int)code;
        failure->error = error;
        va_start(arguments, format);
        vsnprintf(failure->message, sizeof failure->message, format, arguments);
        va_end(arguments);
        errno = saved;
    }
    return (int)code;
}

int
failure_set_system(JescopeError *failure, const char *what)
{
    int error = errno;
    return failure_set(failure, JESCOPE_SYSTEM, error, "cannot %s: %s", what, reply_error_name(error));
}

int
failure_set_no_jemalloc(JescopeError *failure)
{
    return failure_set(
        failure, JESCOPE_NO_JEMALLOC, 0,
        "no jemalloc serves this process; link it, or start the program with LD_PRELOAD=libjemalloc.so.2");
}

int
failure_set_no_profiling(JescopeError *failure, const Allocator *allocator)
{
    if ((allocator->flags & WIRE_FLAG_CONFIG_PROF) == 0) {
        return failure_set(failure, JESCOPE_NO_PROFILING, 0,
                           "jemalloc %s was built without profiling; use one configured with --enable-prof",
                           allocator->version);
    }
    char prefix[WIRE_PREFIX_MAX] = "";
    for (size_t i = 0; i + 1 < sizeof prefix && allocator->prefix[i] != '\0'; i++) {
        char c = allocator->prefix[i];
        prefix[i] = (char)(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    }
    return failure_set(failure, JESCOPE_NO_PROFILING, 0,
                       "jemalloc was started without prof:true; restart the program with "
                       "%sMALLOC_CONF=prof:true,prof_active:false",
                       prefix);
}
