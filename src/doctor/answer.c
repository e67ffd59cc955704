/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/answer.h"

#include "stats/readable.h"

#include <math.h>

enum { FRAMES_SHOWN = 4 };

/* ---- text ---- */

static void
append_duration(GString *out, gdouble seconds)
{
    if (seconds < 120)
        g_string_append_printf(out, "%.0f s", seconds);
    else if (seconds < 7200)
        g_string_append_printf(out, "%.0f min", seconds / 60);
    else
        g_string_append_printf(out, "%.1f h", seconds / 3600);
}

/* Slow rates are shown per hour. */
static void
append_rate(GString *out, gdouble per_second)
{
    gboolean slow = per_second < 1024 * 100;

    readable_append_size(out, slow ? per_second * 3600 : per_second, 0);
    g_string_append(out, slow ? "/h" : "/s");
}

static void
append_functions(GString *out, const GPtrArray *functions)
{
    if (functions->len == 0)
        return;
    g_string_append(out, "   ");
    for (guint i = 0; i < functions->len && i < FRAMES_SHOWN; i++)
        g_string_append_printf(out, "%s%s", i > 0 ? " ← " : "", (const char *)functions->pdata[i]);
    g_string_append(out, functions->len > FRAMES_SHOWN ? " ← …\n" : "\n");
}

static void
append_growth(GString *out, const DoctorFinding *finding)
{
    g_string_append(out, ", and it grows by ");
    append_rate(out, finding->rate);
    if (finding->high > finding->low) {
        g_string_append(out, " (95 %: ");
        append_rate(out, finding->low);
        g_string_append(out, " to ");
        append_rate(out, finding->high);
        g_string_append_c(out, ')');
    }
    if (finding->onset > 0 && finding->onset < G_MAXDOUBLE) {
        g_string_append(out, ", since ");
        append_duration(out, finding->onset);
        g_string_append(out, " after the first reading");
    }
    if (finding->hours > 0)
        g_string_append_printf(out, "; the limit of the control group is reached in %.1f h", finding->hours);
}

static void
append_finding(GString *out, guint number, const DoctorFinding *finding)
{
    const Cause *cause = &causes[finding->cause];

    g_string_append_printf(out, "\n%u. %s  [%s, %.0f %% sure]\n", number, cause->finding, cause->name,
                           100 * finding->confidence);
    append_functions(out, finding->functions);
    g_string_append(out, "   it holds ");
    readable_append_size(out, finding->bytes, 0);
    if (finding->grows)
        append_growth(out, finding);
    g_string_append_c(out, '\n');
    for (guint i = 0; i < finding->evidence->len; i++)
        g_string_append_printf(out, "   seen: %s\n", (const char *)finding->evidence->pdata[i]);
    for (guint i = 0; i < finding->against->len; i++)
        g_string_append_printf(out, "   %s\n", (const char *)finding->against->pdata[i]);
    if (finding->advice != NULL)
        g_string_append_printf(out, "   do: %s\n", finding->advice);
}

void
doctor_answer_text(GString *out, const DoctorSubject *subject, const DoctorReport *report)
{
    g_string_append(out, subject->name);
    if (subject->seconds > 0) {
        g_string_append(out, ": watched for ");
        append_duration(out, subject->seconds);
    }
    if (subject->ledger != NULL) {
        g_string_append(out, ", ");
        readable_append_size(out, (double)subject->ledger->rss, 0);
        g_string_append(out, " resident");
    }
    g_string_append_c(out, '\n');
    if (report->findings->len == 0)
        g_string_append(out, "healthy");
    if (report->findings->len == 0 && isfinite(report->detectable)) {
        g_string_append(out, "; a leak above ");
        append_rate(out, report->detectable);
        g_string_append(out, " would have been seen");
    }
    if (report->findings->len == 0)
        g_string_append_c(out, '\n');
    for (guint i = 0; i < report->findings->len; i++)
        append_finding(out, i + 1, report->findings->pdata[i]);
    for (guint i = 0; i < report->notes->len; i++)
        g_string_append_printf(out, "%s%s\n", i == 0 ? "\n" : "", (const char *)report->notes->pdata[i]);
}

/* ---- JSON ---- */

static json_t *
strings_json(const GPtrArray *strings)
{
    json_t *list = json_array();

    for (guint i = 0; i < strings->len; i++)
        json_array_append_new(list, json_string(strings->pdata[i]));
    return list;
}

/* null if unknown or infinite. */
static json_t *
number_json(gboolean known, gdouble value)
{
    return known && isfinite(value) ? json_real(value) : json_null();
}

static json_t *
finding_json(const DoctorFinding *finding)
{
    const Cause *cause = &causes[finding->cause];
    gboolean grows = finding->grows;
    json_t *object = json_object();

    json_object_set_new(object, "cause", json_string(cause->name));
    json_object_set_new(object, "finding", json_string(cause->finding));
    json_object_set_new(object, "function",
                        finding->functions->len > 0 ? json_string(finding->functions->pdata[0]) : json_null());
    json_object_set_new(object, "functions", strings_json(finding->functions));
    json_object_set_new(object, "bytes", json_integer((json_int_t)CLAMP(finding->bytes, 0, (gdouble)G_MAXINT64 / 2)));
    json_object_set_new(object, "bytes_per_second", number_json(grows, finding->rate));
    json_object_set_new(object, "bytes_per_second_low", number_json(grows, finding->low));
    json_object_set_new(object, "bytes_per_second_high", number_json(grows, finding->high));
    json_object_set_new(object, "onset_seconds", number_json(grows && finding->onset < G_MAXDOUBLE, finding->onset));
    json_object_set_new(object, "hours_to_limit", number_json(finding->hours > 0, finding->hours));
    json_object_set_new(object, "confidence", json_real(finding->confidence));
    json_object_set_new(object, "evidence", strings_json(finding->evidence));
    json_object_set_new(object, "against", strings_json(finding->against));
    json_object_set_new(object, "advice", json_string(finding->advice != NULL ? finding->advice : ""));
    json_object_set_new(object, "gives_back_bytes",
                        json_integer((json_int_t)CLAMP(finding->gives_back, 0, (gdouble)G_MAXINT64 / 2)));
    return object;
}

static json_t *
ledger_json(const Ledger *ledger)
{
    if (ledger == NULL)
        return json_null();
    json_t *object = json_object();
    json_object_set_new(object, "rss", json_integer((json_int_t)ledger->rss));
    for (guint i = 0; i < LEDGER_LINES; i++)
        if (ledger->lines[i].known)
            json_object_set_new(object, ledger_lines[i].name, json_integer((json_int_t)ledger->lines[i].bytes));
    return object;
}

json_t *
doctor_answer_json(const DoctorSubject *subject, const DoctorReport *report)
{
    json_t *members = json_object();
    json_t *findings = json_array();

    for (guint i = 0; i < report->findings->len; i++)
        json_array_append_new(findings, finding_json(report->findings->pdata[i]));
    json_object_set_new(members, "source", json_string(subject->name));
    json_object_set_new(members, "findings", findings);
    json_object_set_new(members, "healthy", json_boolean(report->findings->len == 0));
    json_object_set_new(members, "watched_seconds", json_real(subject->seconds));
    json_object_set_new(members, "detectable_bytes_per_second",
                        number_json(report->findings->len == 0, report->detectable));
    json_object_set_new(members, "notes", strings_json(report->notes));
    json_object_set_new(members, "ledger", ledger_json(subject->ledger));
    return members;
}
