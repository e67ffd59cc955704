/* SPDX-License-Identifier: Apache-2.0 */
#include "service/rule-probes.h"

#include "confine/keyed-hash.h"
#include "service/live.h"

#include "stats/ledger-take.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    REST = 99,             /* pause after a measurement, as a multiple of its duration */
    REST_NEW = 9,          /* the multiple if a rule needs a value that was not measured */
    REFUSED_US = 60000000, /* pause after a measurement that could not be started */
    SUM_US = 1000000,      /* maximum time for matching names */
};

/* The state of a target. */
typedef struct {
    GMutex lock;
    gboolean busy;
    gint64 ended_us;    /* monotonic end of the last measurement */
    gint64 cost_us;     /* its duration */
    GHashTable *asked;  /* the bases that it measured; NULL: no measurement yet */
    GHashTable *values; /* NULL: none */
    gboolean fresh;     /* not yet returned by rule_probes_values() */
} Measured;

struct RuleProbes {
    ServiceTarget *target;
    GPtrArray *rules;  /* of Rule, which own the probes */
    GPtrArray *bases;  /* of char *, borrowed from the rules */
    GPtrArray *probes; /* of Probe, borrowed from the rules */
    gboolean begun;    /* it has set Measured.busy */
    gboolean ended;    /* it has set the values, possibly none */
};

static void
clear_measured(gpointer part)
{
    Measured *measured = part;
    g_clear_pointer(&measured->values, g_hash_table_unref);
    g_clear_pointer(&measured->asked, g_hash_table_unref);
    g_mutex_clear(&measured->lock);
}

static const LivePart measured_part = {sizeof(Measured), clear_measured};

RuleProbes *
rule_probes_new(ServiceTarget *target)
{
    RuleProbes *probes = g_new0(RuleProbes, 1);
    probes->target = service_target_ref(target);
    probes->rules = g_ptr_array_new_with_free_func((GDestroyNotify)rule_unref);
    probes->bases = g_ptr_array_new();
    probes->probes = g_ptr_array_new();
    return probes;
}

/* Allows the next measurement, whatever the result of this one. Earlier values are dropped. */
void
rule_probes_free(gpointer data)
{
    RuleProbes *probes = data;
    if (probes->begun) {
        Measured *measured = live_part(probes->target, &measured_part);
        g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&measured->lock);
        measured->busy = FALSE;
        if (!probes->ended)
            g_clear_pointer(&measured->values, g_hash_table_unref);
    }
    service_target_unref(probes->target);
    g_ptr_array_unref(probes->rules);
    g_ptr_array_unref(probes->bases);
    g_ptr_array_unref(probes->probes);
    g_free(probes);
}

void
rule_probes_add(RuleProbes *probes, Rule *rule, const Quantity *quantity)
{
    if (probes->probes->len == PROBES_MAX ||
        g_ptr_array_find_with_equal_func(probes->bases, quantity->base, g_str_equal, NULL))
        return;
    g_ptr_array_add(probes->rules, rule_ref(rule));
    g_ptr_array_add(probes->bases, quantity->base);
    g_ptr_array_add(probes->probes, (gpointer)(guintptr)quantity_probe(quantity));
}

/* ---- measuring, on a thread of the service ---- */

static void
set_value(GHashTable *values, const char *base, gdouble value)
{
    g_hash_table_insert(values, g_strdup(base), g_memdup2(&value, sizeof(value)));
}

static gboolean
has_kind(const RuleProbes *probes, gboolean ledger)
{
    for (guint i = 0; i < probes->probes->len; i++)
        if ((((const Probe *)probes->probes->pdata[i])->kind == PROBE_LEDGER) == ledger)
            return TRUE;
    return FALSE;
}

static void
measure_ledger(const RouteHost *host, const RuleProbes *probes, GHashTable *values)
{
    g_auto(LedgerTaken) taken = {0};
    Failure failure = {0};
    if (service_work_take_ledger(host, &taken, &failure) != OUTCOME_DONE)
        return;
    for (guint i = 0; i < probes->probes->len; i++) {
        const Probe *probe = probes->probes->pdata[i];
        const LedgerLine *line = &taken.ledger.lines[probe->line];
        if (probe->kind == PROBE_LEDGER && line->known)
            set_value(values, probes->bases->pdata[i], (gdouble)line->bytes);
    }
}

/* Creates a report of stacks with function names; -1 if there is none, for example without samples. */
static int
report_stacks(const RouteHost *host)
{
    static const char *const options[] = {NULL};
    const RouteCapture capture = {0};
    Failure failure = {0};
    RouteRendering rendering = {.format = "folded", .options = options, .dump = -1, .base = -1};
    int report = -1;
    if (host->ops->dump(host->data, &capture, &rendering.dump, &failure) != OUTCOME_DONE)
        return -1;
    if (host->ops->render(host->data, &rendering, &report, &failure) != OUTCOME_DONE)
        report = -1;
    close(rendering.dump);
    return report;
}

static void
take_sums(const RuleProbes *probes, const char *text, gsize length, GHashTable *values)
{
    gdouble sums[PROBES_MAX] = {0};
    if (!probes_sum(probes->probes, text, length, SUM_US, sums))
        return;
    for (guint i = 0; i < probes->probes->len; i++)
        if (((const Probe *)probes->probes->pdata[i])->kind != PROBE_LEDGER)
            set_value(values, probes->bases->pdata[i], sums[i]);
}

static void
measure_functions(const RouteHost *host, const RuleProbes *probes, GHashTable *values)
{
    struct stat status;
    int report = report_stacks(host);
    if (report < 0)
        return;
    const gsize length = fstat(report, &status) == 0 ? (gsize)status.st_size : 0;
    void *text = length > 0 ? mmap(NULL, length, PROT_READ, MAP_PRIVATE, report, 0) : MAP_FAILED;
    if (text != MAP_FAILED) {
        take_sums(probes, text, length, values);
        munmap(text, length);
    }
    close(report);
}

static gpointer
measure(const RouteHost *host, gpointer data)
{
    RuleProbes *probes = data;
    Measured *measured = live_part(probes->target, &measured_part);
    GHashTable *values = g_hash_table_new_full(keyed_hash_string, g_str_equal, g_free, g_free);
    const gint64 began_us = g_get_monotonic_time();
    if (has_kind(probes, TRUE))
        measure_ledger(host, probes, values);
    if (has_kind(probes, FALSE))
        measure_functions(host, probes, values);
    const gint64 now_us = g_get_monotonic_time();
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&measured->lock);
    g_clear_pointer(&measured->values, g_hash_table_unref);
    measured->values = values;
    measured->fresh = TRUE;
    measured->ended_us = now_us;
    measured->cost_us = now_us - began_us;
    probes->ended = TRUE;
    return NULL;
}

/* ---- submitting ---- */

static void
on_measured(gpointer result, const GError *error, gpointer data)
{
}

static gboolean
on_submit(gpointer data)
{
    RuleProbes **probes = data;
    ServiceTarget *target = (*probes)->target;
    const ServiceWork work = {.pace = SERVICE_SLOW,
                              .forgoable = TRUE,
                              .lasting = TRUE,
                              .func = measure,
                              .data = g_steal_pointer(probes),
                              .free_data = rule_probes_free};
    g_autoptr(GError) error = NULL;
    if (service_target_submit(target, &work, on_measured, NULL, &error) == NULL)
        g_debug("nothing is measured for rules: %s", error->message);
    return G_SOURCE_REMOVE;
}

static void
free_submit(gpointer data)
{
    RuleProbes **probes = data;
    g_clear_pointer(probes, rule_probes_free);
    g_free(probes);
}

static gboolean
has_new(const RuleProbes *probes, const Measured *measured)
{
    for (guint i = 0; i < probes->bases->len; i++)
        if (measured->asked == NULL || !g_hash_table_contains(measured->asked, probes->bases->pdata[i]))
            return TRUE;
    return FALSE;
}

static GHashTable *
copy_bases(const RuleProbes *probes)
{
    GHashTable *bases = g_hash_table_new_full(keyed_hash_string, g_str_equal, g_free, NULL);
    for (guint i = 0; i < probes->bases->len; i++)
        g_hash_table_add(bases, g_strdup(probes->bases->pdata[i]));
    return bases;
}

static gboolean
begin(const RuleProbes *probes)
{
    Measured *measured = live_part(probes->target, &measured_part);
    const gint64 now_us = g_get_monotonic_time();
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&measured->lock);
    const gint64 rest_us = measured->cost_us * (has_new(probes, measured) ? REST_NEW : REST);
    if (measured->busy || (measured->ended_us != 0 && now_us - measured->ended_us < rest_us))
        return FALSE;
    g_clear_pointer(&measured->asked, g_hash_table_unref);
    measured->asked = copy_bases(probes);
    measured->busy = TRUE;
    measured->ended_us = now_us; /* in case it is never started */
    measured->cost_us = REFUSED_US / REST;
    return TRUE;
}

void
rule_probes_measure(RuleProbes *probes)
{
    if (probes->probes->len == 0 || !begin(probes)) {
        rule_probes_free(probes);
        return;
    }
    probes->begun = TRUE;
    RuleProbes **submitted = g_new(RuleProbes *, 1);
    *submitted = probes;
    service_post(live_service(probes->target), on_submit, submitted, free_submit);
}

GHashTable *
rule_probes_values(ServiceTarget *target, gboolean *now)
{
    Measured *measured = live_part(target, &measured_part);
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&measured->lock);
    *now = measured->fresh;
    measured->fresh = FALSE;
    return measured->values != NULL ? g_hash_table_ref(measured->values) : NULL;
}
