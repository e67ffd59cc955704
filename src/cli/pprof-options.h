/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JESCOPE_CLI_PPROF_OPTIONS_H
#define JESCOPE_CLI_PPROF_OPTIONS_H

#include <glib.h>

/*
 * Replaces options of pprof and jeprof (with one dash or two), up to "--", by jescope's with the same meaning. One with
 * a different meaning is a CLI_ERROR_USAGE that names the option to use.
 */
gboolean pprof_options_translate(char ***argv, GError **error);

#endif
