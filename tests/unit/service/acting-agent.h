/* SPDX-License-Identifier: Apache-2.0 */
/* An agent with a profiler that can be switched, leased and dumped, and a service that has it as its only target. */
#ifndef JESCOPE_TESTS_UNIT_SERVICE_ACTING_AGENT_H
#define JESCOPE_TESTS_UNIT_SERVICE_ACTING_AGENT_H

#include "../target/fake-agent.h"

#include "service/service.h"

/* Touched by the agent's thread and by the test: with LOCK. */
typedef struct {
    GMutex lock;
    GCond changed;
    gboolean active;
    guint64 lease; /* 0: none */
    guint64 last_lease;
    guint hellos;
    guint dumps;
    guint renewals;
    int dump_error;   /* errno that dumps fail with; 0: they work */
    gboolean silent;  /* hangs up on everything, as an agent that cannot be reached */
    gboolean blocked; /* HELLO waits until it is false */
    guint waiting;    /* HELLOs that wait */
} Acting;

typedef struct {
    Acting acting;
    FakeAgent *agent;
    Service *service;
    ServiceTarget *target; /* borrowed */
} Stage;

/* OPTIONS may be NULL; their targets are not looked at. */
Stage *stage_new(const ServiceOptions *options);
void stage_free(Stage *stage);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Stage, stage_free)

/* Turns the main context until *FLAG is true; a minute without is a failure. */
void stage_wait(const gboolean *flag);

/* Does FUNC as quick (or slow) work on the target and waits until it is done. */
void stage_do(Stage *stage, ServicePace pace, ServiceWorkFunc func, gpointer data);

/* Hands an empty live sample of SERIES, of the target, to the sinks. */
void stage_hand_sample(Stage *stage, const char *series);

/* Sets a field of acting under its lock. */
#define stage_set(stage, field, value)                                                                                 \
    do {                                                                                                               \
        g_mutex_lock(&(stage)->acting.lock);                                                                           \
        (stage)->acting.field = (value);                                                                               \
        g_cond_broadcast(&(stage)->acting.changed);                                                                    \
        g_mutex_unlock(&(stage)->acting.lock);                                                                         \
    } while (0)

/* Reads one. */
guint stage_get(Stage *stage, const guint *field);

#endif
