/* SPDX-License-Identifier: Apache-2.0 */
/* The preloaded agent, which starts by itself, or the injected one, which waits for a call. */
#include "agent/life.h"
#include "agent/listing.h"
#include "agent/locate.h"

extern __attribute__((visibility("default"))) int jescope_agent_enter(const char *socket_directory,
                                                                      const char *runtime_directory);

/* WireEnter. */
int
jescope_agent_enter(const char *socket_directory, const char *runtime_directory)
{
    return (int)life_enter(socket_directory, runtime_directory);
}

__attribute__((constructor)) static void
enter(void)
{
    Environment environment;
    if (locate_own_name_begins(WIRE_ENTER_NAME_BEGIN)) {
        listing_guard_forks(); /* a fork that has begun now should have ended when jescope_agent_enter() lists */
    } else {
        environment_read(&environment);
        life_begin(&environment);
    }
}
