/* SPDX-License-Identifier: Apache-2.0 */
/* jemalloc's option text, "KEY:VALUE,KEY:VALUE": the last value of a key counts (jemalloc(3), TUNING). */
#ifndef JESCOPE_RUN_CONF_H
#define JESCOPE_RUN_CONF_H

#include <glib.h>

/* DEFAULTS, then the user's settings (or NULL), then those of the command line (or ""). */
char *conf_merge(const char *defaults, const char *user, const char *asked);

/* The value that counts for KEY, or NULL. */
char *conf_value(const char *conf, const char *key);

/* Sets in *ENVIRONMENT (a list of g_environ_setenv()) the variable of every possible jemalloc: the plain one, those of
 * the usual prefixes, that of PREFIX (NULL: none), and each existing *MALLOC_CONF. Each keeps the user's text between
 * DEFAULTS and ASKED. */
void conf_set_variables(char ***environment, const char *prefix, const char *defaults, const char *asked);

#endif
