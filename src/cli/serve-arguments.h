/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of `serve` from its options, its configuration file and its operands. */
#ifndef JESCOPE_CLI_SERVE_ARGUMENTS_H
#define JESCOPE_CLI_SERVE_ARGUMENTS_H

#include "broker/broker.h"
#include "site/serve.h"

extern const GOptionEntry serve_options[];

typedef struct ServeArguments ServeArguments;

/* Reads the configuration file on each call. The command line overrides the file, and operands its targets. Fails with
 * CLI_ERROR_USAGE. */
ServeArguments *serve_arguments_read(char **operands, GError **error);
void serve_arguments_free(ServeArguments *arguments);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ServeArguments, serve_arguments_free)

/* For serve_new() and serve_reconfigure(); the caller sets descriptors and say. Valid as long as ARGUMENTS. */
const ServeOptions *serve_arguments_options(const ServeArguments *arguments);

/* The user of root's server; NULL: default. */
const char *serve_arguments_user(const ServeArguments *arguments);

/* The socket that systemd-oomd connects to (blackbox/prekill.h); NULL: none. */
const char *serve_arguments_oomd_hook(const ServeArguments *arguments);

/* The access that root's unprivileged server keeps, for the broker, which reads the settings itself; includes the
 * sockets that it creates, unless sockets were passed in. */
BrokerPolicy *serve_arguments_policy(const ServeArguments *arguments, guint handed_over);

/* The dialects enabled by WORDS (--dialects; NULL: all) and the environment. */
gboolean serve_arguments_parse_dialects(const char *words, unsigned *dialects, GError **error);

#endif
