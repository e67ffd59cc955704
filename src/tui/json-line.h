/* SPDX-License-Identifier: Apache-2.0 */
/* Frames as JSON. */
#ifndef JESCOPE_TUI_JSON_LINE_H
#define JESCOPE_TUI_JSON_LINE_H

#include "tui/model.h"

/* The latest frame of MODEL as one line of JSON (docs/top.md): the status documents of its targets, with their gains.
 * NULL if out of memory. */
char *json_line(const Model *model);

#endif
