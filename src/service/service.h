/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A long-running jescope without HTTP: it tracks the targets of this machine, executes requests to them without
 * blocking its owner, runs recordings, keeps dumps, collects statistics and reports events.
 *
 * Threads: a Service belongs to the thread of the main context it was made on; every function is called there, as are
 * all callbacks, but never from within the call that requested them. Only ServiceWorkFunc and ServiceReadFunc run on
 * threads of the service. No function blocks, except service_new() (which opens the history) and service_reconfigure().
 */
#ifndef JESCOPE_SERVICE_SERVICE_H
#define JESCOPE_SERVICE_SERVICE_H

#include "blackbox/keeper.h"
#include "history/dumps.h"
#include "routes/render.h"
#include "routes/status.h"
#include "rules/engine.h"
#include "service/push.h"
#include "stats/ledger-take.h"
#include "stats/stats.h"
#include "target/viewer.h"

#include <sys/types.h>

typedef struct Service Service;
typedef struct ServiceTarget ServiceTarget;

/* ---- the service ---- */

enum {
    SERVICE_USERS_AT_ONCE = 2, /* users whose targets can use the limits of one user at the same time */
};

/* Limits. Zero in a field: the default. Threads and child processes are counted by the user that targets run as. */
typedef struct {
    guint quick;             /* threads of one user's targets for short exchanges; 8 */
    guint slow;              /* and for dumps and renderings; 4 */
    guint waits;             /* and for requests with a duration; 4 */
    guint keeps;             /* and for snapshots of the black box; 2 */
    guint targets;           /* of one user, of those that are not named; 1024 */
    guint waiting;           /* pieces of work that may wait for one target; 64 */
    guint waiting_seconds;   /* that one may wait for its turn; 30 */
    guint stop_seconds;      /* that a clean end may take; 30 */
    guint renderings;        /* child processes for one user's targets at once; 2 */
    guint rendering_seconds; /* that one may take; 120 */
    guint64 rendering_bytes; /* of address space it may take; 4 GiB */
    guint64 page_tree_bytes; /* that page trees of all targets may have in memory; 256 MiB */
} ServiceLimits;

/* A watch of a target as `jescope doctor` does it. */
typedef struct {
    const char *address; /* of the target */
    guint64 watch_ms;
    int kept; /* as RenderExamination.kept */
} ServiceExamination;

/* ---- the black box ---- */

typedef enum {
    SERVICE_BLACKBOX_OFF,
    SERVICE_BLACKBOX_LIMITED, /* targets with an agent whose memory control group has a limit and is not ours as well */
    SERVICE_BLACKBOX_ALL,     /* every target with an agent */
} ServiceBlackboxScope;

typedef enum {
    SERVICE_BLACKBOX_PROFILING_OFF,   /* it is left as it is */
    SERVICE_BLACKBOX_PROFILING_READY, /* switched on where jemalloc was started with prof:true */
    SERVICE_BLACKBOX_PROFILING_ANY,   /* else with jescope's sampler */
} ServiceBlackboxProfiling;

typedef struct {
    ServiceBlackboxScope scope;
    ServiceBlackboxProfiling profiling;
    const char *directory; /* of its files (blackbox/life.h); NULL if OFF */
    BlackboxQuota quota;
} ServiceBlackbox;

/* A process with the rights that this one has dropped (src/broker/), for operations that require them. Thread-safe. */
typedef struct {
    /* A new scanner (scan.h), for its configured targets; NULL on failure. */
    gpointer (*scanner_new)(guint per_user);
    void (*scanner_free)(gpointer scanner);
    struct ScanResult *(*scan)(gpointer scanner, const GArray *hints);
    Outcome (*render)(const RenderSetup *setup, const RouteRendering *rendering, int *descriptor, Failure *failure);
    Outcome (*growth)(const RenderSetup *setup, const RenderGrowth *wanted, int *descriptor, Failure *failure);
    Outcome (*examine)(const RenderSetup *setup, const ServiceExamination *wanted, int *descriptor, Failure *failure);
} ServiceRoot;

/* What 'jescope collect' keeps, in the series of the name that the user chose. Its strings are borrowed for as long as
 * the service. */
typedef enum {
    SERVICE_SOURCE_PROCESS,   /* NAME, a pid or unix:PATH, and when that has ended the next process called PROGRAM */
    SERVICE_SOURCE_PROCESSES, /* all that go by NAME, now and later, in SERIES, SERIES/2, ... (fleet.h) */
    SERVICE_SOURCE_LOG,       /* what is appended to the file NAME; writers as in history_log_target() */
} ServiceSourceKind;

typedef struct {
    ServiceSourceKind kind;
    const char *series;
    const char *name;
    const char *program;
} ServiceSource;

typedef struct {
    const char *const *targets; /* as target_open() takes them, NULL at the end; NULL or empty: every local one that has
                                 * an agent. Only one that is named may be reached by ptrace. */
    const ServiceSource *sources; /* instead of targets; borrowed */
    guint n_sources;
    const char *default_target; /* an id or name; NULL: the only one there is */
    const char *history;        /* the file; NULL: everything is kept in memory */
    HistoryRetention retention; /* of samples */
    HistoryDumpRetention dumps; /* of dumps and recordings, per target */
    const char *rules;          /* the directory of rule files (rules/directory.h); NULL: there are no rules */
    guint64 every_us;           /* statistics are collected so often; 0: not at all */
    HistoryParts parts;         /* of a sample that are kept */
    ServiceBlackbox blackbox;
    guint background_threads;    /* max_background_threads of each target when it is found; 0: as it is */
    struct PrekillHook *prekill; /* what asks the black box for a snapshot (blackbox/prekill.h), which the service
                                  * begins and ends; outlives the service. NULL: nothing does */
    GPtrArray *pushes; /* of ServicePush (push.h): where dumps are pushed, of which the service takes a reference; NULL:
                        * nowhere */
    ServiceLimits limits;
    const ServiceRoot *root;                            /* NULL: we have all rights that are needed */
    void (*say)(const char *text, gpointer data);       /* a message for the operator, one line without a newline */
    void (*failed)(const GError *error, gpointer data); /* the history cannot be written, and waiting does not help; may
                                                         * be called again. NULL: samples wait all the same */
    gpointer data;
} ServiceOptions;

/* Every local target, history in memory (then bounded to an hour, 16 MiB of samples and 256 MiB of dumps unless the
 * options say less), collected every 10 s, dumps: 32 of each target, for 7 days, 256 MiB; 2 GiB of all targets; no
 * black box. */
extern const ServiceOptions service_options_default;

/* OPTIONS is copied, except data. Fails if the history cannot be opened, or a push cannot be set up. Targets are found
 * from the next iteration of the main context on. */
Service *service_new(const ServiceOptions *options, GError **error);

/* Immediate: work in progress on threads ends by itself, without callbacks. Running recordings are ended by their
 * lease. Call service_stop() first for a clean end. */
void service_free(Service *service);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Service, service_free)

/* Changes targets, default_target, retention, dumps, every_us, parts, background_threads (of targets that are found
 * from now on), pushes and blackbox but its directory; history, rules, prekill and limits stay as they were. */
gboolean service_reconfigure(Service *service, const ServiceOptions *options, GError **error);

/* Ends cleanly: accepts no more work, ends recordings (with their dump), completes dumps in progress, then calls
 * STOPPED once; after ServiceLimits.stop_seconds in any case. */
void service_stop(Service *service, void (*stopped)(gpointer data), gpointer data);

/* Of the black box; counters since service_new(). */
typedef struct {
    guint watched;        /* targets, now */
    guint64 snapshots;    /* kept */
    guint64 without_dump; /* of them: the target gave none */
    guint64 failures;     /* snapshots and ends that could not be written, targets that could not be watched */
    guint64 ends;         /* of watched targets */
    guint64 kills;        /* of them: by the kernel for lack of memory */
} ServiceBlackboxFigures;

/* For our own metrics. Counters since service_new(). */
typedef struct {
    ServiceBlackboxFigures blackbox;
    guint targets; /* live ones */
    guint waiting; /* pieces of work that wait or run */
    guint64 done;
    guint64 shared;  /* were answered with the result of another one */
    guint64 refused; /* OUTCOME_CROWDED */
    guint64 samples; /* taken */
    guint64 missed;  /* at which a target gave none */
    guint64 events;
    guint64 rule_firings;
    guint64 rule_failures;    /* actions of rules that failed */
    guint64 rule_evaluations; /* rules on samples of series that they choose */
} ServiceFigures;

/* Samples, after writing what waits, which may take long. */
typedef struct {
    guint64 written;
    guint64 lost; /* were taken and could not be written */
} ServiceWritten;
ServiceWritten service_written(Service *service);

void service_figures(const Service *service, ServiceFigures *figures);

/* ---- targets ---- */

typedef enum {
    SERVICE_TARGET_LIVE,
    SERVICE_TARGET_GONE, /* has ended; its kept data can still be read */
} ServiceTargetState;

/* Whether TARGET is visible to VIEWER: its agent would answer this user, or, if it may be reached by ptrace, the kernel
 * would allow this user to trace it. Examines the present process. */
gboolean service_target_is_visible(const ServiceTarget *target, Viewer viewer);

/* Live ones by pid, then ended ones with kept data, latest first. Of ServiceTarget, each with a reference of the
 * array's. */
GPtrArray *service_targets(Service *service, Viewer viewer);

/* TEXT: an id ("4711"), a unique id ("4711.8812033"), or the name of a process if it is unique among the live ones.
 * Borrowed. OUTCOME_UNKNOWN_TARGET or _AMBIGUOUS, naming what there is. */
ServiceTarget *service_lookup(Service *service, Viewer viewer, const char *text, GError **error);

/* The target of paths without one: the one that the options name, else the only live one, else the last one visible to
 * VIEWER that has ended. Borrowed. */
ServiceTarget *service_default_target(Service *service, Viewer viewer, GError **error);

/* Whether it has looked for targets once: those that were there when it was made are known. */
gboolean service_has_looked(const Service *service);

ServiceTarget *service_target_ref(ServiceTarget *target);
void service_target_unref(ServiceTarget *target);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ServiceTarget, service_target_unref)

/* These never change. Strings are the target's. */
const char *service_target_id(const ServiceTarget *target);     /* its pid: "4711" */
const char *service_target_name(const ServiceTarget *target);   /* of the process: "redis-server" */
const char *service_target_label(const ServiceTarget *target);  /* "redis-server (4711)" */
const char *service_target_series(const ServiceTarget *target); /* its name in the history */
gint64 service_target_started_us(const ServiceTarget *target);  /* CLOCK_REALTIME */

/* These do. */
ServiceTargetState service_target_state(const ServiceTarget *target);
/* Why the last attempt to talk to it failed; NULL: it did not. Free with g_free(). */
char *service_target_trouble(const ServiceTarget *target);

/* The time without contact after a failure, in which requests get the same error immediately; it doubles with each
 * missed deadline, up to a minute. 0: no wait. */
gint64 service_target_left_alone_us(const ServiceTarget *target);

/* What is known of it without asking it: the profiling state and the figures are the latest that were seen. The strings
 * of STATUS are the target's. */
void service_target_status(ServiceTarget *target, RouteStatus *status);

/* ---- work ---- */

typedef enum {
    SERVICE_QUICK, /* some exchanges */
    SERVICE_SLOW,  /* dumps, renders */
    SERVICE_WAITS, /* waits for a requested duration (RouteHostOps.pause) */
    SERVICE_KEEPS, /* snapshots of the black box, which must not wait behind renders */
    SERVICE_PACES,
} ServicePace;

/* Runs on a thread. HOST is the target, for this call alone; functions of it that need the target itself are done one
 * after the other for all work on one target. Returns the result. */
typedef gpointer (*ServiceWorkFunc)(const RouteHost *host, gpointer data);

/* RESULT is borrowed, and shared with others if the work was. NULL with ERROR: the work was not begun
 * (OUTCOME_STOPPING, OUTCOME_LATE). */
typedef void (*ServiceDone)(gpointer result, const GError *error, gpointer data);

typedef struct {
    ServicePace pace;
    const char *key; /* queued work on the same target with the same key is done once for all requests, with FUNC of the
                        first; NULL: never coalesced */
    gboolean forgoable; /* a clean end does not wait for it */
    gboolean lasting;   /* it is done even if its tickets are cancelled before it has begun */
    const char *who;    /* for events: the client; NULL: jescope itself */
    ServiceWorkFunc func;
    gpointer data;
    GDestroyNotify free_data;   /* may be NULL; called if submitting fails, too */
    GDestroyNotify free_result; /* may be NULL */
} ServiceWork;

/* A pending request for a result. Valid until DONE was called or it was cancelled. */
typedef struct ServiceTicket ServiceTicket;

/* WORK is copied. DONE will be called once, unless the ticket is cancelled. NULL with OUTCOME_CROWDED or _STOPPING.
 * Work on an ended target is also done: its host has the kept data. */
ServiceTicket *service_target_submit(ServiceTarget *target, const ServiceWork *work, ServiceDone done, gpointer data,
                                     GError **error);

/* The target that the work is on. HOST as below. */
ServiceTarget *service_work_target(const RouteHost *host);

/* Whether a client still waits for the result: long work checks this from time to time, on its thread, and ends early
 * if not. HOST is the one it was called with. */
gboolean service_work_is_wanted(const RouteHost *host);

/* DONE will not be called. Work that no ticket waits for any more and that has not begun is not done, unless it is
 * lasting. */
void service_ticket_cancel(ServiceTicket *ticket);

/* ---- pushing ---- */

/* Of each of the options' pushes in their order, of ServicePushFigures (push.h). */
GArray *service_push_figures(Service *service);

/* ---- statistics ---- */

typedef struct {
    ServiceTarget *target;
    StatsSample *sample;  /* NULL: ERROR says why */
    WireHelloReply hello; /* of the same moment; zeros without a sample */
    gboolean late;        /* it did not answer in time */
    gint64 age_us;        /* of a sample that it gave to an earlier scrape; 0: it is a fresh one */
    GError *error;
} ServiceScraped;

/*
 * A fresh sample of every live target that VIEWER sees (or of ONLY, if it is not NULL), all of one moment each (one
 * refresh of jemalloc's epoch): totals, and the merged arena. SCRAPED is of ServiceScraped, borrowed; DURATION_US is
 * the time it took.
 *
 * A target that does not answer within 250 ms is late: its sample of an earlier scrape is used, at most 5 minutes old,
 * or none, and the request continues for the next scrape. So that one user's targets cannot delay all scrapes, the time
 * halves, for all targets of this user, with each scrape that one of them has delayed (down to 8 ms, and doubles again
 * with each minute without); and a scrape does not wait for a late target until it has given a sample. Without any
 * sample, and with a single target, the time is 5 s.
 */
typedef void (*ServiceScrapeFunc)(const GPtrArray *scraped, gint64 duration_us, gpointer data);
typedef struct {
    Viewer viewer;
    ServiceTarget *only;
} ServiceScrapeOf;

void service_scrape(Service *service, const ServiceScrapeOf *of, ServiceScrapeFunc func, gpointer data);

/* In quick work on a target: a fresh sample with every arena and the size classes of all of them together; NULL with
 * ERROR. A target without an agent is not stopped for it, unless a source names it. */
StatsSample *service_work_sample(const RouteHost *host, GError **error);

/* HISTORY is open for reading (or, if everything is kept in memory, for writing) and the function's alone for the call.
 * Returns the result, or NULL with ERROR. */
typedef gpointer (*ServiceReadFunc)(History *history, gpointer data, GError **error);

/* For slow work on a target, on its thread: reads the history with FUNC: series_read(), history_targets()... Reading
 * takes long, and is counted against the target's user as all work on it is; other work on the target may begin. HOST
 * is the one it was called with. */
gpointer service_work_read_history(const RouteHost *host, ServiceReadFunc func, gpointer data, GError **error);

/* Likewise: takes the ledger of the target; *TAKEN is the caller's to clear if OUTCOME_DONE. */
Outcome service_work_take_ledger(const RouteHost *host, LedgerTaken *taken, Failure *failure);

/* For slow work on a target: the growth over kept dumps with the N (from 3 to RENDER_GROWTH_MAX) ids IDS, oldest first;
 * OPTIONS as in RenderGrowth. *DESCRIPTOR, the caller's, has the answer in JSON (docs/formats.md, "Growth"). */
typedef struct {
    const char *const *options;
    const guint64 *ids;
    gsize n;
} ServiceGrowth;
Outcome service_work_growth(const RouteHost *host, const ServiceGrowth *wanted, int *descriptor, Failure *failure);

/* For waiting work on a target: watches it for WATCH_MS, and finds the cause for which it holds its memory, in a child.
 * *DESCRIPTOR, the caller's, has the answer in JSON (docs/formats.md, "jescope-doctor"). Other work on the target goes
 * on meanwhile. It ends early when no client waits for the result. */
Outcome service_work_examine(const RouteHost *host, guint64 watch_ms, int *descriptor, Failure *failure);

/* ---- processes that have ended ---- */

/* Of the black box, also where it is off now; NULL: there never was one. Valid as long as SERVICE. */
const char *service_blackbox_directory(const Service *service);

/* A report of a dump. */
typedef struct {
    uid_t user; /* whose process it is, to which the work is charged */
    const char *title;
    pid_t pid; /* 0: it has ended */
    const RouteRendering *rendering;
    gboolean no_files; /* no file is opened but the dump, and it is done with our own rights */
} ServiceRender;

/* As RouteHostOps.render. On any thread; may wait for other reports. */
Outcome service_render(Service *service, const ServiceRender *wanted, int *descriptor, Failure *failure);

/* A report in the format page. What takes long is kept and used for the next one of the same content. */
typedef struct {
    uid_t user;                 /* as ServiceRender.user */
    const char *key;            /* of the dump and its base: never that of others */
    const char *const *options; /* as RouteRendering.options */
    Outcome (*render)(gpointer data, const char *format, const char *const *options, int *report, Failure *failure);
    gpointer data;
} ServicePage;

/* As RouteHostOps.page. On any thread; may wait for other reports. */
Outcome service_page(Service *service, const ServicePage *page, int *descriptor, Failure *failure);

/* ---- tasks without a target ---- */

/* Runs on a thread. Returns the result, or NULL with ERROR. */
typedef gpointer (*ServiceTaskFunc)(gpointer data, GError **error);

typedef struct {
    ServiceTaskFunc func;
    gpointer data;
    GDestroyNotify free_data;   /* may be NULL */
    GDestroyNotify free_result; /* may be NULL */
} ServiceTask;

/* TASK is copied. */
void service_run_task(Service *service, const ServiceTask *task, ServiceDone done, gpointer done_data);

/* ---- rules ---- */

/* As engine_each(), of the series whose targets VIEWER sees. EACH is called from within this call and calls nothing of
 * the service. */
void service_rules_each(Service *service, Viewer viewer, void (*each)(const RuleStanding *standing, gpointer data),
                        gpointer data);

/* As engine_count(), of RuleCount; empty without rules. */
GArray *service_rule_counts(Service *service);

/* Why rules or files of them are not used, of char *. */
GPtrArray *service_rules_problems(Service *service);

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
    SERVICE_EVENT_ENDED,      /* how a target of the black box has ended */
    SERVICE_EVENT_RULE_FIRED,
    SERVICE_EVENT_RULE_DONE, /* its actions are */
    SERVICE_EVENT_COUNT,
} ServiceEventType;

typedef struct {
    guint64 id; /* from 1 on, without gaps */
    gint64 time_us;
    uid_t user; /* that the target runs as: visible to it and to clients that see all */
    ServiceEventType type;
    const char *target; /* its id */
    const char *label;  /* "redis-server (4711)" */
    guint64 subject;    /* id of the recording or dump; 0: none */
    const char *who;    /* ServiceWork.who; NULL: jescope itself, the program, or unknown */
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

/* The newest event's id; 0: none. With it, service_subscribe() reports only new ones. */
guint64 service_last_event(const Service *service);

/* Whether events after AFTER have been forgotten, of whatever user's targets: 1024 are kept. */
gboolean service_events_lost(const Service *service, guint64 after);

#endif
