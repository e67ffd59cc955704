/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Consumers of collected data. Each sample, remark and event is passed to every sink of the table in service.c; a new
 * sink is one file and one row there.
 */
#ifndef JESCOPE_SERVICE_SINK_H
#define JESCOPE_SERVICE_SINK_H

#include "history/history.h"
#include "service/service.h"

typedef struct {
    HistoryLife life; /* its process and series */
    const char *subject;
    StatsSample *sample;
    ServiceTarget *target; /* NULL: from a log */
} CollectedSample;

typedef enum {
    REMARK_NOTE,
    REMARK_MISSING, /* samples are missing until the next one; sent once until then */
    REMARK_ENDED,   /* a process has ended: samples are missing until the next one */
    REMARK_OVER,    /* the series ends; TEXT is not used */
} RemarkKind;

/* A remark on a series. */
typedef struct {
    RemarkKind kind;
    const char *series;
    const char *subject; /* put before TEXT in messages for the operator; NULL: TEXT includes it */
    const char *text;
    const ServiceTarget *target; /* that caused the remark; NULL: none did */
} CollectedRemark;

/* Each function may be NULL. STATE is the result of new(). */
typedef struct {
    gpointer (*new)(Service *service); /* SERVICE outlives it */
    void (*free)(gpointer state);
    /* Called on a thread of the service; other work on the target waits for it. The target may have ended, and its
     * series be over, when this or remark() is called: an answer may come from another process that holds the agent's
     * socket. */
    void (*sample)(gpointer state, const CollectedSample *collected);
    /* Called on any thread; must not block. */
    void (*remark)(gpointer state, const CollectedRemark *remark);
    /* Called in the main context. */
    void (*event)(gpointer state, const ServiceEvent *event);
    /* Called in the main context when a clean shutdown begins, which waits for work submitted now. */
    void (*stop)(gpointer state);
    /* Called in the main context when the owner frees the service; must release its targets. */
    void (*close)(gpointer state);
    /* Called after each tick of the collector, on a thread of the service, one at a time. */
    void (*tick)(gpointer state);
} Sink;

extern const Sink history_sink;  /* history-sink.c: the history, and messages about gaps in it */
extern const Sink advice_sink;   /* advice-sink.c: events when the advice on a target changes */
extern const Sink blackbox_sink; /* blackbox.c */
extern const Sink push_sink;     /* push-sink.c: dumps for other systems */
extern const Sink rules_sink;    /* rules-sink.c: rules and their actions */
extern const Sink event_sink;    /* events.c: the latest events, and their subscribers */

#endif
