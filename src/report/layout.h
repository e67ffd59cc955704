/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Laying out a graph with Graphviz, in a child process: the library may crash, take memory without end or not come back
 * on graphs made of foreign names, and none of that must reach us.
 */
#ifndef JESCOPE_REPORT_LAYOUT_H
#define JESCOPE_REPORT_LAYOUT_H

#include <gio/gio.h>

/* Draws dot as SVG. REPORT_ERROR_LAYOUT when Graphviz fails, or needs over 60 seconds or 2 GiB. */
GBytes *layout_svg(const char *dot, GError **error);

#endif
