/* SPDX-License-Identifier: Apache-2.0 */
/* A target of the service. */
#ifndef JESCOPE_SERVICE_LIVE_H
#define JESCOPE_SERVICE_LIVE_H

#include "service/core.h"

#include "stats/live.h"
#include "target/facts.h"
#include "target/target.h"

/* Data that another file of this directory attaches to each target: SIZE bytes, initially zero. A constant in that
 * file; its address is the key. */
typedef struct {
    gsize size;
    void (*clear)(gpointer part); /* called when the target is freed; may be NULL */
} LivePart;

/* The data for PART of TARGET, created at the first call; valid as long as TARGET. From any thread. */
gpointer live_part(ServiceTarget *target, const LivePart *part);

/* The kinds of samples: totals for a scrape, the options' parts for the history, arenas and size
 * classes for a view. */
typedef enum {
    SAMPLED_FOR_SCRAPE,
    SAMPLED_FOR_HISTORY,
    SAMPLED_FOR_VIEW,
    SAMPLED_COUNT,
} SampledFor;

/* The properties of a new target. SERIES is its name in the history. */
typedef struct {
    const Process *process;
    const char *address;
    gboolean named;
    const char *series;
    gboolean followed; /* a source (ServiceSource) names it: it may be stopped for a sample, is retried soon after each
                        * failure, and messages name it by its series */
    ProcessFacts *about;
} LiveFacts;

ServiceTarget *live_new(Service *service, const LiveFacts *facts);

/* A target for an earlier process, of which dumps or recordings are kept. */
ServiceTarget *live_new_kept(Service *service, const HistoryKept *kept);

/* Marks the target as exited: closes its connection; further requests are answered from kept data. */
void live_set_gone(ServiceTarget *target);

/* Sets *INCARNATION to its incarnation in the history, which is created if needed. */
gboolean live_incarnation(ServiceTarget *target, gint64 *incarnation, GError **error);

/* The target's HistoryLife; valid as long as the target. */
HistoryLife live_history_life(const ServiceTarget *target, const char *version, guint64 every_us);

/* Closes the connection as soon as it is not in use. On a worker thread. */
void live_disconnect(ServiceTarget *target);

const Process *live_process(const ServiceTarget *target);

/* target_check_unchanged() of live_process(). */
gboolean live_check_unchanged(const ServiceTarget *target, GError **error);

/* Fills STATUS except for a running recording. */
void live_fill_status(ServiceTarget *target, RouteStatus *status);

Service *live_service(const ServiceTarget *target);
gboolean live_is_followed(const ServiceTarget *target);

/* Whether the options name it, so that it may be reached without an agent; and its address. */
gboolean live_is_named(const ServiceTarget *target);
const char *live_address(const ServiceTarget *target);

/* Its name in messages for the operator: its series if it is followed, otherwise its label. */
const char *live_subject(const ServiceTarget *target);

/* The user it runs as. */
uid_t live_user(const ServiceTarget *target);

/* The user to whom its work is charged: account_of() that user. */
uid_t live_account(const ServiceTarget *target);

/* Guards the parts that are documented so. Taken after all other locks. */
GMutex *live_lock(const ServiceTarget *target);

/* Notes that the history has dumps or recordings of it. */
void live_set_kept(ServiceTarget *target);
gboolean live_has_kept(const ServiceTarget *target);

/* Sets the latest sample, whose figures its status has; a summary of it is kept. */
void live_set_latest(ServiceTarget *target, StatsSample *sample);

/* Between these calls, this thread owns the connection and may call the functions below. */
void live_begin_use(ServiceTarget *target);
void live_end_use(ServiceTarget *target);

/* The connected target, or NULL with ERROR. */
Target *live_connect(ServiceTarget *target, GError **error);

/* Like live_connect(), for statistics, which never stop a process unless it is followed. */
Target *live_connect_gently(ServiceTarget *target, GError **error);

/* Stores HELLO as the latest. */
void live_note_hello(ServiceTarget *target, const WireHelloReply *hello);

/* Notes the result of an attempt to communicate; ERROR NULL: success. */
void live_note_outcome(ServiceTarget *target, const GError *error);

/* The connected target's sampler for WHAT; recreated if PARTS change. Valid until the connection ends. */
StatsLive *live_sampler(ServiceTarget *target, SampledFor what, StatsLiveParts parts, GError **error);

/* Adds EVENT asynchronously. From any thread. FALSE if it is left out: of what clients and targets can cause at any
 * rate, a user's targets have a share; the next such event says how many were left out. */
gboolean live_emit(ServiceTarget *target, const ServiceEvent *event);

#endif
