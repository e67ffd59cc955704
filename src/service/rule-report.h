/* SPDX-License-Identifier: Apache-2.0 */
/* What a rule tells other systems of itself when it has fired. Strings are borrowed. */
#ifndef JESCOPE_SERVICE_RULE_REPORT_H
#define JESCOPE_SERVICE_RULE_REPORT_H

#include <glib.h>
#include <jansson.h>

typedef struct {
    const char *rule, *because;
    gint64 time_us;                 /* when it fired, wall clock */
    const char *id, *name, *series; /* of the target */
    const json_t *actions;          /* the array of those before, with their failures */
    guint64 dump;                   /* the last dump's id; 0: none */
} RuleReport;

/* "2026-11-22T15:40:10Z". To be freed. */
char *rule_report_time(gint64 time_us);

/* For a web hook (docs/rules.md). To be freed. */
char *rule_report_document(const RuleReport *report);

/* One log record: an ExportLogsServiceRequest in the JSON form of OTLP 1.x. HOST is this machine's name. To be freed.
 */
char *rule_report_otlp(const RuleReport *report, const char *host);

/* Sends one line to the syslog daemon at SOCKET, as syslog(3) does at /dev/log: facility daemon, severity warning. Does
 * not wait. */
gboolean rule_report_syslog(const RuleReport *report, const char *socket, GError **error);

#endif
