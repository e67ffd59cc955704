/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/case.h"

#include "stats/readable.h"

#include <string.h>

char *
case_sentence(const char *format, ...)
{
    g_autoptr(GString) text = g_string_new(NULL);
    va_list arguments;

    va_start(arguments, format);
    for (const char *at = format; *at != '\0'; at++) {
        if (*at != '%') {
            g_string_append_c(text, *at);
            continue;
        }
        at++;
        if (*at == 'S')
            readable_append_size(text, va_arg(arguments, gdouble), 0);
        else if (*at == 's')
            g_string_append(text, va_arg(arguments, const char *));
        else if (*at == 'u')
            g_string_append_printf(text, "%u", va_arg(arguments, guint));
        else
            g_string_append_c(text, *at);
    }
    va_end(arguments);
    return g_string_free(g_steal_pointer(&text), FALSE);
}

void
case_finding_free(gpointer data)
{
    DoctorFinding *finding = data;
    g_free(finding->advice);
    g_ptr_array_unref(finding->functions);
    g_ptr_array_unref(finding->evidence);
    g_ptr_array_unref(finding->against);
    g_free(finding);
}

DoctorFinding *
case_add(Case *the, Rank rank, CauseId cause, gdouble bytes)
{
    DoctorFinding *finding = g_new0(DoctorFinding, 1);
    finding->cause = cause;
    finding->bytes = bytes;
    finding->functions = g_ptr_array_new_with_free_func(g_free);
    finding->evidence = g_ptr_array_new_with_free_func(g_free);
    finding->against = g_ptr_array_new_with_free_func(g_free);
    Ranked ranked = {rank, finding};
    g_array_append_val(the->ranked, ranked);
    return finding;
}

void
case_say(DoctorFinding *finding, char *text)
{
    g_ptr_array_add(finding->evidence, text);
}

void
case_say_against(DoctorFinding *finding, CauseId other, const char *because)
{
    g_ptr_array_add(finding->against, g_strdup_printf("not %s, because %s", causes[other].name, because));
}

void
case_say_unloaded(DoctorFinding *finding, const DoctorStack *stack)
{
    if (stack != NULL && stack->unloaded)
        case_say(finding,
                 stack->object != NULL
                     ? case_sentence("it was allocated by code of %s, which is not loaded any more", stack->object)
                     : g_strdup("it was allocated by code that no file is mapped for"));
}

void
case_set_functions(DoctorFinding *finding, const DoctorStack *stack)
{
    for (guint i = 0; stack != NULL && i < stack->functions->len; i++)
        g_ptr_array_add(finding->functions, g_strdup(stack->functions->pdata[i]));
}

gdouble
case_line(const Ledger *ledger, LedgerId id)
{
    return ledger != NULL && ledger->lines[id].known ? (gdouble)ledger->lines[id].bytes : 0;
}

gdouble
case_line_now(const Case *the, LedgerId id)
{
    return case_line(the->evidence->last, id);
}

gboolean
case_is_waste(const Case *the, gdouble bytes)
{
    return bytes >= WASTE_LEAST && bytes >= WASTE_SHARE * the->memory;
}

gboolean
case_is_holder(const Case *the, gdouble bytes)
{
    return bytes >= HOLDER_LEAST && bytes >= HOLDER_SHARE * the->memory;
}

uint64_t
case_merged(const StatsSample *sample, StatsMetric metric)
{
    const StatsArena *merged = sample != NULL ? stats_sample_find(sample, STATS_ARENA_MERGED) : NULL;

    return merged != NULL ? stats_values_or(merged->values, metric, 0) : 0;
}

gdouble
case_processors(const Case *the, guint from, guint to)
{
    const DoctorMoment *first = &g_array_index(the->evidence->moments, DoctorMoment, from);
    const DoctorMoment *last = &g_array_index(the->evidence->moments, DoctorMoment, to);

    if (last->processor_ms == G_MAXUINT64 || last->processor_ms <= first->processor_ms ||
        last->seconds <= first->seconds)
        return 0;
    return (gdouble)(last->processor_ms - first->processor_ms) / 1000 / (last->seconds - first->seconds);
}

void
case_prepare(Case *the)
{
    const DoctorEvidence *evidence = the->evidence;
    const GArray *moments = evidence->moments;
    static const LedgerId beside[] = {LEDGER_TMPFS_FILES,   LEDGER_SOCKETS,     LEDGER_PIPES,
                                      LEDGER_KERNEL_STACKS, LEDGER_PAGE_TABLES, LEDGER_CHILDREN};

    for (guint i = 0; i < moments->len; i++) {
        const DoctorMoment *moment = &g_array_index(moments, DoctorMoment, i);
        the->first = i == 0 ? moment : the->first;
        the->last = moment;
        if (moment->sample != NULL) {
            the->first_sample = the->first_sample != NULL ? the->first_sample : moment->sample;
            the->sample = moment->sample;
        }
    }
    if (the->sample != NULL) {
        stats_waste(the->sample, &the->waste);
        stats_waste(the->first_sample, &the->before);
        the->resident = (gdouble)stats_values_or(the->sample->totals, STATS_RESIDENT, 0);
    }
    the->memory = evidence->last != NULL ? (gdouble)evidence->last->rss : 0;
    for (gsize i = 0; i < G_N_ELEMENTS(beside); i++)
        the->memory += case_line_now(the, beside[i]);
    if (the->memory <= 0 && the->last != NULL && the->last->rss != G_MAXUINT64)
        the->memory = (gdouble)the->last->rss;
    the->memory = the->memory > 0 ? the->memory : MAX(the->resident, evidence->profiled);
}
