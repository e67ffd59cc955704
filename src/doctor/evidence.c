/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/evidence.h"

#include <math.h>

void
doctor_moment_clear(DoctorMoment *moment)
{
    g_clear_pointer(&moment->sample, stats_sample_unref);
}

void
doctor_stack_free(DoctorStack *stack)
{
    if (stack == NULL)
        return;
    g_clear_pointer(&stack->functions, g_ptr_array_unref);
    g_free(stack->object);
    g_free(stack);
}

gboolean
doctor_growth_is_sampled(const GPtrArray *stacks)
{
    return stacks->len > 0 && ((const DoctorStack *)stacks->pdata[0])->samples > 0;
}

void
doctor_evidence_init(DoctorEvidence *evidence)
{
    *evidence = (DoctorEvidence){
        .moments = g_array_new(FALSE, TRUE, sizeof(DoctorMoment)),
        .growing = g_ptr_array_new_with_free_func((GDestroyNotify)doctor_stack_free),
        .unfreed = g_ptr_array_new_with_free_func((GDestroyNotify)doctor_stack_free),
        .profile_trend.detectable = INFINITY,
    };
    g_array_set_clear_func(evidence->moments, (GDestroyNotify)doctor_moment_clear);
}

void
doctor_evidence_clear(DoctorEvidence *evidence)
{
    g_clear_pointer(&evidence->moments, g_array_unref);
    g_clear_pointer(&evidence->growing, g_ptr_array_unref);
    g_clear_pointer(&evidence->unfreed, g_ptr_array_unref);
    g_clear_pointer(&evidence->holder, doctor_stack_free);
    g_clear_pointer(&evidence->mover, doctor_stack_free);
    g_clear_pointer(&evidence->class_holder, doctor_stack_free);
}
