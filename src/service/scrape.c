/* SPDX-License-Identifier: Apache-2.0 */
/* service_scrape(): fresh samples of all targets at once. */
#include "service/registry.h"
#include "service/sampling.h"

enum {
    PATIENCE_MS = 5000, /* with targets that do not answer */
};

typedef struct Scrape Scrape;

/* What one target is asked. */
typedef struct {
    Scrape *scrape;
    ServiceScraped *scraped;
    ServiceTicket *ticket; /* NULL: answered */
} Part;

/* One scrape under way; in the main context. */
struct Scrape {
    Service *service; /* a reference */
    GPtrArray *scraped;
    GPtrArray *parts; /* beside scraped */
    guint left;
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
} Taken;

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
free_taken(gpointer data)
{
    Taken *taken = data;
    g_clear_pointer(&taken->sample, stats_sample_unref);
    g_clear_error(&taken->error);
    g_free(taken);
}

static gpointer
take(const RouteHost *host, gpointer data)
{
    Taken *taken = g_new0(Taken, 1);
    taken->sample = sampling_take(host->data, SAMPLED_FOR_SCRAPE, &taken->hello, &taken->error);
    if (taken->sample == NULL)
        taken->hello = (WireHelloReply){0};
    return taken;
}

static void
finish(Scrape *scrape)
{
    g_source_destroy(scrape->alarm);
    g_source_unref(scrape->alarm);
    if (scrape->service->registry != NULL) /* the service has not been freed meanwhile */
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
on_taken(gpointer result, const GError *error, gpointer data)
{
    Part *part = data;
    const Taken *taken = result;
    part->ticket = NULL;
    if (taken != NULL && taken->sample != NULL) {
        part->scraped->sample = stats_sample_ref(taken->sample);
        part->scraped->hello = taken->hello;
    } else {
        part->scraped->error = g_error_copy(taken != NULL ? taken->error : error);
    }
    answered(part->scrape);
}

static void
give_up(Part *part)
{
    service_ticket_cancel(part->ticket);
    part->ticket = NULL;
    g_set_error(&part->scraped->error, TARGET_ERROR, TARGET_ERROR_SILENT, "%s did not answer within %d s",
                part->scraped->target->label, PATIENCE_MS / 1000);
}

static gboolean
on_patience_over(gpointer data)
{
    Scrape *scrape = data;
    /* Tickets end with the service. */
    for (guint i = 0; scrape->service->registry != NULL && i < scrape->parts->len; i++)
        if (((const Part *)scrape->parts->pdata[i])->ticket != NULL)
            give_up(scrape->parts->pdata[i]);
    finish(scrape);
    return G_SOURCE_REMOVE;
}

static void
ask(Part *part)
{
    static const ServiceWork work = {.pace = SERVICE_QUICK, .key = "scrape", .func = take, .free_result = free_taken};
    part->ticket = service_target_submit(part->scraped->target, &work, on_taken, part, &part->scraped->error);
    part->scrape->left += part->ticket != NULL;
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
    ask(part);
}

/* Soon even if there is nothing to ask: never from within service_scrape(). */
static gboolean
on_set_up(gpointer data)
{
    answered(data);
    return G_SOURCE_REMOVE;
}

void
service_scrape(Service *service, ServiceTarget *only, ServiceScrapeFunc func, gpointer data)
{
    Scrape *scrape = g_new0(Scrape, 1);
    const GPtrArray *live = registry_live(service->registry);
    scrape->service = service_ref(service);
    scrape->scraped = g_ptr_array_new_with_free_func(free_scraped);
    scrape->parts = g_ptr_array_new_with_free_func(g_free);
    scrape->left = 1; /* this function */
    scrape->begun_us = g_get_monotonic_time();
    scrape->func = func;
    scrape->data = data;
    scrape->alarm = g_timeout_source_new(PATIENCE_MS);
    g_source_set_callback(scrape->alarm, on_patience_over, scrape, NULL);
    g_source_attach(scrape->alarm, service->context);
    for (guint i = 0; only == NULL && i < live->len; i++)
        add_target(scrape, live->pdata[i]);
    if (only != NULL)
        add_target(scrape, only);
    service_post(service, on_set_up, scrape, NULL);
}
