/* SPDX-License-Identifier: Apache-2.0 */
/* What the screens of the tests show: some targets, the same at every run. */
#ifndef JESCOPE_TESTS_TUI_SCENE_H
#define JESCOPE_TESTS_TUI_SCENE_H

#include "tui/model.h"

/* 2026-11-22T12:00:00Z */
#define SCENE_TIME_US (G_GINT64_CONSTANT(1795348800) * G_USEC_PER_SEC)

/* The Nth moment, of two seconds each. */
FeedFrame *scene_frame(guint n);

/* A model after COUNT frames. */
Model *scene_model(guint count);

/* A sample with arenas and classes. */
StatsSample *scene_sample(void);

/* The ledger of a process of 830 MiB. */
void scene_ledger(LedgerTaken *taken);

/* Reports of a dump as the API sends them: functions, the same against a mark, with the values that the dump has, and
 * of their ages; stacks; graphs without and with a difference. */
extern const char scene_table[];
extern const char scene_table_difference[];
extern const char scene_values[];
extern const char scene_ages[];
extern const char scene_nothing[];
extern const char scene_stacks[];
extern const char scene_graph[];
extern const char scene_graph_difference[];

#endif
