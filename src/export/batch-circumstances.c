/* SPDX-License-Identifier: Apache-2.0 */
#include "export/batch-circumstances.h"

#include "export/batch-form.h"
#include "text/printable.h"

#include <string.h>

void
circumstances_add_pair(GVariantBuilder *root, const char *one, const char *other)
{
    g_autofree char *first = text_printable(one), *second = text_printable(other);
    g_variant_builder_add(root, "(ss)", first, second);
}

char *
batch_label_name(const char *name)
{
    char *fit = g_strconcat(g_ascii_isdigit(name[0]) || name[0] == '\0' ? "_" : "", name, NULL);
    return g_strcanon(fit, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_", '_');
}

void
circumstances_add_labels(const BatchCircumstances *given, GVariantBuilder *root)
{
    g_variant_builder_open(root, G_VARIANT_TYPE("a(ss)"));
    for (gsize i = 0; i < given->n_labels; i++) {
        g_autofree char *name = batch_label_name(given->labels[i].name);
        if (given->labels[i].value[0] != '\0')
            circumstances_add_pair(root, name, given->labels[i].value);
    }
    g_variant_builder_close(root);
}

void
circumstances_add_ledger(const BatchCircumstances *given, GVariantBuilder *root)
{
    const Ledger *ledger = given->ledger;
    g_variant_builder_open(root, G_VARIANT_TYPE("a(sxxx)"));
    for (guint i = 0; ledger != NULL && i < LEDGER_LINES; i++)
        if (ledger->lines[i].known)
            g_variant_builder_add(root, "(sxxx)", ledger_lines[i].name, ledger->lines[i].bytes, ledger->lines[i].low,
                                  ledger->lines[i].high);
    g_variant_builder_close(root);
}

static void
add_values_of(GVariantBuilder *root, const StatsValues *values, StatsScope scope)
{
    for (guint i = 0; i < stats_scope_count(scope); i++) {
        StatsMetric metric = stats_scope_first(scope) + i;
        const StatsMetricInfo *info = &stats_metrics[metric];
        guint64 value;
        if (stats_values_get(values, metric, &value))
            g_variant_builder_add(root, "(sbd)", info->name, info->type == STATS_COUNTER,
                                  info->ctype == STATS_CTYPE_SSIZE ? (gdouble)(gint64)value : (gdouble)value);
    }
}

void
circumstances_add_sample(const StatsSample *sample, GVariantBuilder *root)
{
    const StatsArena *merged = stats_sample_find(sample, STATS_ARENA_MERGED);
    add_values_of(root, sample->totals, STATS_SCOPE_TOTALS);
    if (merged != NULL)
        add_values_of(root, merged->values, STATS_SCOPE_ARENA);
}

void
circumstances_correct(const BatchCircumstances *given, BatchDump *dump)
{
    const BatchProcess *process = given->process;
    if (process == NULL)
        return;
    dump->pid = process->pid;
    dump->start = process->start;
    dump->time = CLAMP(process->time, 0, BATCH_TIME_MAX);
    dump->since = MIN(dump->since, dump->time);
}

/* ---- completing a batch ---- */

/* Deterministic: the same dump of the same process gets the same id again. */
static char *
identify(const BatchDump *dump, const char *service, const char *host)
{
    g_autofree char *text =
        g_strdup_printf("%s %s %" G_GINT64_FORMAT " %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT "\n%s", dump->id, host,
                        dump->time, dump->pid, dump->start, service);
    char *digest = g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);
    digest[BATCH_ID] = '\0';
    return digest;
}

static void
add_dump(const BatchDump *built, const BatchCircumstances *given, GVariantBuilder *root)
{
    BatchDump dump = *built;
    circumstances_correct(given, &dump);
    g_autofree char *service = text_printable(given->service != NULL ? given->service : dump.service);
    g_autofree char *host = text_printable(given->host);
    g_autofree char *id = identify(&dump, service, host);
    g_variant_builder_add(root, BATCH_FORM_DUMP, id, service, host, dump.program, dump.build_id, dump.time, dump.since,
                          dump.pid, dump.start, dump.period, dump.folded);
}

static void
add_child(GVariant *whole, gsize child, const BatchCircumstances *given, GVariantBuilder *root)
{
    g_autoptr(GVariant) part = g_variant_get_child_value(whole, child);
    if (child == BATCH_CHILD_LABELS) {
        circumstances_add_labels(given, root);
    } else if (child == BATCH_CHILD_LEDGER) {
        circumstances_add_ledger(given, root);
    } else if (child == BATCH_CHILD_METRICS && given->sample != NULL) {
        g_variant_builder_open(root, g_variant_get_type(part));
        circumstances_add_sample(given->sample, root);
        g_variant_builder_close(root);
    } else {
        g_variant_builder_add_value(root, part);
    }
}

GBytes *
batch_complete(GBytes *bytes, const BatchCircumstances *circumstances, GError **error)
{
    g_autoptr(Batch) batch = batch_read(bytes, error);
    if (batch == NULL)
        return NULL;
    g_autoptr(GVariant) whole = g_variant_ref_sink(g_variant_new_from_bytes(G_VARIANT_TYPE(BATCH_FORM), bytes, FALSE));
    g_auto(GVariantBuilder) root = G_VARIANT_BUILDER_INIT(G_VARIANT_TYPE(BATCH_FORM));
    for (gsize child = 0; child < BATCH_CHILDREN; child++)
        if (child == BATCH_CHILD_DUMP)
            add_dump(&batch->dump, circumstances, &root);
        else
            add_child(whole, child, circumstances, &root);
    g_autoptr(GVariant) completed = g_variant_ref_sink(g_variant_builder_end(&root));
    if (g_variant_get_size(completed) <= BATCH_MAX_BYTES)
        return g_variant_get_data_as_bytes(completed);
    g_set_error(error, BATCH_ERROR, BATCH_ERROR_FORMAT, "the batch would be larger than %d MiB", BATCH_MAX_BYTES >> 20);
    return NULL;
}
