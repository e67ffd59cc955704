/* SPDX-License-Identifier: Apache-2.0 */
#include "service/rule-report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

enum {
    OTLP_WARN = 13,    /* SeverityNumber of opentelemetry.proto.logs.v1 */
    LINE_BYTES = 1024, /* bytes of a line that every syslog daemon accepts (RFC 3164, 4.1) */
};

char *
rule_report_time(gint64 time_us)
{
    g_autoptr(GDateTime) time = g_date_time_new_from_unix_utc(time_us / G_USEC_PER_SEC);
    return g_date_time_format(time, "%FT%TZ");
}

/* Returns DOCUMENT, which it consumes, as text. To be freed. */
static char *
take_text(json_t *document)
{
    char *text = json_dumps(document, JSON_COMPACT | JSON_ENSURE_ASCII);
    char *copy = g_strdup(text);
    json_decref(document);
    free(text);
    return copy;
}

char *
rule_report_document(const RuleReport *report)
{
    g_autofree char *time = rule_report_time(report->time_us);
    return take_text(json_pack("{s:s, s:i, s:s, s:s, s:s, s:{s:s, s:s, s:s, s:s}, s:O, s:o}", "format", "jescope-rule",
                               "version", 1, "rule", report->rule, "time", time, "because", report->because, "target",
                               "id", report->id, "unique", report->unique, "name", report->name, "series",
                               report->series, "actions", report->actions, "dump",
                               report->dump != 0 ? json_integer((json_int_t)report->dump) : json_null()));
}

/* ---- OTLP ---- */

static void
add_text(json_t *attributes, const char *key, const char *value)
{
    json_array_append_new(attributes, json_pack("{s:s, s:{s:s}}", "key", key, "value", "stringValue", value));
}

/* 64-bit integers are strings in the JSON form of protobuf. */
static void
add_number(json_t *attributes, const char *key, const char *digits)
{
    json_array_append_new(attributes, json_pack("{s:s, s:{s:s}}", "key", key, "value", "intValue", digits));
}

static gboolean
is_number(const char *text)
{
    return g_ascii_string_to_unsigned(text, 10, 0, G_MAXINT64, NULL, NULL);
}

static json_t *
make_resource(const RuleReport *report, const char *host)
{
    json_t *attributes = json_array();
    add_text(attributes, "service.name", report->name);
    add_text(attributes, "host.name", host);
    if (is_number(report->id))
        add_number(attributes, "process.pid", report->id);
    return json_pack("{s:o}", "attributes", attributes);
}

static json_t *
make_record(const RuleReport *report)
{
    json_t *attributes = json_array();
    g_autofree char *time = g_strdup_printf("%" G_GINT64_FORMAT "000", report->time_us);
    g_autofree char *body = g_strdup_printf("rule %s: %s", report->rule, report->because);
    g_autofree char *dump = g_strdup_printf("%" G_GUINT64_FORMAT, report->dump);
    add_text(attributes, "jescope.rule", report->rule);
    add_text(attributes, "jescope.because", report->because);
    add_text(attributes, "jescope.series", report->series);
    if (report->dump != 0)
        add_number(attributes, "jescope.dump", dump);
    return json_pack("{s:s, s:s, s:i, s:s, s:s, s:{s:s}, s:o}", "timeUnixNano", time, "observedTimeUnixNano", time,
                     "severityNumber", OTLP_WARN, "severityText", "WARN", "eventName", "jescope.rule", "body",
                     "stringValue", body, "attributes", attributes);
}

char *
rule_report_otlp(const RuleReport *report, const char *host)
{
    return take_text(json_pack("{s:[{s:o, s:[{s:{s:s}, s:[o]}]}]}", "resourceLogs", "resource",
                               make_resource(report, host), "scopeLogs", "scope", "name", "jescope", "logRecords",
                               make_record(report)));
}

/* ---- syslog ---- */

/* Replaces control characters, which could end the line and begin another one. */
static char *
make_line(const RuleReport *report)
{
    g_autoptr(GDateTime) time = g_date_time_new_from_unix_local(report->time_us / G_USEC_PER_SEC);
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    g_autofree char *clock = g_date_time_format(time, "%e %H:%M:%S");
    char *line = g_strdup_printf("<%d>%s %s jescope[%d]: rule %s: %s (%s): %s", LOG_DAEMON | LOG_WARNING,
                                 months[g_date_time_get_month(time) - 1], clock, (int)getpid(), report->rule,
                                 report->name, report->id, report->because);
    for (char *at = line; *at != '\0'; at++)
        *at = g_ascii_iscntrl(*at) ? '?' : *at;
    return line;
}

gboolean
rule_report_syslog(const RuleReport *report, const char *socket_path, GError **error)
{
    g_autofree char *line = make_line(report);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int code = ENAMETOOLONG;
    if (g_strlcpy(address.sun_path, socket_path, sizeof(address.sun_path)) < sizeof(address.sun_path)) {
        int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        const gssize sent = fd < 0 ? -1
                                   : sendto(fd, line, MIN(strlen(line), (gsize)LINE_BYTES), MSG_NOSIGNAL,
                                            (struct sockaddr *)&address, sizeof(address));
        code = sent < 0 ? errno : 0;
        if (fd >= 0)
            close(fd);
    }
    if (code != 0)
        g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(code), "cannot send to the syslog daemon at %s: %s",
                    socket_path, g_strerror(code));
    return code == 0;
}
