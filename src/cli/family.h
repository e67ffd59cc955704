/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose processes `record --children` records. Any user may have processes of a name, and those that answer late would
 * hold up the others until their leases are over. So all families of a name must be of one user: of the topmost process
 * of each, since a service may start workers of other users, but only its own.
 */
#ifndef JESCOPE_CLI_FAMILY_H
#define JESCOPE_CLI_FAMILY_H

#include <glib.h>
#include <sys/types.h>

/* The user of the topmost process of FOUND (of Candidate) from which each one descends, in the order of FOUND;
 * (uid_t)-1 if its ids differ, or an ancestor is not among ALL, the list from process_list() in which FOUND was found:
 * any user can have thousands of processes with the name, and give each ancestors that take long to read. */
GArray *families_users(const GPtrArray *found, const GArray *all);

#endif
