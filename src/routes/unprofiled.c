/* SPDX-License-Identifier: Apache-2.0 */
#include "routes/unprofiled.h"

#include "jemalloc/version.h"
#include "wire/sampler-choice.h"

#include <errno.h>
#include <stdio.h>

enum { VARIABLE_MAX = WIRE_TEXT_MAX + sizeof("MALLOC_CONF") };

static bool
is_built(const WireHelloReply *hello)
{
    return (hello->flags & WIRE_FLAG_CONFIG_PROF) != 0;
}

/* Up to 5.2.1, switching on was silently accepted; an unreadable version is taken for a new one. */
static bool
accepts_in_silence(const WireHelloReply *hello)
{
    JemallocVersion version;
    return is_built(hello) && jemalloc_version_parse(hello->jemalloc_version, &version) &&
           (version.major < 5 || (version.major == 5 && version.minor < 3));
}

bool
unprofiled_applies(const WireHelloReply *hello)
{
    return (hello->flags & WIRE_FLAG_SAMPLER_SERVES) == 0 &&
           (!is_built(hello) || (hello->flags & WIRE_FLAG_OPT_PROF) == 0);
}

void
unprofiled_reason(const WireHelloReply *hello, char *text, size_t size)
{
    if (is_built(hello) && (hello->flags & WIRE_FLAG_OPT_PROF) != 0)
        snprintf(text, size, "it was asked for");
    else if (is_built(hello))
        snprintf(text, size, "jemalloc was started without prof:true");
    else
        snprintf(text, size, "its jemalloc %s was built without profiling", hello->jemalloc_version);
}

void
unprofiled_describe(const WireHelloReply *hello, char *text, size_t size)
{
    char reason[WIRE_VERSION_TEXT_MAX + sizeof("its jemalloc  was built without profiling")];
    char variable[VARIABLE_MAX];
    jemalloc_conf_variable(hello->prefix, variable, sizeof(variable));
    unprofiled_reason(hello, reason, sizeof(reason));
    const char *needs = sampler_choice_needs(hello);
    const char *and = needs != NULL ? "; " : "";
    needs = needs != NULL ? needs : "";
    if (hello->sampler_obstacle == WIRE_SAMPLER_NO_AGENT)
        snprintf(text, size, "%s, and %s, or record with --attach", reason, needs);
    else if (is_built(hello))
        snprintf(text, size, "%s; restart it under 'jescope run', or set %s=prof:true,prof_active:false%s%s", reason,
                 variable, and, needs);
    else
        snprintf(text, size, "%s; use one configured with --enable-prof%s%s", reason, and, needs);
}

int
unprofiled_write_active(const WireHelloReply *hello, bool active)
{
    if (!active)
        return is_built(hello) ? 0 : ENOENT;
    return accepts_in_silence(hello) ? 0 : ENOENT;
}

int
unprofiled_dump(const WireHelloReply *hello)
{
    return accepts_in_silence(hello) ? EFAULT : ENOENT;
}

int
unprofiled_read(const WireHelloReply *hello)
{
    return is_built(hello) ? 0 : ENOENT;
}
