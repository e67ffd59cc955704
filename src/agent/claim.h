/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One socket per process, even with several copies of the agent: preloaded, linked into the program, linked into a
 * plugin, injected. Each copy has an ELF note that locates its claim, so that the others find it among the loaded
 * objects without a symbol, a name or a file. (Type 16, owner "jescope", 4 bytes: the offset of the claim from these
 * bytes.)
 */
#ifndef JESCOPE_AGENT_CLAIM_H
#define JESCOPE_AGENT_CLAIM_H

#include <stdbool.h>

/*
 * Claims this process's socket; false if another copy has done so, or if that cannot be found out (listing.h). Briefly
 * takes the loader's lock. Of two copies that claim at the same time, both may be refused.
 */
bool claim_take(void);

/* Gives the claim up: another copy may take it from now on. */
void claim_give(void);

#endif
