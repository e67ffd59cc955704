/* SPDX-License-Identifier: Apache-2.0 */
/* The data about a fired rule that is reported to other systems. Strings are borrowed. */
#ifndef JESCOPE_SERVICE_RULE_REPORT_H
#define JESCOPE_SERVICE_RULE_REPORT_H

#include <glib.h>
#include <jansson.h>

typedef struct {
    const char *rule, *because;
    gint64 time_us;                          /* time of firing, wall clock */
    const char *id, *unique, *name, *series; /* the target's */
    const json_t *actions;                   /* array of the previous actions, with their failures */
    guint64 dump;                            /* id of the last dump; 0: none */
} RuleReport;

/* "2026-11-22T15:40:10Z". To be freed. */
char *rule_report_time(gint64 time_us);

/* The body for a web hook (docs/rules.md). To be freed. */
char *rule_report_document(const RuleReport *report);

/* A log record as an ExportLogsServiceRequest in the JSON form of OTLP 1.x. HOST is this machine's name. To be
 * freed. */
char *rule_report_otlp(const RuleReport *report, const char *host);

/* Sends a line to the syslog daemon at SOCKET, as syslog(3) does at /dev/log: facility daemon, severity warning. Does
 * not block. */
gboolean rule_report_syslog(const RuleReport *report, const char *socket, GError **error);

#endif
