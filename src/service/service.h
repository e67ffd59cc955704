/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a long-running jescope does, without HTTP: it knows the targets of this machine as they come and go, does work
 * on them without ever blocking its owner, runs recordings, keeps dumps, collects statistics and tells what happened.
 *
 * Threads: a Service belongs to the thread of the main context it was made on; every function here is called there, and
 * every callback comes there, never from within the call that asked for it. Only ServiceWorkFunc and ServiceReadFunc
 * run on threads of the service. Nothing here blocks, but service_new() (which opens the history) and
 * service_reconfigure().
 */
#ifndef JESCOPE_SERVICE_SERVICE_H
#define JESCOPE_SERVICE_SERVICE_H

#include "history/dumps.h"
#include "routes/routes.h"
#include "stats/stats.h"

#include <sys/types.h>

#define SERVICE_ERROR (service_error_quark())
GQuark service_error_quark(void);

typedef enum {
    SERVICE_ERROR_BUSY,      /* this target has too much to do already: try again in a moment */
    SERVICE_ERROR_STOPPING,  /* the service is about to end and takes no more work */
    SERVICE_ERROR_UNKNOWN,   /* no such target */
    SERVICE_ERROR_AMBIGUOUS, /* several targets have this name, or there is no default among several */
    SERVICE_ERROR_SYSTEM,    /* the system has no more of something */
} ServiceError;

typedef struct Service Service;
typedef struct ServiceTarget ServiceTarget;

/* ---- the service ---- */

/* What bounds it. Zero in a field: the default. */
typedef struct {
    guint quick;             /* threads for short exchanges; 8 */
    guint slow;              /* threads for dumps and renderings; 4 */
    guint waiting;           /* pieces of work that may wait for one target; 64 */
    guint renderings;        /* child processes at once; 2 */
    guint rendering_seconds; /* that one may take; 120 */
    guint64 rendering_bytes; /* of address space it may take; 4 GiB */
} ServiceLimits;

typedef struct {
    const char *const *targets; /* as target_open() takes them, NULL at the end; NULL or empty: every local one that has
                                 * an agent. Only one that is named may be reached by ptrace. */
    const char *default_target; /* an id or name; NULL: the only one there is */
    const char *history;        /* the file; NULL: everything is kept in memory */
    HistoryRetention retention; /* of samples */
    HistoryDumpRetention dumps; /* of dumps and recordings, per target */
    guint64 every_us;           /* statistics are collected so often; 0: not at all */
    HistoryParts parts;         /* of a sample that are kept */
    ServiceLimits limits;
    void (*say)(const char *text, gpointer data); /* what the operator should know, one line without an end */
    gpointer data;
} ServiceOptions;

/* Every local target, history in memory (then bounded to an hour, 16 MiB of samples and 256 MiB of dumps unless the
 * options say less), collected every 10 s, dumps: 32 of each target, for 7 days, 256 MiB; 2 GiB of all targets. */
extern const ServiceOptions service_options_default;

/* OPTIONS is copied, but for data. Fails if the history cannot be opened. Targets are found from the next turn of the
 * main context on. */
Service *service_new(const ServiceOptions *options, GError **error);

/* At once: what is under way on threads ends by itself and its callbacks do not come any more. Recordings that run are
 * ended by their lease. service_stop() first for a clean end. */
void service_free(Service *service);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Service, service_free)

/* Changes targets, default_target, retention, dumps, every_us and parts; history and limits stay as they were. */
gboolean service_reconfigure(Service *service, const ServiceOptions *options, GError **error);

/* Ends cleanly: takes no more work, ends recordings (with their dump), lets dumps under way finish, then calls STOPPED
 * once; after at most 30 s in any case. */
void service_stop(Service *service, void (*stopped)(gpointer data), gpointer data);

/* For our own metrics. Counters since service_new(). */
typedef struct {
    guint targets; /* live ones */
    guint waiting; /* pieces of work that wait or run */
    guint64 done;
    guint64 shared;  /* were answered with the result of another one */
    guint64 refused; /* SERVICE_ERROR_BUSY */
    guint64 samples; /* taken */
    guint64 missed;  /* at which a target gave none */
    guint64 events;
} ServiceFigures;

void service_figures(const Service *service, ServiceFigures *figures);

/* ---- targets ---- */

typedef enum {
    SERVICE_REACH_UNKNOWN, /* nobody has asked it yet, or it could not be reached */
    SERVICE_REACH_AGENT,
    SERVICE_REACH_ATTACH, /* by ptrace, when somebody asks; never for statistics */
} ServiceReach;

typedef enum {
    SERVICE_TARGET_LIVE,
    SERVICE_TARGET_GONE, /* has ended; what was kept of it can still be read */
} ServiceTargetState;

/* Live ones by pid, then those that are gone, latest first, as far as something is kept of them. Of ServiceTarget, each
 * with a reference of the array's. */
GPtrArray *service_targets(Service *service);

/* TEXT: an id ("4711"), a unique id ("4711.8812033"), or the name of a process if it is unique among the live ones.
 * Borrowed. SERVICE_ERROR_UNKNOWN or _AMBIGUOUS, naming what there is. */
ServiceTarget *service_lookup(Service *service, const char *text, GError **error);

/* What paths without a target are about: the one the options name, else the only live one. Borrowed. */
ServiceTarget *service_default_target(Service *service, GError **error);

/* Whether it has looked for targets once: those that were there when it was made are known. */
gboolean service_has_looked(const Service *service);

ServiceTarget *service_target_ref(ServiceTarget *target);
void service_target_unref(ServiceTarget *target);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ServiceTarget, service_target_unref)

/* These never change. Strings are the target's. */
const char *service_target_id(const ServiceTarget *target);     /* its pid: "4711" */
const char *service_target_unique(const ServiceTarget *target); /* "PID.STARTTICKS", of no other process since boot */
const char *service_target_name(const ServiceTarget *target);   /* of the process: "redis-server" */
const char *service_target_label(const ServiceTarget *target);  /* "redis-server (4711)" */
const char *service_target_series(const ServiceTarget *target); /* its name in the history */
pid_t service_target_pid(const ServiceTarget *target);
gint64 service_target_started_us(const ServiceTarget *target); /* CLOCK_REALTIME */

/* These do. */
ServiceTargetState service_target_state(const ServiceTarget *target);
ServiceReach service_target_reach(const ServiceTarget *target);
/* Why the last attempt to talk to it failed; NULL: it did not. Free with g_free(). */
char *service_target_trouble(const ServiceTarget *target);

/* The latest sample that was taken, or NULL; unref it. */
StatsSample *service_target_sample(const ServiceTarget *target);

/* ---- work ---- */

typedef enum {
    SERVICE_QUICK, /* some exchanges */
    SERVICE_SLOW,  /* dumps, renders */
} ServicePace;

/* Runs on a thread. HOST is the target, for this call alone; functions of it that need the target itself are done one
 * after the other for all work on one target. Returns the result. */
typedef gpointer (*ServiceWorkFunc)(const RouteHost *host, gpointer data);

/* RESULT is borrowed, and shared with others if the work was. NULL with ERROR: the work was not begun
 * (SERVICE_ERROR_STOPPING). */
typedef void (*ServiceDone)(gpointer result, const GError *error, gpointer data);

typedef struct {
    ServicePace pace;
    const char *key; /* work on the same target with the same key that has not begun yet is done once for all who asked,
                      * and its FUNC is that of the first; NULL: never shared */
    const char *who; /* for events: who asked; NULL: jescope itself */
    ServiceWorkFunc func;
    gpointer data;
    GDestroyNotify free_data;   /* may be NULL; called if submitting fails, too */
    GDestroyNotify free_result; /* may be NULL */
} ServiceWork;

/* One who waits for a result. Valid until DONE was called or it was cancelled. */
typedef struct ServiceTicket ServiceTicket;

/* WORK is copied. DONE will be called once, unless the ticket is cancelled. NULL with SERVICE_ERROR_BUSY or
 * _STOPPING. Work on a target that is gone is done: its host knows what is kept. */
ServiceTicket *service_target_submit(ServiceTarget *target, const ServiceWork *work, ServiceDone done, gpointer data,
                                     GError **error);

/* DONE will not be called. Work that nobody waits for any more and that has not begun is not done. */
void service_ticket_cancel(ServiceTicket *ticket);

/* ---- statistics ---- */

typedef struct {
    ServiceTarget *target;
    StatsSample *sample;  /* NULL: ERROR says why */
    WireHelloReply hello; /* of the same moment; zeros without a sample */
    GError *error;
} ServiceScraped;

/* A fresh sample of every live target (or of ONLY, if it is not NULL), all of one moment each (one refresh of
 * jemalloc's epoch): totals, and the merged arena. SCRAPED is of ServiceScraped, borrowed; DURATION_US is the time it
 * took. A target that does not answer within 5 s is given up. */
typedef void (*ServiceScrapeFunc)(const GPtrArray *scraped, gint64 duration_us, gpointer data);
void service_scrape(Service *service, ServiceTarget *only, ServiceScrapeFunc func, gpointer data);

/* Reads the history on a thread: series_read(), history_targets()... HISTORY is open for reading (or, if everything is
 * kept in memory, for writing) and READ's alone for the call. Returns the result, or NULL with ERROR. */
typedef gpointer (*ServiceReadFunc)(History *history, gpointer data, GError **error);

typedef struct {
    ServiceReadFunc func;
    gpointer data;
    GDestroyNotify free_data;   /* may be NULL */
    GDestroyNotify free_result; /* may be NULL */
} ServiceRead;

/* READ is copied. */
void service_read_history(Service *service, const ServiceRead *read, ServiceDone done, gpointer done_data);

/* ---- events ---- */

typedef enum {
    SERVICE_EVENT_TARGET_CAME,
    SERVICE_EVENT_TARGET_GONE,
    SERVICE_EVENT_PROFILING_ON,
    SERVICE_EVENT_PROFILING_OFF,
    SERVICE_EVENT_CONTROL, /* another control was written */
    SERVICE_EVENT_RECORDING_STARTED,
    SERVICE_EVENT_RECORDING_ENDED,
    SERVICE_EVENT_DUMP,
    SERVICE_EVENT_ADVICE,     /* something is to be said about the target now */
    SERVICE_EVENT_ADVICE_OFF, /* and not any more */
    SERVICE_EVENT_COUNT,
} ServiceEventType;

typedef struct {
    guint64 id; /* from 1 on, without gaps */
    gint64 time_us;
    ServiceEventType type;
    const char *target; /* its id */
    const char *label;  /* "redis-server (4711)" */
    guint64 subject;    /* id of the recording or dump; 0: none */
    const char *who;    /* ServiceWork.who; NULL: jescope itself, the program, or nobody knows */
    const char *detail; /* a phrase: the control and its value, how the recording ended, the advice's id */
} ServiceEvent;

/* "target-came": for Server-Sent Events and JSON. */
const char *service_event_name(ServiceEventType type);

/* EVENT is borrowed. */
typedef void (*ServiceEventFunc)(const ServiceEvent *event, gpointer data);

/* FUNC is called for each event after AFTER (an id) that is still kept, from within this call, and then for each that
 * happens. Returns a number for service_unsubscribe(), never 0. */
guint service_subscribe(Service *service, guint64 after, ServiceEventFunc func, gpointer data);

/* May be called from within FUNC. */
void service_unsubscribe(Service *service, guint subscription);

/* The newest event's id; 0: there was none. With it, service_subscribe() tells of new ones only. */
guint64 service_last_event(const Service *service);

/* Whether events after AFTER have been forgotten: the ring keeps 1024. */
gboolean service_events_lost(const Service *service, guint64 after);

#endif
