/* SPDX-License-Identifier: Apache-2.0 */
#include "service/scan-result.h"

static void
clear_found(gpointer data)
{
    ScanFound *found = data;
    g_free(found->address);
    g_free(found->series);
    identity_free(found->identity);
    process_facts_unref(found->facts);
}

static void
clear_remark(gpointer data)
{
    ScanRemark *remark = data;
    g_free(remark->series);
    g_free(remark->text);
}

ScanResult *
scan_result_new(void)
{
    ScanResult *result = g_new0(ScanResult, 1);
    result->found = g_array_new(FALSE, TRUE, sizeof(ScanFound));
    result->lost = g_array_new(FALSE, TRUE, sizeof(ScanLost));
    result->remarks = g_array_new(FALSE, TRUE, sizeof(ScanRemark));
    g_array_set_clear_func(result->found, clear_found);
    g_array_set_clear_func(result->remarks, clear_remark);
    return result;
}

void
scan_result_free(ScanResult *result)
{
    if (result == NULL)
        return;
    g_array_unref(result->found);
    g_array_unref(result->lost);
    g_array_unref(result->remarks);
    g_free(result->trouble);
    g_free(result);
}

void
scan_result_add_found(ScanResult *result, const ScanFound *found)
{
    ScanFound copy = *found;
    copy.address = g_strdup(found->address);
    copy.series = g_strdup(found->series);
    copy.identity = identity_new(&found->process);
    copy.facts = process_facts_ref(found->facts);
    g_array_append_val(result->found, copy);
}

void
scan_result_add_lost(ScanResult *result, const Process *process)
{
    ScanLost lost = {.pid = process->pid, .start_time = process->start_time};
    g_array_append_val(result->lost, lost);
}

void
scan_result_add_remark(ScanResult *result, const ScanRemark *remark)
{
    ScanRemark copy = *remark;
    copy.series = g_strdup(remark->series);
    copy.text = g_strdup(remark->text);
    g_array_append_val(result->remarks, copy);
}
