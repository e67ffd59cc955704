/* SPDX-License-Identifier: Apache-2.0 */
#include "routes/unprofiled.h"

#include "jemalloc/version.h"

#include <errno.h>

static bool
is_built(const WireHelloReply *hello)
{
    return (hello->flags & WIRE_FLAG_CONFIG_PROF) != 0;
}

/* Up to 5.2.1 switching on was accepted in silence; a version that cannot be read is taken for a new one. */
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
    return !is_built(hello) || (hello->flags & WIRE_FLAG_OPT_PROF) == 0;
}

int
unprofiled_write_active(const WireHelloReply *hello, bool active)
{
    if (!active) {
        return is_built(hello) ? 0 : ENOENT;
    }
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
