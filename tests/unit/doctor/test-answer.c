/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/answer.h"

#include <math.h>
#include <string.h>

static GPtrArray *
strings(const char *text)
{
    GPtrArray *list = g_ptr_array_new_with_free_func(g_free);
    if (text)
        g_ptr_array_add(list, g_strdup(text));
    return list;
}

static void
free_finding(gpointer data)
{
    DoctorFinding *finding = data;
    g_free(finding->advice);
    g_ptr_array_unref(finding->functions);
    g_ptr_array_unref(finding->evidence);
    g_ptr_array_unref(finding->against);
    g_free(finding);
}

static void
fill(DoctorReport *report, guint findings)
{
    *report = (DoctorReport){
        .findings = g_ptr_array_new_with_free_func(free_finding), .notes = strings("a note"), .detectable = 1258291.2};
    for (guint i = 0; i < findings; i++) {
        DoctorFinding *finding = g_new0(DoctorFinding, 1);
        *finding = (DoctorFinding){.cause = CAUSE_HEAP_LEAK,
                                   .functions = strings("session_store"),
                                   .evidence = strings("it grew"),
                                   .against = strings("not bounded-cache, because it did not slow down"),
                                   .bytes = 12345678,
                                   .grows = TRUE,
                                   .rate = 1200000,
                                   .low = 1100000,
                                   .high = 1300000,
                                   .hours = 3.25,
                                   .gives_back = 1024,
                                   .confidence = 0.97};
        g_ptr_array_add(report->findings, finding);
    }
}

static const DoctorSubject subject = {.name = "redis-server (4711)", .seconds = 30};

static void
test_text(void)
{
    g_auto(DoctorReport) report = {0};
    g_autoptr(GString) text = g_string_new(NULL);

    fill(&report, 1);
    ((DoctorFinding *)report.findings->pdata[0])->advice = g_strdup("free what it keeps: 11.8 MiB");
    doctor_answer_text(text, &subject, &report);
    g_assert_cmpstr(text->str, ==,
                    "redis-server (4711): watched for 30 s\n\n"
                    "1. Memory is allocated and never freed  [heap-leak, 97 % sure]\n"
                    "   session_store\n"
                    "   it holds 11.8 MiB, and it grows by 1.1 MiB/s (95 %: 1.0 MiB/s to 1.2 MiB/s); the limit of the "
                    "control group is reached in 3.2 h\n"
                    "   seen: it grew\n"
                    "   not bounded-cache, because it did not slow down\n"
                    "   do: free what it keeps: 11.8 MiB\n"
                    "\na note\n");
}

static void
test_healthy(void)
{
    g_auto(DoctorReport) report = {0};
    g_autoptr(GString) text = g_string_new(NULL);

    fill(&report, 0);
    report.detectable = 350;
    doctor_answer_text(text, &subject, &report);
    g_assert_cmpstr(
        text->str, ==,
        "redis-server (4711): watched for 30 s\nhealthy; a leak above 1.2 MiB/h would have been seen\n\na note\n");
}

static void
test_json(void)
{
    g_auto(DoctorReport) report = {0};

    fill(&report, 1);
    ((DoctorFinding *)report.findings->pdata[0])->advice = g_strdup("restart it");
    json_t *document = doctor_answer_json(&subject, &report);
    json_t *finding = json_array_get(json_object_get(document, "findings"), 0);
    g_assert_cmpstr(json_string_value(json_object_get(finding, "cause")), ==, "heap-leak");
    g_assert_cmpstr(json_string_value(json_object_get(finding, "function")), ==, "session_store");
    g_assert_cmpstr(json_string_value(json_object_get(finding, "advice")), ==, "restart it");
    g_assert_cmpint(json_integer_value(json_object_get(finding, "gives_back_bytes")), ==, 1024);
    g_assert_cmpint(json_integer_value(json_object_get(finding, "bytes")), ==, 12345678);
    g_assert_cmpfloat(json_real_value(json_object_get(finding, "bytes_per_second")), ==, 1200000);
    g_assert_true(json_is_false(json_object_get(document, "healthy")));
    g_assert_true(json_is_null(json_object_get(document, "detectable_bytes_per_second")));
    json_decref(document);
}

/* Unknown values are null; so are infinite numbers, which JSON lacks. */
static void
test_json_of_the_unknown(void)
{
    g_auto(DoctorReport) report = {0};

    fill(&report, 0);
    report.detectable = INFINITY;
    json_t *document = doctor_answer_json(&subject, &report);
    g_assert_true(json_is_null(json_object_get(document, "detectable_bytes_per_second")));
    g_assert_true(json_is_null(json_object_get(document, "ledger")));
    g_assert_true(json_is_true(json_object_get(document, "healthy")));
    json_decref(document);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/doctor/answer/text", test_text);
    g_test_add_func("/doctor/answer/healthy", test_healthy);
    g_test_add_func("/doctor/answer/json", test_json);
    g_test_add_func("/doctor/answer/json-unknown", test_json_of_the_unknown);
    return g_test_run();
}
