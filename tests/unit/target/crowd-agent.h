/* SPDX-License-Identifier: Apache-2.0 */
/* An agent whose process says that it has any number of arenas and size classes. */
#ifndef JESCOPE_TESTS_UNIT_TARGET_CROWD_AGENT_H
#define JESCOPE_TESTS_UNIT_TARGET_CROWD_AGENT_H

#include "fake-agent.h"

typedef struct {
    guint arenas;
    guint classes; /* of each kind */
    guint used;    /* value of whatever is asked of a class */
    guint counts;  /* requests for a number of classes */
} Crowd;

/* A FakeAnswer; DATA is a Crowd. */
ssize_t crowd_answer(const FakeRequest *request, FakeReply *reply, gpointer data);

#endif
