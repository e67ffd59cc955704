/* SPDX-License-Identifier: Apache-2.0 */
/* Frames for programs. */
#ifndef JESCOPE_TUI_JSON_LINE_H
#define JESCOPE_TUI_JSON_LINE_H

#include "tui/model.h"

/* The latest frame of MODEL as one line of JSON (docs/top.md): the status documents of its targets, with what they
 * gain. NULL: no memory. */
char *json_line(const Model *model);

#endif
