/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JESCOPE_CLI_PPROF_OPTIONS_H
#define JESCOPE_CLI_PPROF_OPTIONS_H

#include <glib.h>

/*
 * Replaces options of pprof and jeprof with the same meaning (with one dash or two) by jescope's, up to "--". One with
 * another meaning is an error (CLI_ERROR_USAGE) that names the option to use.
 */
gboolean pprof_options_translate(char ***argv, GError **error);

#endif
