/* SPDX-License-Identifier: Apache-2.0 */
/* The sections [push] and [push NAME] of the configuration file of `serve`. */
#ifndef JESCOPE_CLI_SERVE_PUSH_H
#define JESCOPE_CLI_SERVE_PUSH_H

#include "service/push.h"

/* Whether GROUP is one of these sections. */
gboolean serve_push_is_section(const char *group);

/* The sections of FILE, which was read from the path NAME; of ServicePush. NULL with a CLI_ERROR_USAGE that names
 * NAME. */
GPtrArray *serve_push_read(GKeyFile *file, const char *name, GError **error);

#endif
