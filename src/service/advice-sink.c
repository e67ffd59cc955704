/* SPDX-License-Identifier: Apache-2.0 */
#include "service/live.h"

#include "stats/advice.h"

/* The state of a target. */
typedef struct {
    StatsSample *judged; /* a summary of the last sample that was examined */
    GPtrArray *advice;   /* of const char *: ids of findings, static */
} Judgement;

static void
clear_judgement(gpointer part)
{
    Judgement *judgement = part;
    g_clear_pointer(&judgement->judged, stats_sample_unref);
    g_clear_pointer(&judgement->advice, g_ptr_array_unref);
}

static const LivePart judgement_part = {sizeof(Judgement), clear_judgement};

static gboolean
has_id(const GPtrArray *ids, const char *id)
{
    return ids != NULL && g_ptr_array_find_with_equal_func((GPtrArray *)(guintptr)ids, id, g_str_equal, NULL);
}

static void
emit_changes(ServiceTarget *target, const GPtrArray *these, const GPtrArray *not_these, ServiceEventType type)
{
    for (guint i = 0; these != NULL && i < these->len; i++) {
        ServiceEvent event = {.type = type, .detail = these->pdata[i]};
        if (!has_id(not_these, these->pdata[i]))
            live_emit(target, &event);
    }
}

static void
on_sample(gpointer state, const CollectedSample *collected)
{
    if (collected->target == NULL)
        return;
    Judgement *judgement = live_part(collected->target, &judgement_part);
    g_autoptr(StatsSample) earlier = g_steal_pointer(&judgement->judged);
    judgement->judged = stats_sample_summary(collected->sample);
    g_autoptr(GPtrArray) found = advice_find(collected->sample, earlier);
    g_autoptr(GPtrArray) before = g_steal_pointer(&judgement->advice);
    judgement->advice = g_ptr_array_new();
    for (guint i = 0; i < found->len; i++)
        g_ptr_array_add(judgement->advice, (gpointer)(guintptr)causes[((const Advice *)found->pdata[i])->cause].name);
    emit_changes(collected->target, judgement->advice, before, SERVICE_EVENT_ADVICE);
    emit_changes(collected->target, before, judgement->advice, SERVICE_EVENT_ADVICE_OFF);
}

const Sink advice_sink = {.sample = on_sample};
