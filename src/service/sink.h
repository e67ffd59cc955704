/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where what is collected goes. A sample, a remark or an event is taken once and handed to every sink of the table in
 * service.c; a new sink is one file and one row there.
 */
#ifndef JESCOPE_SERVICE_SINK_H
#define JESCOPE_SERVICE_SINK_H

#include "history/history.h"
#include "service/service.h"

typedef struct {
    HistoryLife life; /* the process it is of, and its series */
    const char *subject;
    StatsSample *sample;
    ServiceTarget *target; /* NULL: it is of a log */
} CollectedSample;

typedef enum {
    REMARK_NOTE,
    REMARK_MISSING, /* there are no samples until the next one comes; told once until then */
    REMARK_OVER,    /* the series ends; TEXT is not used */
} RemarkKind;

/* On a series. */
typedef struct {
    RemarkKind kind;
    const char *series;
    const char *subject; /* put before TEXT where the operator reads it; NULL: TEXT has it */
    const char *text;
} CollectedRemark;

/* Each function may be NULL. STATE is what new() returned. */
typedef struct {
    gpointer (*new)(Service *service); /* SERVICE outlives it */
    void (*free)(gpointer state);
    /* On a thread of the service, which other work on the same target waits for. */
    void (*sample)(gpointer state, const CollectedSample *collected);
    /* On any thread; does not block. */
    void (*remark)(gpointer state, const CollectedRemark *remark);
    /* In the main context. */
    void (*event)(gpointer state, const ServiceEvent *event);
    /* In the main context: a clean end begins; work that is submitted now is done before it. */
    void (*stop)(gpointer state);
    /* In the main context: the owner frees the service. Lets go of targets. */
    void (*close)(gpointer state);
    /* After each tick of the collector, on a thread of the service, one at a time. */
    void (*tick)(gpointer state);
} Sink;

extern const Sink history_sink;  /* history-sink.c: the history, and what the operator reads of its gaps */
extern const Sink advice_sink;   /* advice-sink.c: events where the advice on a target changes */
extern const Sink blackbox_sink; /* blackbox.c */
extern const Sink push_sink;     /* push-sink.c: dumps for other systems */
extern const Sink rules_sink;    /* rules-sink.c: what rules do */
extern const Sink event_sink;    /* events.c: the latest events, and their subscribers */

#endif
