/* SPDX-License-Identifier: Apache-2.0 */
/* service_scrape(): fresh samples of all targets at the same time. */
#include "service/live.h"
#include "service/registry.h"
#include "service/sampling.h"
#include "service/work.h"

enum {
    PATIENCE_MS = 250,     /* time limit once there is a sample to show */
    ALL_SILENT_MS = 5000,  /* time limit without any sample, and for a single target */
    IMPATIENCE_MAX = 5,    /* maximum number of halvings of PATIENCE_MS */
    FORGET_MS = 60 * 1000, /* time without a delay after which it doubles */
    STALE_MAX_S = 300      /* maximum age of samples, after which Prometheus drops a series, too */
};

typedef struct Scrape Scrape;

/* The request to a target. */
typedef struct {
    Scrape *scrape;
    ServiceScraped *scraped;
    ServiceTicket *ticket; /* NULL: answered */
    gint64 deadline_us;    /* monotonic; 0: not, or no longer, waited for */
} Part;

/* The patience with a user's targets. */
typedef struct {
    guint held_up;  /* recent delayed scrapes */
    gint64 last_us; /* monotonic time of the last one */
} Patience;

/* A scrape in progress; used in the main context. */
struct Scrape {
    Service *service; /* a reference */
    GPtrArray *scraped;
    GPtrArray *parts; /* parallel to scraped */
    guint left;       /* number of parts to wait for */
    gboolean alone;   /* for a single target, which delays no other */
    gboolean shows;   /* at least one of several targets has a sample */
    gint64 begun_us;
    GSource *alarm;
    ServiceScrapeFunc func;
    gpointer data;
};

/* A result that several scrapes may share. */
typedef struct {
    StatsSample *sample;
    WireHelloReply hello;
    GError *error;
} Answer;

/* The state of a target; guarded by live_lock() except late_us. */
typedef struct {
    StatsSample *sample; /* the last sample for a scrape; NULL: none yet */
    WireHelloReply hello;
    gint64 taken_us; /* monotonic */
    gint64 late_us;  /* monotonic time at which a scrape gave up, 0: none; used in the main context */
} Earlier;

static void
clear_earlier(gpointer part)
{
    g_clear_pointer(&((Earlier *)part)->sample, stats_sample_unref);
}

static Earlier *
earlier_of(ServiceTarget *target)
{
    static const LivePart earlier_part = {sizeof(Earlier), clear_earlier};
    return live_part(target, &earlier_part);
}

static void
free_scraped(gpointer data)
{
    ServiceScraped *scraped = data;
    service_target_unref(scraped->target);
    g_clear_pointer(&scraped->sample, stats_sample_unref);
    g_clear_error(&scraped->error);
    g_free(scraped);
}

static void
free_answer(gpointer data)
{
    Answer *answer = data;
    g_clear_pointer(&answer->sample, stats_sample_unref);
    g_clear_error(&answer->error);
    g_free(answer);
}

/* Stores the answer for later scrapes that are not answered in time. */
static void
remember(ServiceTarget *target, const Answer *answer)
{
    Earlier *earlier = earlier_of(target);
    live_note_hello(target, &answer->hello);
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(live_lock(target));
    g_clear_pointer(&earlier->sample, stats_sample_unref);
    earlier->sample = stats_sample_ref(answer->sample);
    earlier->hello = answer->hello;
    earlier->taken_us = g_get_monotonic_time();
}

static gpointer
take(const RouteHost *host, gpointer data)
{
    Answer *answer = g_new0(Answer, 1);
    answer->sample = sampling_take(host->data, SAMPLED_FOR_SCRAPE, &answer->hello, &answer->error);
    if (answer->sample != NULL)
        remember(work_target(host->data), answer);
    else
        answer->hello = (WireHelloReply){0};
    return answer;
}

/* ---- patience ---- */

static Patience *
get_patience(Service *service, uid_t user)
{
    Patience *patience = g_hash_table_lookup(service->patience, GUINT_TO_POINTER(user));
    if (patience == NULL) {
        patience = g_new0(Patience, 1);
        g_hash_table_insert(service->patience, GUINT_TO_POINTER(user), patience);
    }
    return patience;
}

static void
forgive(Patience *patience, gint64 now_us)
{
    gint64 step_us = FORGET_MS * G_GINT64_CONSTANT(1000);
    gint64 steps = (now_us - patience->last_us) / step_us;
    if (patience->held_up == 0 || steps <= 0)
        return;
    patience->held_up -= (guint)MIN(steps, patience->held_up);
    patience->last_us += steps * step_us;
}

static gint64
patience_us(Service *service, uid_t user)
{
    Patience *patience = g_hash_table_lookup(service->patience, GUINT_TO_POINTER(user));
    if (patience == NULL)
        return PATIENCE_MS * G_GINT64_CONSTANT(1000);
    forgive(patience, g_get_monotonic_time());
    return PATIENCE_MS * G_GINT64_CONSTANT(1000) >> patience->held_up;
}

/* Counted once per scrape, however many of the user's targets have delayed it. */
static void
note_held_up(Scrape *scrape, uid_t user)
{
    Patience *patience = get_patience(scrape->service, user);
    if (patience->held_up > 0 && patience->last_us >= scrape->begun_us)
        return;
    patience->held_up = MIN(patience->held_up + 1, (guint)IMPATIENCE_MAX);
    patience->last_us = g_get_monotonic_time();
}

/* Whether a scrape has given up on the target and it has given no sample since. */
static gboolean
is_late(ServiceTarget *target)
{
    Earlier *earlier = earlier_of(target);
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(live_lock(target));
    return earlier->late_us != 0 && earlier->taken_us < earlier->late_us;
}

/* ---- the end ---- */

/* Uses the sample of an earlier scrape, unless too old. */
static gboolean
show_earlier(ServiceScraped *scraped)
{
    ServiceTarget *target = scraped->target;
    Earlier *earlier = earlier_of(target);
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(live_lock(target));
    gint64 age_us = g_get_monotonic_time() - earlier->taken_us;
    if (earlier->sample == NULL || age_us > STALE_MAX_S * G_USEC_PER_SEC)
        return FALSE;
    scraped->sample = stats_sample_ref(earlier->sample);
    scraped->hello = earlier->hello;
    scraped->age_us = age_us;
    return TRUE;
}

/* Stops waiting; the request continues for the next scrape. */
static void
give_up(Part *part)
{
    ServiceScraped *scraped = part->scraped;
    gint64 waited_us = g_get_monotonic_time() - part->scrape->begun_us;
    service_ticket_cancel(part->ticket);
    part->ticket = NULL;
    scraped->late = TRUE;
    if (!show_earlier(scraped))
        g_set_error(&scraped->error, TARGET_ERROR, OUTCOME_SILENT, "%s did not answer within %.2f s",
                    service_target_label(scraped->target), (double)waited_us / G_USEC_PER_SEC);
}

static void
finish(Scrape *scrape)
{
    g_source_destroy(scrape->alarm);
    g_source_unref(scrape->alarm);
    /* Tickets are freed with the service. */
    for (guint i = 0; scrape->service->registry != NULL && i < scrape->parts->len; i++)
        if (((const Part *)scrape->parts->pdata[i])->ticket != NULL)
            give_up(scrape->parts->pdata[i]);
    if (scrape->service->registry != NULL) /* the service was not freed in the meantime */
        scrape->func(scrape->scraped, g_get_monotonic_time() - scrape->begun_us, scrape->data);
    g_ptr_array_unref(scrape->scraped);
    g_ptr_array_unref(scrape->parts);
    service_unref(scrape->service);
    g_free(scrape);
}

static void
answered(Scrape *scrape)
{
    if (--scrape->left == 0)
        finish(scrape);
}

static void
set_alarm(Scrape *scrape)
{
    gint64 next_us = scrape->begun_us + ALL_SILENT_MS * G_GINT64_CONSTANT(1000);
    for (guint i = 0; scrape->shows && i < scrape->parts->len; i++) {
        const Part *part = scrape->parts->pdata[i];
        if (part->ticket != NULL && part->deadline_us != 0)
            next_us = MIN(next_us, part->deadline_us);
    }
    g_source_set_ready_time(scrape->alarm, next_us);
}

/* Starts the time limit for the other targets. */
static void
note_shows(Scrape *scrape)
{
    gboolean shown = scrape->shows;
    scrape->shows = !scrape->alone;
    if (!shown)
        set_alarm(scrape);
}

static void
on_answer(gpointer result, const GError *error, gpointer data)
{
    Part *part = data;
    const Answer *answer = result;
    part->ticket = NULL;
    if (answer != NULL && answer->sample != NULL) {
        part->scraped->sample = stats_sample_ref(answer->sample);
        part->scraped->hello = answer->hello;
        note_shows(part->scrape);
    } else {
        part->scraped->error = g_error_copy(answer != NULL ? answer->error : error);
    }
    if (part->deadline_us != 0)
        answered(part->scrape);
}

static void
stop_waiting(Part *part, gint64 now_us)
{
    ServiceTarget *target = part->scraped->target;
    earlier_of(target)->late_us = now_us;
    note_held_up(part->scrape, live_account(target));
    part->deadline_us = 0;
    part->scrape->left--;
}

static gboolean
on_patience_over(gpointer data)
{
    Scrape *scrape = data;
    gint64 now_us = g_get_monotonic_time();
    gboolean freed = scrape->service->registry == NULL;
    for (guint i = 0; i < scrape->parts->len && !freed; i++) {
        Part *part = scrape->parts->pdata[i];
        if (part->ticket != NULL && part->deadline_us != 0 && part->deadline_us <= now_us)
            stop_waiting(part, now_us);
    }
    set_alarm(scrape);
    if (scrape->left == 0 || freed)
        finish(scrape);
    return G_SOURCE_CONTINUE;
}

/* A target that is avoided after an error is not contacted. */
static gboolean
set_left_alone(ServiceScraped *scraped)
{
    gint64 left_us = service_target_left_alone_us(scraped->target);
    g_autofree char *trouble = left_us > 0 ? service_target_trouble(scraped->target) : NULL;
    if (trouble == NULL)
        return FALSE;
    g_set_error(&scraped->error, TARGET_ERROR, OUTCOME_SILENT, "%s; next attempt in %.0f s", trouble,
                (double)left_us / G_USEC_PER_SEC);
    return TRUE;
}

static gboolean
has_earlier(ServiceTarget *target)
{
    Earlier *earlier = earlier_of(target);
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(live_lock(target));
    return earlier->sample != NULL;
}

static void
ask(Part *part)
{
    static const ServiceWork work = {.pace = SERVICE_QUICK,
                                     .forgoable = TRUE,
                                     .lasting = TRUE,
                                     .key = "scrape",
                                     .func = take,
                                     .free_result = free_answer};
    Scrape *scrape = part->scrape;
    ServiceTarget *target = part->scraped->target;
    if (set_left_alone(part->scraped))
        return;
    part->ticket = service_target_submit(target, &work, on_answer, part, &part->scraped->error);
    if (part->ticket == NULL)
        return;
    scrape->shows |= !scrape->alone && has_earlier(target);
    if (!scrape->alone && is_late(target))
        return;
    part->deadline_us = scrape->begun_us + patience_us(scrape->service, live_account(target));
    scrape->left++;
}

static void
add_target(Scrape *scrape, ServiceTarget *target)
{
    ServiceScraped *scraped = g_new0(ServiceScraped, 1);
    scraped->target = service_target_ref(target);
    g_ptr_array_add(scrape->scraped, scraped);
    Part *part = g_new0(Part, 1);
    part->scrape = scrape;
    part->scraped = scraped;
    g_ptr_array_add(scrape->parts, part);
}

/* Called asynchronously even if there is nothing to request, so that the result never comes from within
 * service_scrape(). */
static gboolean
on_set_up(gpointer data)
{
    answered(data);
    return G_SOURCE_REMOVE;
}

void
service_scrape(Service *service, const ServiceScrapeOf *of, ServiceScrapeFunc func, gpointer data)
{
    Scrape *scrape = g_new0(Scrape, 1);
    scrape->service = service_ref(service);
    scrape->scraped = g_ptr_array_new_with_free_func(free_scraped);
    scrape->parts = g_ptr_array_new_with_free_func(g_free);
    scrape->left = 1; /* counts this function */
    scrape->begun_us = g_get_monotonic_time();
    scrape->func = func;
    scrape->data = data;
    scrape->alarm = service_new_alarm(service, on_patience_over, scrape);
    g_autoptr(GPtrArray) live = of->only == NULL ? registry_list_live(service->registry, of->viewer) : NULL;
    for (guint i = 0; live != NULL && i < live->len; i++)
        add_target(scrape, live->pdata[i]);
    if (of->only != NULL)
        add_target(scrape, of->only);
    scrape->alone = scrape->parts->len == 1;
    for (guint i = 0; i < scrape->parts->len; i++)
        ask(scrape->parts->pdata[i]);
    set_alarm(scrape);
    service_post(service, on_set_up, scrape, NULL);
}
