/* SPDX-License-Identifier: Apache-2.0 */
/* jemalloc's option text, "KEY:VALUE,KEY:VALUE": where a key comes twice, the later one counts (jemalloc(3), TUNING).
 */
#ifndef JESCOPE_CLI_CONF_H
#define JESCOPE_CLI_CONF_H

#include <glib.h>

/* DEFAULTS, then what the user has set (or NULL), then what the command line asks for (or ""). */
char *conf_merge(const char *defaults, const char *user, const char *asked);

/* The value that counts for KEY, or NULL. */
char *conf_value(const char *conf, const char *key);

/* Sets in *ENVIRONMENT (a list of g_environ_setenv()) the variable of every jemalloc that may come along: the plain
 * one, those of the usual prefixes, that of PREFIX (NULL: none), and each *MALLOC_CONF that is there. Each keeps its
 * own text from the user between DEFAULTS and ASKED. */
void conf_set_variables(char ***environment, const char *prefix, const char *defaults, const char *asked);

#endif
