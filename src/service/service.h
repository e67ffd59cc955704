/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The long-running part of jescope, without HTTP: it tracks the targets of this machine, executes requests to them
 * without blocking its owner, runs recordings, keeps dumps, collects statistics and reports events.
 *
 * Threads: a Service belongs to the thread of the main context in which it was created. All functions must be called
 * there; callbacks run there, too, but never from within the call that requested them. Only ServiceWorkFunc and
 * ServiceReadFunc run on threads of the service. No function blocks, except service_new() (which opens the history) and
 * service_reconfigure().
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
    SERVICE_USERS_AT_ONCE = 2, /* number of users whose targets can reach the per-user limits at the same time */
};

/* Limits; 0: the default, which each comment ends with. Threads and child processes are counted per user that targets
 * run as. */
typedef struct {
    guint quick;             /* threads per user for short exchanges; 8 */
    guint slow;              /* threads per user for dumps and renderings, of which one peer has half; 4 */
    guint waits;             /* threads per user for requests with a duration; 4 */
    guint first_waits;       /* more threads for them, each for a user with none in progress; 32 */
    guint keeps;             /* threads per user for snapshots of the black box; 2 */
    guint targets;           /* unnamed targets per user; 1024 */
    guint waiting;           /* waiting jobs per target; 64 */
    guint waiting_seconds;   /* maximum wait of a job; 30 */
    guint stop_seconds;      /* maximum time of a clean shutdown; 30 */
    guint renderings;        /* simultaneous child processes per user, of which one peer has half; 2 */
    guint first_renderings;  /* more of them, each for a user with none in progress; 4 */
    guint rendering_seconds; /* maximum time of a child process; 120 */
    guint64 rendering_bytes; /* maximum address space of a child process; 4 GiB */
    guint64 page_tree_bytes; /* maximum memory for page trees of all targets; 256 MiB */
    guint64 rule_bytes;      /* maximum memory for what actions of rules on one user's targets hold; 1 GiB */
    guint64 base_bytes;      /* maximum memory for the bases of differences (RouteHostOps.delta_keep); 256 MiB */
} ServiceLimits;

/* The parameters of watching a target like `jescope doctor`. */
typedef struct {
    const char *address; /* the target's */
    guint64 watch_ms;
    int kept; /* as RenderExamination.kept */
} ServiceExamination;

/* ---- the black box ---- */

typedef enum {
    SERVICE_BLACKBOX_OFF,
    SERVICE_BLACKBOX_LIMITED, /* targets with an agent whose memory control group has a limit and is not jescope's
                               * own */
    SERVICE_BLACKBOX_ALL,     /* every target with an agent */
} ServiceBlackboxScope;

typedef enum {
    SERVICE_BLACKBOX_PROFILING_OFF,   /* profiling is not changed */
    SERVICE_BLACKBOX_PROFILING_READY, /* enabled if jemalloc was started with prof:true */
    SERVICE_BLACKBOX_PROFILING_ANY,   /* otherwise with jescope's sampler */
} ServiceBlackboxProfiling;

typedef struct {
    ServiceBlackboxScope scope;
    ServiceBlackboxProfiling profiling;
    const char *directory; /* directory of its files (blackbox/life.h); NULL if OFF */
    BlackboxQuota quota;
} ServiceBlackbox;

/* A process that has the rights which this one has dropped (src/broker/), for operations that require them.
 * Thread-safe. */
typedef struct {
    /* Creates a scanner (scan.h) for its configured targets; NULL on failure. */
    gpointer (*scanner_new)(guint per_user);
    void (*scanner_free)(gpointer scanner);
    struct ScanResult *(*scan)(gpointer scanner, const GArray *hints);
    Outcome (*render)(const RenderSetup *setup, const RouteRendering *rendering, int *descriptor, Failure *failure);
    Outcome (*growth)(const RenderSetup *setup, const RenderGrowth *wanted, int *descriptor, Failure *failure);
    Outcome (*examine)(const RenderSetup *setup, const ServiceExamination *wanted, int *descriptor, Failure *failure);
} ServiceRoot;

/* A source of samples for 'jescope collect', which stores them in the series that the user has named. Strings are
 * borrowed for the life of the service. */
typedef enum {
    SERVICE_SOURCE_PROCESS,   /* NAME is a pid or unix:PATH; when this process has exited, the next one called
                               * PROGRAM that continues it (identity_continues()) */
    SERVICE_SOURCE_PROCESSES, /* all current and future processes called NAME, in SERIES, SERIES/2, ... (fleet.h) */
    SERVICE_SOURCE_LOG,       /* text appended to the file NAME; writers as in history_log_target() */
} ServiceSourceKind;

typedef struct {
    ServiceSourceKind kind;
    const char *series;
    const char *name;
    const char *program;
} ServiceSource;

typedef struct {
    const char *const *targets; /* addresses for target_open(), NULL-terminated; NULL or empty: every local process with
                                 * an agent. Only named targets may be reached by ptrace. */
    const ServiceSource *sources; /* instead of targets; borrowed */
    guint n_sources;
    const char *default_target; /* an id or name; NULL: the only target */
    const char *history;        /* the history file; NULL: everything is kept in memory */
    HistoryRetention retention; /* of samples */
    HistoryDumpRetention dumps; /* for dumps and recordings, per target */
    const char *rules;          /* the directory of rule files (rules/directory.h); NULL: no rules */
    guint64 every_us;           /* interval of collecting statistics; 0: not collected */
    HistoryParts parts;         /* parts of a sample to store */
    ServiceBlackbox blackbox;
    guint background_threads;    /* max_background_threads to set in each target when it is found; 0: unchanged */
    struct PrekillHook *prekill; /* requests snapshots from the black box (blackbox/prekill.h); started and stopped by
                                  * the service, which it outlives. NULL: none */
    GPtrArray *pushes; /* of ServicePush (push.h): where dumps are pushed; the service takes a reference. NULL:
                        * nowhere */
    ServiceLimits limits;
    const ServiceRoot *root;                            /* NULL: this process has all rights needed */
    void (*say)(const char *text, gpointer data);       /* reports a message to the operator, one line without a
                                                         * newline */
    void (*failed)(const GError *error, gpointer data); /* called if the history cannot be written and waiting does not
                                                         * help, possibly repeatedly. NULL: samples still wait */
    gpointer data;
} ServiceOptions;

/* Every local target; history in memory (limited to an hour, 16 MiB of samples and 256 MiB of dumps unless the options
 * set less); statistics every 10 s; at most 32 dumps per target, for 7 days, 256 MiB, and 2 GiB for all targets; no
 * black box. */
extern const ServiceOptions service_options_default;

/* Copies OPTIONS, except data. NULL with ERROR if the history cannot be opened, or a push cannot be set up. Targets are
 * found from the next iteration of the main context. */
Service *service_new(const ServiceOptions *options, GError **error);

/* Frees the service immediately: work in progress on threads ends by itself, without callbacks, and running recordings
 * by their lease. Call service_stop() first for a clean shutdown. */
void service_free(Service *service);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Service, service_free)

/* Changes targets, default_target, retention, dumps, every_us, parts, background_threads (for targets found from now
 * on), pushes, and blackbox except its directory; history, rules, prekill and limits are not changed. */
gboolean service_reconfigure(Service *service, const ServiceOptions *options, GError **error);

/* Shuts down cleanly: accepts no more work, ends recordings (with their dump), completes dumps in progress, and then
 * calls STOPPED once; at the latest after ServiceLimits.stop_seconds. */
void service_stop(Service *service, void (*stopped)(gpointer data), gpointer data);

/* Figures of the black box; counters since service_new(). */
typedef struct {
    guint watched;        /* targets currently watched */
    guint64 snapshots;    /* snapshots kept */
    guint64 without_dump; /* snapshots for which the target gave no dump */
    guint64 failures;     /* snapshots and ends that could not be written, and targets that could not be watched */
    guint64 ends;         /* ends of watched targets */
    guint64 kills;        /* ends by the kernel's OOM killer */
} ServiceBlackboxFigures;

/* Figures for jescope's own metrics. Counters since service_new(). */
typedef struct {
    ServiceBlackboxFigures blackbox;
    guint targets; /* live targets */
    guint waiting; /* jobs that wait or run */
    guint64 done;
    guint64 shared;  /* requests answered with the result of another one */
    guint64 refused; /* requests refused with OUTCOME_CROWDED */
    guint64 samples; /* samples taken */
    guint64 missed;  /* samples that a target failed to give */
    guint64 events;
    guint64 rule_firings;
    guint64 rule_failures;    /* actions of rules that failed */
    guint64 rule_evaluations; /* evaluations of rules on samples of their series */
} ServiceFigures;

/* Numbers of samples. service_written() first writes waiting samples, which may take long. */
typedef struct {
    guint64 written;
    guint64 lost; /* taken but could not be written */
} ServiceWritten;
ServiceWritten service_written(Service *service);

void service_figures(const Service *service, ServiceFigures *figures);

/* ---- targets ---- */

typedef enum {
    SERVICE_TARGET_LIVE,
    SERVICE_TARGET_GONE, /* exited; its kept data can still be read */
} ServiceTargetState;

/* Whether TARGET is visible to VIEWER: its agent would answer this user, or, if it may be reached by ptrace, the kernel
 * would allow this user to trace it. Examines the process's current state. */
gboolean service_target_is_visible(const ServiceTarget *target, Viewer viewer);

/* The live targets by pid, then exited ones with kept data, latest first. The array owns a reference to each
 * ServiceTarget. */
GPtrArray *service_targets(Service *service, Viewer viewer);

/* TEXT: an id ("4711"), a unique id ("4711.8812033"), or the name of a process if it is unique among the live ones.
 * Borrowed. NULL with OUTCOME_UNKNOWN_TARGET or _AMBIGUOUS, whose message lists the targets. */
ServiceTarget *service_lookup(Service *service, Viewer viewer, const char *text, GError **error);

/* The target of paths without one: that named in the options, else the only live one, else the last exited one that
 * VIEWER sees. Borrowed. */
ServiceTarget *service_default_target(Service *service, Viewer viewer, GError **error);

/* Whether the first search for targets is complete, so that those that existed at service_new() are known. */
gboolean service_has_looked(const Service *service);

ServiceTarget *service_target_ref(ServiceTarget *target);
void service_target_unref(ServiceTarget *target);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ServiceTarget, service_target_unref)

/* These never change. Strings are owned by the target. */
const char *service_target_id(const ServiceTarget *target);     /* its pid: "4711" */
const char *service_target_unique(const ServiceTarget *target); /* "4711.8812033", of no other process since boot */
const char *service_target_name(const ServiceTarget *target);   /* the process's name: "redis-server" */
const char *service_target_label(const ServiceTarget *target);  /* "redis-server (4711)" */
const char *service_target_series(const ServiceTarget *target); /* its name in the history */
gint64 service_target_started_us(const ServiceTarget *target);  /* CLOCK_REALTIME */

/* These change. */
ServiceTargetState service_target_state(const ServiceTarget *target);
/* Why the last attempt to communicate failed; NULL: it did not. Free with g_free(). */
char *service_target_trouble(const ServiceTarget *target);

/* The rest of the time after a failure in which requests immediately get the same error; it doubles with each missed
 * deadline, up to a minute. 0: none. */
gint64 service_target_left_alone_us(const ServiceTarget *target);

/* Fills STATUS without contacting the target: the profiling state and the figures are the latest seen. Strings in
 * STATUS are owned by the target. */
void service_target_status(ServiceTarget *target, RouteStatus *status);

/* ---- work ---- */

typedef enum {
    SERVICE_QUICK, /* a few exchanges */
    SERVICE_SLOW,  /* dumps, renders */
    SERVICE_WAITS, /* waits for a requested duration (RouteHostOps.pause) */
    SERVICE_KEEPS, /* snapshots of the black box, which must not wait for renders */
    SERVICE_PACES,
} ServicePace;

/* Runs on a thread and returns the result. HOST is the target, valid during this call; its functions that need the
 * target itself are serialized for all work on the target. */
typedef gpointer (*ServiceWorkFunc)(const RouteHost *host, gpointer data);

/* RESULT is borrowed, and shared with other requests if the work was. NULL with ERROR if the work was not begun
 * (OUTCOME_STOPPING, OUTCOME_LATE). */
typedef void (*ServiceDone)(gpointer result, const GError *error, gpointer data);

typedef struct {
    ServicePace pace;
    const char *key;    /* queued work on a target with the same key is coalesced, with FUNC of the first request; NULL:
                         * never coalesced */
    gboolean forgoable; /* a clean shutdown does not wait for it */
    gboolean lasting;   /* it is done even if its tickets are cancelled before it begins */
    const char *who;    /* for events: the client; NULL: jescope itself */
    guint64 peer;       /* its peer_id(), which has half of the threads per user for slow work, and half of the
                         * renderings; 0: jescope itself and root, who have no such limit */
    ServiceWorkFunc func;
    gpointer data;
    GDestroyNotify free_data;   /* may be NULL; also called if submitting fails */
    GDestroyNotify free_result; /* may be NULL */
} ServiceWork;

/* A pending request for a result. Valid until DONE is called or the ticket is cancelled. */
typedef struct ServiceTicket ServiceTicket;

/* Copies WORK. DONE is called once, unless the ticket is cancelled. NULL with OUTCOME_CROWDED or _STOPPING. Work on an
 * exited target is done, too: its host has the kept data. */
ServiceTicket *service_target_submit(ServiceTarget *target, const ServiceWork *work, ServiceDone done, gpointer data,
                                     GError **error);

/* The target of the work. HOST is the one passed to ServiceWorkFunc. */
ServiceTarget *service_work_target(const RouteHost *host);

/* Whether a client still waits for the result: long work should check this from time to time, on its thread, and end
 * early if not. HOST is the one passed to ServiceWorkFunc. */
gboolean service_work_is_wanted(const RouteHost *host);

/* Cancels a ticket: DONE is not called. Work without any tickets left that has not begun is dropped, unless it is
 * lasting. */
void service_ticket_cancel(ServiceTicket *ticket);

/* ---- pushing ---- */

/* The figures of each of the options' pushes, in order, of ServicePushFigures (push.h). */
GArray *service_push_figures(Service *service);

/* ---- statistics ---- */

typedef struct {
    ServiceTarget *target;
    StatsSample *sample;  /* NULL: ERROR says why */
    WireHelloReply hello; /* taken together with the sample; zero without one */
    gboolean late;        /* it did not answer in time */
    gint64 age_us;        /* age of a sample from an earlier scrape; 0: fresh */
    GError *error;
} ServiceScraped;

/*
 * Receives a fresh sample of every live target that VIEWER sees (or of ONLY, if not NULL), each consistent (one refresh
 * of jemalloc's epoch): totals and the merged arena. SCRAPED is of ServiceScraped, borrowed; DURATION_US is the time it
 * took.
 *
 * A target that does not answer within 250 ms is late: its sample of an earlier scrape is used, if at most 5 minutes
 * old, and the request continues for the next scrape. So that one user's targets cannot delay all scrapes, this time is
 * halved for all targets of a user with each scrape that one of them has delayed (down to 8 ms, and doubles with each
 * minute without a delay), and scrapes do not wait for a late target until it has given a sample. While there is no
 * sample at all, and with a single target, the time is 5 s.
 */
typedef void (*ServiceScrapeFunc)(const GPtrArray *scraped, gint64 duration_us, gpointer data);
typedef struct {
    Viewer viewer;
    ServiceTarget *only;
} ServiceScrapeOf;

void service_scrape(Service *service, const ServiceScrapeOf *of, ServiceScrapeFunc func, gpointer data);

/* For quick work on a target: takes a fresh sample with every arena and the merged size classes; NULL with ERROR. A
 * target without an agent is not stopped for it, unless a source names it. */
StatsSample *service_work_sample(const RouteHost *host, GError **error);

/* HISTORY is open for reading (or, if everything is kept in memory, for writing) and used exclusively by the function
 * during the call. Returns the result, or NULL with ERROR. */
typedef gpointer (*ServiceReadFunc)(History *history, gpointer data, GError **error);

/* For slow work on a target, on its thread: reads the history with FUNC (series_read(), history_targets()...). Reading
 * may take long, and is charged to the target's user like all work on it; other work on the target may begin. HOST is
 * the one passed to ServiceWorkFunc. */
gpointer service_work_read_history(const RouteHost *host, ServiceReadFunc func, gpointer data, GError **error);

/* For slow work on a target: takes its ledger. If OUTCOME_DONE, the caller has to clear *TAKEN. */
Outcome service_work_take_ledger(const RouteHost *host, LedgerTaken *taken, Failure *failure);

/* For slow work on a target: computes the growth over the N (3 to RENDER_GROWTH_MAX) kept dumps with IDS, oldest first;
 * OPTIONS as in RenderGrowth. *DESCRIPTOR, which the caller closes, has the answer in JSON (docs/formats.md,
 * "Growth"). */
typedef struct {
    const char *const *options;
    const guint64 *ids;
    gsize n;
} ServiceGrowth;
Outcome service_work_growth(const RouteHost *host, const ServiceGrowth *wanted, int *descriptor, Failure *failure);

/* For waiting work on a target: watches it for WATCH_MS in a child process, and finds the causes for which it holds
 * memory. *DESCRIPTOR, which the caller closes, has the answer in JSON (docs/formats.md, "jescope-doctor"). Other work
 * on the target continues. Ends early when no client waits for the result. */
Outcome service_work_examine(const RouteHost *host, guint64 watch_ms, int *descriptor, Failure *failure);

/* ---- processes that have ended ---- */

/* The black box's directory, even if it is off now; NULL if there never was one. Valid as long as SERVICE. */
const char *service_blackbox_directory(const Service *service);

/* A report of a dump. */
typedef struct {
    guint64 account; /* to whom the work is charged: account_of() the process's user, or a client's peer_id() */
    guint64 peer;    /* as ServiceWork.peer */
    const char *title;
    pid_t pid; /* 0: exited */
    const RouteRendering *rendering;
    gboolean no_files; /* open no file except the dump, and use jescope's own rights */
} ServiceRender;

/* Like RouteHostOps.render. On any thread; may wait for other reports. */
Outcome service_render(Service *service, const ServiceRender *wanted, int *descriptor, Failure *failure);

/* A report in the format page. Its page tree, which takes long, is cached for further reports of the same content. */
typedef struct {
    guint64 account;            /* as ServiceRender.account */
    guint64 peer;               /* as ServiceWork.peer */
    const char *key;            /* unique to the dump and its base */
    const char *const *options; /* as RouteRendering.options */
    Outcome (*render)(gpointer data, const char *format, const char *const *options, int *report, Failure *failure);
    gpointer data;
} ServicePage;

/* Like RouteHostOps.page. On any thread; may wait for other reports. */
Outcome service_page(Service *service, const ServicePage *page, int *descriptor, Failure *failure);

/* To be called now and then: drops page trees and bases of differences that were not used for HELD_FILES_IDLE_S. */
void service_expire(Service *service);

/* ---- tasks without a target ---- */

/* Runs on a thread. Returns the result, or NULL with ERROR. */
typedef gpointer (*ServiceTaskFunc)(gpointer data, GError **error);

typedef struct {
    ServiceTaskFunc func;
    gpointer data;
    GDestroyNotify free_data;   /* may be NULL */
    GDestroyNotify free_result; /* may be NULL */
} ServiceTask;

/* Copies TASK. */
void service_run_task(Service *service, const ServiceTask *task, ServiceDone done, gpointer done_data);

/* ---- rules ---- */

/* Like engine_each(), for the series whose targets VIEWER sees; samples are judged meanwhile. FALSE: the rules were
 * replaced, and the list is to begin again. Rules are judged on samples of any number of targets, so this is for a
 * thread. */
gboolean service_rules_each(Service *service, Viewer viewer, void (*each)(const RuleStanding *standing, gpointer data),
                            gpointer data);

/* Like engine_count(), of RuleCount; empty without rules. For a thread, too. */
GArray *service_rule_counts(Service *service);

/* Why rules or rule files are not used, of char *. */
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
    SERVICE_EVENT_ADVICE,     /* advice on the target appears */
    SERVICE_EVENT_ADVICE_OFF, /* advice on the target no longer applies */
    SERVICE_EVENT_ENDED,      /* how a target of the black box ended */
    SERVICE_EVENT_RULE_FIRED,
    SERVICE_EVENT_RULE_DONE, /* the rule's actions are complete */
    SERVICE_EVENT_COUNT,
} ServiceEventType;

typedef struct {
    guint64 id; /* from 1, without gaps */
    gint64 time_us;
    uid_t user;    /* the user that the target runs as; visible to this user and to clients that see all */
    uid_t account; /* account_of() the target's user, whose events make room for others */
    ServiceEventType type;
    const char *target; /* the target's id */
    const char *unique; /* and its unique one */
    const char *label;  /* "redis-server (4711)" */
    guint64 subject;    /* id of the recording or dump; 0: none */
    const char *who;    /* ServiceWork.who; NULL: jescope itself, the program, or unknown */
    const char *detail; /* a phrase: the control and its value, how the recording ended, the id of the advice */
} ServiceEvent;

/* "target-came": for Server-Sent Events and JSON. */
const char *service_event_name(ServiceEventType type);

/* EVENT is borrowed. */
typedef void (*ServiceEventFunc)(const ServiceEvent *event, gpointer data);

/* Calls FUNC for each kept event after AFTER (an id), from within this call, and then for each new event. Returns a
 * number for service_unsubscribe(), never 0. */
guint service_subscribe(Service *service, guint64 after, ServiceEventFunc func, gpointer data);

/* May be called from within FUNC. */
void service_unsubscribe(Service *service, guint subscription);

/* The id of the newest event, 0 if there is none. With this id, service_subscribe() reports only new events. */
guint64 service_last_event(const Service *service);

/* Whether any events after AFTER have been dropped, whatever their user: 1024 are kept. */
gboolean service_events_lost(const Service *service, guint64 after);

#endif
