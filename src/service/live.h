/* SPDX-License-Identifier: Apache-2.0 */
/* One target as the service knows it. */
#ifndef JESCOPE_SERVICE_LIVE_H
#define JESCOPE_SERVICE_LIVE_H

#include "service/core.h"

#include "stats/live.h"
#include "target/facts.h"
#include "target/target.h"

/* What another file of this room keeps of each target: SIZE bytes, zeroed at first. A constant of that file, by whose
 * address it is known. */
typedef struct {
    gsize size;
    void (*clear)(gpointer part); /* with the target; may be NULL */
} LivePart;

/* TARGET's, which is made at the first call, as long as TARGET. From any thread. */
gpointer live_part(ServiceTarget *target, const LivePart *part);

/* The kinds of samples: totals for a scrape, the options' parts for the history, arenas and size
 * classes for a view. */
typedef enum {
    SAMPLED_FOR_SCRAPE,
    SAMPLED_FOR_HISTORY,
    SAMPLED_FOR_VIEW,
    SAMPLED_COUNT,
} SampledFor;

/* The properties of a new one. SERIES is its name in the history. */
typedef struct {
    const Process *process;
    const char *address;
    gboolean named;
    const char *series;
    gboolean followed; /* a source (ServiceSource) names it: it may be stopped for a sample, is asked again soon after
                        * each failure, and the operator knows it by its series */
    ProcessFacts *about;
} LiveFacts;

ServiceTarget *live_new(Service *service, const LiveFacts *facts);

/* One of an earlier life, of which something is kept. */
ServiceTarget *live_new_kept(Service *service, const HistoryKept *kept);

/* It has ended: closes its connection; further requests are answered from kept data. */
void live_set_gone(ServiceTarget *target);

/* The life in the history, begun if need be. */
gboolean live_incarnation(ServiceTarget *target, gint64 *incarnation, GError **error);

/* How the life is called in the history; valid as long as the target. */
HistoryLife live_history_life(const ServiceTarget *target, const char *version, guint64 every_us);

/* Closes the connection, as soon as it is not in use. On a worker thread. */
void live_disconnect(ServiceTarget *target);

const Process *live_process(const ServiceTarget *target);

/* "PID.STARTTICKS", of no other process since boot. */
const char *live_unique(const ServiceTarget *target);

/* All of its status but a recording that runs. */
void live_fill_status(ServiceTarget *target, RouteStatus *status);

Service *live_service(const ServiceTarget *target);
gboolean live_is_followed(const ServiceTarget *target);

/* Whether the options name it, so that it may be reached without an agent; and where it is reached. */
gboolean live_is_named(const ServiceTarget *target);
const char *live_address(const ServiceTarget *target);

/* What the operator knows it by: its series if it is followed, else its label. */
const char *live_subject(const ServiceTarget *target);

/* The user it runs as, to which its work is charged. */
uid_t live_user(const ServiceTarget *target);

/* Guards the parts that say so. Taken after all other locks. */
GMutex *live_lock(const ServiceTarget *target);

/* Something of it is kept in the history: dumps or recordings. */
void live_set_kept(ServiceTarget *target);
gboolean live_has_kept(const ServiceTarget *target);

/* DUMP (which it takes over) is what the next difference begins at, *PREVIOUS what this one does; -1 if there is no
 * earlier one. FALSE: the target is gone. */
gboolean live_swap_delta(ServiceTarget *target, int dump, int *previous);

/* For service_target_sample(). */
void live_set_latest(ServiceTarget *target, StatsSample *sample);

/* Between these, the connection is this thread's, and what follows may be called. */
void live_begin_use(ServiceTarget *target);
void live_end_use(ServiceTarget *target);

/* The connected target, or NULL with ERROR. */
Target *live_connect(ServiceTarget *target, GError **error);

/* The same for statistics, which never stop a process unless it is followed. */
Target *live_connect_gently(ServiceTarget *target, GError **error);

/* Keeps HELLO as the latest. */
void live_note_hello(ServiceTarget *target, const WireHelloReply *hello);

/* Notes how an attempt to talk to it went; ERROR may be NULL. */
void live_note_outcome(ServiceTarget *target, const GError *error);

/* The sampler of the connected target for WHAT; recreated for other PARTS. Valid until the connection ends. */
StatsLive *live_sampler(ServiceTarget *target, SampledFor what, StatsLiveParts parts, GError **error);

/* From any thread: adds an event soon. */
void live_emit(ServiceTarget *target, const ServiceEvent *event);

#endif
