/* SPDX-License-Identifier: Apache-2.0 */
#include "site/metrics.h"

#include "stats/openmetrics.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char openmetrics_type[] = "application/openmetrics-text";

static const char *const content_types[] = {
    [METRICS_TEXT] = "text/plain; version=0.0.4; charset=utf-8",
    [METRICS_OPENMETRICS] = "application/openmetrics-text; version=1.0.0; charset=utf-8",
};

const char *
metrics_content_type(MetricsFormat format)
{
    return content_types[format];
}

/* The quality assigned by the parameters of one media range (RFC 9110, section 12.4.2). */
static double
quality_of(char **parameters)
{
    for (char **parameter = parameters; *parameter != NULL; parameter++) {
        const char *text = g_strstrip(*parameter);
        if (g_ascii_strncasecmp(text, "q=", strlen("q=")) == 0)
            return CLAMP(g_ascii_strtod(text + strlen("q="), NULL), 0, 1);
    }
    return 1;
}

MetricsFormat
metrics_format(const char *accept)
{
    g_auto(GStrv) ranges = g_strsplit(accept != NULL ? accept : "", ",", 64);
    double text = 0, openmetrics = 0;
    for (char **range = ranges; *range != NULL; range++) {
        g_auto(GStrv) parts = g_strsplit(*range, ";", 16);
        if (parts[0] == NULL)
            continue;
        double *quality = g_ascii_strcasecmp(g_strstrip(parts[0]), openmetrics_type) == 0 ? &openmetrics : &text;
        *quality = MAX(*quality, quality_of(parts + 1));
    }
    return openmetrics > 0 && openmetrics >= text ? METRICS_OPENMETRICS : METRICS_TEXT;
}

/* ---- our own process ---- */

static double
read_resident(const MetricsScrape *scrape)
{
    unsigned long total = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL)
        return 0;
    int n = fscanf(file, "%lu %lu", &total, &resident);
    fclose(file);
    return n == 2 ? (double)resident * (double)sysconf(_SC_PAGESIZE) : 0;
}

static double
read_cpu(const MetricsScrape *scrape)
{
    struct timespec spent = {0};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
    return (double)spent.tv_sec + (double)spent.tv_nsec / 1e9;
}

static double
count_descriptors(const MetricsScrape *scrape)
{
    g_autoptr(GDir) folder = g_dir_open("/proc/self/fd", 0, NULL);
    guint n = 0;
    while (folder != NULL && g_dir_read_name(folder) != NULL)
        n++;
    return n > 0 ? n - 1 : 0; /* excluding the directory's own descriptor */
}

/* ---- families without a target ---- */

/* A figure read from the system, or from the scrape itself. */
typedef struct {
    OpenMetricsFamily family;
    double (*value)(const MetricsScrape *scrape);
} Figure;

static double
scrape_seconds(const MetricsScrape *scrape)
{
    return (double)scrape->duration_us / G_USEC_PER_SEC;
}

static double
count_late(const MetricsScrape *scrape)
{
    guint n = 0;
    for (guint i = 0; i < scrape->scraped->len; i++)
        n += ((const ServiceScraped *)scrape->scraped->pdata[i])->late != 0;
    return n;
}

static const Figure scrape_figures[] = {
    {{"jescope_scrape_duration_seconds", STATS_GAUGE, "seconds", "Time this scrape took"}, scrape_seconds},
    {{"jescope_scrape_late_targets", STATS_GAUGE, "", "Targets that did not answer this scrape in time"}, count_late},
};

static const Figure process_figures[] = {
    {{"process_resident_memory_bytes", STATS_GAUGE, "bytes", "Resident memory of jescope itself"}, read_resident},
    {{"process_cpu_seconds_total", STATS_COUNTER, "seconds", "Processor time of jescope itself"}, read_cpu},
    {{"process_open_fds", STATS_GAUGE, "", "Descriptors that jescope itself has open"}, count_descriptors},
};

/* A figure counted by the service or the server. */
typedef struct {
    OpenMetricsFamily family;
    gsize offset; /* in MetricsOwn */
    gsize size;   /* of a guint or guint64 */
} OwnFigure;

#define OWN(field) G_STRUCT_OFFSET(MetricsOwn, field), sizeof(((MetricsOwn *)NULL)->field)

static const OwnFigure own_figures[] = {
    {{"jescope_targets", STATS_GAUGE, "", "Targets that exist"}, OWN(service.targets)},
    {{"jescope_work_waiting", STATS_GAUGE, "", "Pieces of work on targets that wait or run"}, OWN(service.waiting)},
    {{"jescope_work_done_total", STATS_COUNTER, "", "Pieces of work done on targets"}, OWN(service.done)},
    {{"jescope_work_shared_total", STATS_COUNTER, "", "Requests answered with the result of another one"},
     OWN(service.shared)},
    {{"jescope_work_refused_total", STATS_COUNTER, "", "Pieces of work refused because a target had too much to do"},
     OWN(service.refused)},
    {{"jescope_samples_total", STATS_COUNTER, "", "Samples of statistics collected into the history"},
     OWN(service.samples)},
    {{"jescope_samples_missed_total", STATS_COUNTER, "", "Samples that a target did not give"}, OWN(service.missed)},
    {{"jescope_events_total", STATS_COUNTER, "", "Events that happened"}, OWN(service.events)},
    {{"jescope_blackbox_targets", STATS_GAUGE, "", "Targets of which snapshots are kept"},
     OWN(service.blackbox.watched)},
    {{"jescope_blackbox_snapshots_total", STATS_COUNTER, "", "Snapshots that were kept"},
     OWN(service.blackbox.snapshots)},
    {{"jescope_blackbox_snapshots_without_dump_total", STATS_COUNTER, "",
      "Snapshots for which the target gave no dump"},
     OWN(service.blackbox.without_dump)},
    {{"jescope_blackbox_failures_total", STATS_COUNTER, "", "Snapshots and ends that could not be kept"},
     OWN(service.blackbox.failures)},
    {{"jescope_blackbox_ends_total", STATS_COUNTER, "", "Targets with snapshots that have ended"},
     OWN(service.blackbox.ends)},
    {{"jescope_blackbox_oom_kills_total", STATS_COUNTER, "",
      "Targets with snapshots that the kernel has killed for lack of memory"},
     OWN(service.blackbox.kills)},
    {{"jescope_rule_firings_total", STATS_COUNTER, "", "Times that a rule fired"}, OWN(service.rule_firings)},
    {{"jescope_rule_failures_total", STATS_COUNTER, "", "Actions of rules that failed"}, OWN(service.rule_failures)},
    {{"jescope_rule_evaluations_total", STATS_COUNTER, "", "Times that a rule was judged on a sample"},
     OWN(service.rule_evaluations)},
    {{"jescope_http_connections", STATS_GAUGE, "", "Open connections"}, OWN(server.connections)},
    {{"jescope_http_requests_waiting", STATS_GAUGE, "", "Requests that are not answered yet"}, OWN(server.waiting)},
    {{"jescope_http_requests_total", STATS_COUNTER, "", "Requests answered"}, OWN(server.requests)},
    {{"jescope_http_requests_limited_total", STATS_COUNTER, "", "Requests refused because their peer asks too often"},
     OWN(server.limited)},
    {{"jescope_http_connections_refused_total", STATS_COUNTER, "", "Connections refused for a limit"},
     OWN(server.refused)},
    {{"jescope_http_connections_slow_total", STATS_COUNTER, "", "Connections ended because the client was too slow"},
     OWN(server.slow)},
    {{"jescope_http_requests_abandoned_total", STATS_COUNTER, "",
      "Requests whose client disconnected before the response"},
     OWN(server.abandoned)},
};

static void
append_number(GString *out, double value)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    if (value == 0 || value == 1) { /* most are */
        g_string_append(out, value == 0 ? " 0\n" : " 1\n");
        return;
    }
    g_string_append_printf(out, " %s\n", g_ascii_formatd(text, sizeof(text), "%.15g", value));
}

static void
append_figure(GString *out, const Figure *figure, const MetricsScrape *scrape, OpenMetricsParts parts)
{
    openmetrics_announce(out, &figure->family, parts);
    g_string_append(out, figure->family.name);
    append_number(out, figure->value(scrape));
}

static void
append_own(GString *out, const OwnFigure *figure, const MetricsOwn *own, OpenMetricsParts parts)
{
    const char *field = (const char *)own + figure->offset;
    guint64 wide;
    guint narrow;
    if (figure->size == sizeof(wide)) {
        memcpy(&wide, field, sizeof(wide));
    } else {
        memcpy(&narrow, field, sizeof(narrow));
        wide = narrow;
    }
    openmetrics_announce(out, &figure->family, parts);
    g_string_append_printf(out, "%s %" G_GUINT64_FORMAT "\n", figure->family.name, wide);
}

static void
append_responses(GString *out, const ServerFigures *server, OpenMetricsParts parts)
{
    static const OpenMetricsFamily family = {"jescope_http_responses_total", STATS_COUNTER, "",
                                             "Answers by the class of their status"};
    openmetrics_announce(out, &family, parts);
    for (guint i = 0; i < G_N_ELEMENTS(server->by_class); i++)
        g_string_append_printf(out, "%s{class=\"%uxx\"} %" G_GUINT64_FORMAT "\n", family.name, i + 1,
                               server->by_class[i]);
}

/* ---- pushes, each a destination ---- */

typedef struct {
    OpenMetricsFamily family;
    gsize offset;    /* of a guint64 in ServicePushFigures */
    const char *end; /* the value of the label "end"; NULL: no such label */
} PushFigure;

#define PUSHED(member) offsetof(ServicePushFigures, member)

/* Rows of one family are adjacent. */
static const PushFigure push_figures[] = {
    {{"jescope_push_rounds_total", STATS_COUNTER, "", "Rounds in which targets were to be dumped and pushed"},
     PUSHED(rounds),
     NULL},
    {{"jescope_push_dumps_total", STATS_COUNTER, "", "Dumps that were added to the queue"}, PUSHED(dumps), NULL},
    {{"jescope_push_dump_failures_total", STATS_COUNTER, "", "Dumps that could not be taken, named or queued"},
     PUSHED(failures),
     NULL},
    {{"jescope_push_dumps_missed_total", STATS_COUNTER, "", "Dumps that were not begun before the next round"},
     PUSHED(missed),
     NULL},
    {{"jescope_push_requests_total", STATS_COUNTER, "", "Attempts to send batches"}, PUSHED(delivery.requests), NULL},
    {{"jescope_push_retries_total", STATS_COUNTER, "", "Attempts after which the same batches are sent again"},
     PUSHED(delivery.failures),
     NULL},
    {{"jescope_push_sent_bytes_total", STATS_COUNTER, "bytes", "Bodies of requests that were answered"},
     PUSHED(delivery.bytes),
     NULL},
    {{"jescope_push_queue_batches", STATS_GAUGE, "", "Batches that wait to be sent"}, PUSHED(queue.waiting), NULL},
    {{"jescope_push_queue_bytes", STATS_GAUGE, "bytes", "Size of the batches that wait"},
     PUSHED(queue.waiting_bytes),
     NULL},
    {{"jescope_push_batches_total", STATS_COUNTER, "", "Batches that have left the queue, by the way they did"},
     PUSHED(queue.sent),
     "sent"},
    {{"jescope_push_batches_total", STATS_COUNTER, "", ""}, PUSHED(queue.dropped), "dropped"},
    {{"jescope_push_batches_total", STATS_COUNTER, "", ""}, PUSHED(queue.refused), "refused"},
    {{"jescope_push_batches_total", STATS_COUNTER, "", ""}, PUSHED(queue.damaged), "damaged"},
};

static void
append_push_labels(GString *out, const ServicePushFigures *push, const char *end)
{
    g_autoptr(GString) labels = g_string_new(NULL);
    openmetrics_append_label(labels, "to", push->to);
    if (end != NULL)
        openmetrics_append_label(labels, "end", end);
    g_string_append_printf(out, "{%s}", labels->str);
}

static void
append_push_figure(GString *out, const PushFigure *figure, const GArray *pushes)
{
    for (guint i = 0; i < pushes->len; i++) {
        const ServicePushFigures *push = &g_array_index(pushes, ServicePushFigures, i);
        guint64 value;
        memcpy(&value, (const char *)push + figure->offset, sizeof(value));
        g_string_append(out, figure->family.name);
        append_push_labels(out, push, figure->end);
        g_string_append_printf(out, " %" G_GUINT64_FORMAT "\n", value);
    }
}

static void
append_push_success(GString *out, const GArray *pushes, OpenMetricsParts parts)
{
    static const OpenMetricsFamily family = {"jescope_push_success_time_seconds", STATS_GAUGE, "seconds",
                                             "When a batch was last accepted, since 1970; 0: not since the start"};
    openmetrics_announce(out, &family, parts);
    for (guint i = 0; i < pushes->len; i++) {
        const ServicePushFigures *push = &g_array_index(pushes, ServicePushFigures, i);
        g_string_append(out, family.name);
        append_push_labels(out, push, NULL);
        append_number(out, (double)push->delivery.success_us / G_USEC_PER_SEC);
    }
}

static void
append_pushes(GString *out, const GArray *pushes, OpenMetricsParts parts)
{
    const char *announced = "";
    if (pushes == NULL || pushes->len == 0)
        return;
    for (guint i = 0; i < G_N_ELEMENTS(push_figures); i++) {
        if (strcmp(announced, push_figures[i].family.name) != 0)
            openmetrics_announce(out, &push_figures[i].family, parts);
        announced = push_figures[i].family.name;
        append_push_figure(out, &push_figures[i], pushes);
    }
    append_push_success(out, pushes, parts);
}

static void
append_rules(GString *out, const GArray *rules, OpenMetricsParts parts)
{
    static const OpenMetricsFamily family = {"jescope_rule_series", STATS_GAUGE, "",
                                             "Series that a rule chooses, by the state in which it is for them"};
    if (rules == NULL || rules->len == 0)
        return;
    openmetrics_announce(out, &family, parts);
    for (guint i = 0; i < rules->len; i++)
        for (guint state = 0; state < RULE_STATES; state++) {
            const RuleCount *count = &g_array_index(rules, RuleCount, i);
            g_autoptr(GString) labels = g_string_new(NULL);
            openmetrics_append_label(labels, "rule", count->rule);
            openmetrics_append_label(labels, "state", rule_state_name((RuleState)state));
            g_string_append_printf(out, "%s{%s} %u\n", family.name, labels->str, count->series[state]);
        }
}

static void
append_build(GString *out, OpenMetricsParts parts)
{
    static const OpenMetricsFamily family = {"jescope_build_info", STATS_GAUGE, "", "Which jescope this is"};
    openmetrics_announce(out, &family, parts);
    g_string_append_printf(out, "%s{version=\"%s\"} 1\n", family.name, JESCOPE_VERSION);
}

static void
append_ourselves(GString *out, const MetricsScrape *scrape, OpenMetricsParts parts)
{
    for (guint i = 0; i < G_N_ELEMENTS(own_figures); i++)
        append_own(out, &own_figures[i], scrape->own, parts);
    for (guint i = 0; i < G_N_ELEMENTS(process_figures); i++)
        append_figure(out, &process_figures[i], scrape, parts);
    append_responses(out, &scrape->own->server, parts);
    append_pushes(out, scrape->own->pushes, parts);
    append_rules(out, scrape->own->rules, parts);
    append_build(out, parts);
}

/* ---- families of each target ---- */

static gboolean
is_up(const ServiceScraped *row, double *value)
{
    *value = row->sample != NULL;
    return TRUE;
}

static gboolean
is_profiling(const ServiceScraped *row, double *value)
{
    *value = (row->hello.flags & WIRE_FLAG_PROF_ACTIVE) != 0;
    return row->sample != NULL;
}

static gboolean
can_profile(const ServiceScraped *row, double *value)
{
    *value = (row->hello.flags & WIRE_FLAG_OPT_PROF) != 0;
    return row->sample != NULL;
}

static gboolean
get_start(const ServiceScraped *row, double *value)
{
    *value = (double)service_target_started_us(row->target) / G_USEC_PER_SEC;
    return TRUE;
}

static gboolean
get_left_alone(const ServiceScraped *row, double *value)
{
    *value = (double)service_target_left_alone_us(row->target) / G_USEC_PER_SEC;
    return TRUE;
}

static gboolean
get_age(const ServiceScraped *row, double *value)
{
    *value = (double)row->age_us / G_USEC_PER_SEC;
    return row->sample != NULL;
}

typedef struct {
    OpenMetricsFamily family;
    gboolean (*value)(const ServiceScraped *row, double *value);
} TargetFigure;

static const TargetFigure target_figures[] = {
    {{"jescope_target_up", STATS_GAUGE, "", "1 if the target gave its statistics"}, is_up},
    {{"jescope_target_sample_age_seconds", STATS_GAUGE, "seconds",
      "Age of the statistics of a target that did not answer this scrape in time; 0 if it did"},
     get_age},
    {{"jescope_target_left_alone_seconds", STATS_GAUGE, "seconds",
      "Time until the next request to the target, after it did not answer in time"},
     get_left_alone},
    {{"jescope_target_start_time_seconds", STATS_GAUGE, "seconds", "When the process started, since 1970"}, get_start},
    {{"jescope_target_profiling", STATS_GAUGE, "", "1 while allocations are sampled (prof.active)"}, is_profiling},
    {{"jescope_target_profiling_ready", STATS_GAUGE, "", "1 if jemalloc was started with prof:true"}, can_profile},
};

/* A target with its labels. */
typedef struct {
    const ServiceScraped *scraped;
    GString *labels;
} Row;

static void
free_row(gpointer data)
{
    Row *row = data;
    g_string_free(row->labels, TRUE);
    g_free(row);
}

static GPtrArray *
make_rows(const GPtrArray *scraped)
{
    GPtrArray *rows = g_ptr_array_new_full(scraped->len, free_row);
    for (guint i = 0; i < scraped->len; i++) {
        Row *row = g_new(Row, 1);
        *row = (Row){scraped->pdata[i], g_string_sized_new(64)};
        openmetrics_append_label(row->labels, "target", service_target_id(row->scraped->target));
        openmetrics_append_label(row->labels, "process", service_target_name(row->scraped->target));
        g_ptr_array_add(rows, row);
    }
    return rows;
}

static void
append_target_figure(GString *out, const TargetFigure *figure, const GPtrArray *rows, OpenMetricsParts parts)
{
    if (rows->len > 0)
        openmetrics_announce(out, &figure->family, parts);
    for (guint i = 0; i < rows->len; i++) {
        const Row *row = rows->pdata[i];
        double value;
        if (!figure->value(row->scraped, &value))
            continue;
        g_string_append(out, figure->family.name);
        g_string_append_c(out, '{');
        g_string_append_len(out, row->labels->str, (gssize)row->labels->len);
        g_string_append_c(out, '}');
        append_number(out, value);
    }
}

static void
append_infos(GString *out, const GPtrArray *rows, OpenMetricsParts parts)
{
    static const OpenMetricsFamily family = {"jescope_target_info", STATS_GAUGE, "", "Which jemalloc the target has"};
    if (rows->len > 0)
        openmetrics_announce(out, &family, parts);
    for (guint i = 0; i < rows->len; i++) {
        const Row *row = rows->pdata[i];
        const StatsSample *sample = row->scraped->sample;
        if (sample == NULL)
            continue;
        g_autoptr(GString) labels = g_string_new(row->labels->str);
        openmetrics_append_label(labels, "jemalloc", sample->version != NULL ? sample->version : "");
        g_string_append_printf(out, "%s{%s} 1\n", family.name, labels->str);
    }
}

enum { LABEL_WORDS = 5 }; /* two labels and the end */

static void
append_samples(GString *out, const GPtrArray *scraped, OpenMetricsParts parts)
{
    g_autofree OpenMetricsSource *sources = g_new0(OpenMetricsSource, scraped->len + 1);
    g_autofree const char **labels = g_new0(const char *, (gsize)scraped->len *LABEL_WORDS + 1);
    guint n = 0;
    for (guint i = 0; i < scraped->len; i++) {
        const ServiceScraped *row = scraped->pdata[i];
        const char **own = labels + (gsize)i * LABEL_WORDS;
        if (row->sample == NULL)
            continue;
        own[0] = "target";
        own[1] = service_target_id(row->target);
        own[2] = "process";
        own[3] = service_target_name(row->target);
        sources[n++] = (OpenMetricsSource){row->sample, own};
    }
    openmetrics_append(out, sources, n, parts);
}

GBytes *
metrics_write(const MetricsScrape *scrape, MetricsFormat format)
{
    GString *out = g_string_sized_new(16 * 1024);
    OpenMetricsParts parts = format == METRICS_OPENMETRICS ? OPENMETRICS_STRICT : 0;
    g_autoptr(GPtrArray) rows = make_rows(scrape->scraped);
    append_samples(out, scrape->scraped, parts);
    for (guint i = 0; i < G_N_ELEMENTS(target_figures); i++)
        append_target_figure(out, &target_figures[i], rows, parts);
    append_infos(out, rows, parts);
    for (guint i = 0; i < G_N_ELEMENTS(scrape_figures); i++)
        append_figure(out, &scrape_figures[i], scrape, parts);
    if (scrape->own != NULL)
        append_ourselves(out, scrape, parts);
    if (format == METRICS_OPENMETRICS)
        openmetrics_append_end(out);
    return g_string_free_to_bytes(out);
}
