/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lays out a graph with Graphviz in a child process, since the library may crash, exhaust memory or not return on
 * graphs with hostile names.
 */
#ifndef JESCOPE_REPORT_LAYOUT_H
#define JESCOPE_REPORT_LAYOUT_H

#include <gio/gio.h>

/* The font of graphs. The drawing process opens its file before it is confined; text in other fonts is measured
 * badly. */
#define LAYOUT_FONT "Helvetica,sans-serif"

/*
 * Starts the confined drawing process (confine/sandbox.h), before the caller is confined itself and can no longer do
 * so; the two descriptors connect to it. layout_svg() starts one if there is none. One drawing per process.
 */
gboolean layout_start(GError **error);
void layout_descriptors(int descriptors[static 2]);
/* Ends the process; layout_svg() does so as well. */
void layout_stop(void);

/* Draws dot as SVG. REPORT_ERROR_LAYOUT when Graphviz fails, or needs over 60 seconds or 2 GiB. */
GBytes *layout_svg(const char *dot, GError **error);

#endif
