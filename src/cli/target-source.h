/* SPDX-License-Identifier: Apache-2.0 */
/* Converts an operand of `collect` or `top` that names processes to a source of the service. */
#ifndef JESCOPE_CLI_TARGET_SOURCE_H
#define JESCOPE_CLI_TARGET_SOURCE_H

#include "service/service.h"

/* ADDRESS: the name of processes, a pid or unix:PATH. Takes over SERIES (NULL: the name of the process). A name may
 * match no process yet; a pid or socket without one is an error. SOURCE must be cleared in any case. */
gboolean target_source_identify(char *series, const char *address, ServiceSource *source, GError **error);

/* For a ServiceSource. */
void target_source_clear(gpointer source);

#endif
