/* SPDX-License-Identifier: Apache-2.0 */
#include "service/rule-report.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static RuleReport
example(json_t *actions)
{
    return (RuleReport){.rule = "heap",
                        .because = "held above 2 GiB: 2.1 GiB",
                        .time_us = 1795368010000001,
                        .id = "4711",
                        .unique = "4711.8812033",
                        .name = "redis-server",
                        .series = "redis-server/2",
                        .actions = actions,
                        .dump = 3};
}

/* As the collector's otlphttp receiver reads it: integers of 64 bits are strings. */
static void
test_otlp(void)
{
    json_t *actions = json_array();
    const RuleReport report = example(actions);
    g_autofree char *text = rule_report_otlp(&report, "web1");
    g_assert_cmpstr(
        text, ==,
        "{\"resourceLogs\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\",\"value\":{\"stringValue\":"
        "\"redis-server\"}},{\"key\":\"host.name\",\"value\":{\"stringValue\":\"web1\"}},{\"key\":\"process.pid\","
        "\"value\":{\"intValue\":\"4711\"}}]},\"scopeLogs\":[{\"scope\":{\"name\":\"jescope\"},\"logRecords\":[{"
        "\"timeUnixNano\":\"1795368010000001000\",\"observedTimeUnixNano\":\"1795368010000001000\",\"severityNumber\":"
        "13,"
        "\"severityText\":\"WARN\",\"eventName\":\"jescope.rule\",\"body\":{\"stringValue\":\"rule heap: held above 2 "
        "GiB: "
        "2.1 GiB\"},\"attributes\":[{\"key\":\"jescope.rule\",\"value\":{\"stringValue\":\"heap\"}},{\"key\":"
        "\"jescope.because\",\"value\":{\"stringValue\":\"held above 2 GiB: 2.1 GiB\"}},{\"key\":\"jescope.series\","
        "\"value\":{\"stringValue\":\"redis-server/"
        "2\"}},{\"key\":\"jescope.dump\",\"value\":{\"intValue\":\"3\"}}]}]}]}]}");
    json_decref(actions);
}

static void
test_document(void)
{
    json_t *actions = json_pack("[{s:s, s:b}]", "action", "dump", "done", 1);
    const RuleReport report = example(actions);
    g_autofree char *text = rule_report_document(&report);
    g_assert_cmpstr(text, ==,
                    "{\"format\":\"jescope-rule\",\"version\":1,\"rule\":\"heap\",\"time\":\"2026-11-22T17:20:10Z\","
                    "\"because\":\"held above 2 GiB: 2.1 "
                    "GiB\",\"target\":{\"id\":\"4711\",\"unique\":\"4711.8812033\",\"name\":\"redis-server\","
                    "\"series\":\"redis-server/2\"},\"actions\":[{\"action\":\"dump\",\"done\":true}],\"dump\":3}");
    json_decref(actions);
}

/* A stand-in for the daemon gets one line, whatever the process is called. */
static void
test_syslog(void)
{
    g_autofree char *folder = g_dir_make_tmp("jescope-test-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "log", NULL);
    g_autoptr(GError) error = NULL;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char line[2048] = "";
    json_t *actions = json_array();
    RuleReport report = example(actions);
    report.name = "two\n<0>lines";
    g_assert_false(rule_report_syslog(&report, path, &error));
    g_assert_nonnull(strstr(error->message, "No such file or directory"));
    const int daemon = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    g_strlcpy(address.sun_path, path, sizeof(address.sun_path));
    g_assert_cmpint(bind(daemon, (struct sockaddr *)&address, sizeof(address)), ==, 0);
    g_assert_true(rule_report_syslog(&report, path, NULL));
    g_assert_cmpint(recv(daemon, line, sizeof(line) - 1, 0), >, 0);
    g_assert_true(g_str_has_prefix(line, "<28>Nov 22 "));
    g_autofree char *end =
        g_strdup_printf(" jescope[%d]: rule heap: two?<0>lines (4711): held above 2 GiB: 2.1 GiB", (int)getpid());
    g_assert_true(g_str_has_suffix(line, end));
    close(daemon);
    g_unlink(path);
    g_rmdir(folder);
    json_decref(actions);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/rule-report/otlp", test_otlp);
    g_test_add_func("/rule-report/document", test_document);
    g_test_add_func("/rule-report/syslog", test_syslog);
    return g_test_run();
}
