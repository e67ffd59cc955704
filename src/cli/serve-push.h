/* SPDX-License-Identifier: Apache-2.0 */
/* The sections [push] and [push NAME] of the configuration file of `serve`. */
#ifndef JESCOPE_CLI_SERVE_PUSH_H
#define JESCOPE_CLI_SERVE_PUSH_H

#include "service/push.h"

/* Whether GROUP is such a section. */
gboolean serve_push_is_section(const char *group);

/* Of ServicePush: the sections of FILE, which was read from the path NAME. NULL with CLI_ERROR_USAGE, which names
 * NAME. */
GPtrArray *serve_push_read(GKeyFile *file, const char *name, GError **error);

#endif
