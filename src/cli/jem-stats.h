/* SPDX-License-Identifier: Apache-2.0 */
/* The info command `jem-stats:` of an Aerospike server, for any target; docs/dialects.md lists the differences. */
#ifndef JESCOPE_CLI_JEM_STATS_H
#define JESCOPE_CLI_JEM_STATS_H

#include "target/target.h"

#include <stdio.h>

#define JEM_STATS_COMMAND "jem-stats"

/* Whether MESSAGE is this command: "jem-stats", alone or followed by ':' and parameters. */
gboolean jem_stats_is_message(const char *message);

/* Prints TEXT, which a target wrote, as a server does: each line that is not empty with the date. Returns the bytes at
 * the end that are left out, since the lines before them take 64 MiB. */
gsize jem_stats_log(FILE *log, const char *text, gsize length);

/* Prints the server's reply on stdout, and its log output on stderr. FALSE: the reply is an error, a file was not
 * written, or the log is not complete. FALSE with ERROR set, and no reply: the target's statistics could not be read.
 */
gboolean jem_stats_run(Target *target, const char *message, GError **error);

#endif
