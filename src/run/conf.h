/* SPDX-License-Identifier: Apache-2.0 */
/* jemalloc's option text, "KEY:VALUE,KEY:VALUE", in which the last value of a key is used (jemalloc(3), TUNING). */
#ifndef JESCOPE_RUN_CONF_H
#define JESCOPE_RUN_CONF_H

#include <glib.h>

/* Joins DEFAULTS, the USER's settings (or NULL) and those ASKED on the command line (or ""). To be freed. */
char *conf_merge(const char *defaults, const char *user, const char *asked);

/* The value used for KEY, to be freed, or NULL. */
char *conf_value(const char *conf, const char *key);

/* Sets the variables of all possible jemallocs in *ENVIRONMENT (a list for g_environ_setenv()): the plain one, those
 * with the usual prefixes, the one with PREFIX (NULL: none), and each existing *MALLOC_CONF. Each keeps the user's text
 * between DEFAULTS and ASKED. */
void conf_set_variables(char ***environment, const char *prefix, const char *defaults, const char *asked);

#endif
