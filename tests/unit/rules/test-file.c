/* SPDX-License-Identifier: Apache-2.0 */
#include "rules/file.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static GPtrArray *
parse(const char *text, GPtrArray **problems)
{
    *problems = g_ptr_array_new_with_free_func(g_free);
    GPtrArray *rules = rules_new();
    rules_file_parse("x.rules", text, strlen(text), rules, *problems);
    return rules;
}

static const char whole[] =
    "# what this is for\n"
    "[big]\n"
    "process = redis-*\n"
    "user = redis\n"
    "when = held above 2GiB clear 1.8GiB and slope(held, 10m) above 1MiB/m or working-set above 90%\n"
    "for = 5m\n"
    "warm-up = 1h\n"
    "do = record 30s; dump; statistics; purge; decay never; renew 128KiB; run /bin/echo 'a b' c; post "
    "https://alerts.example/x; log\n"
    "time-limit = 20s\n"
    "run-as = nobody\n"
    "count = 3\n"
    "window = 2d\n"
    "cooldown = 7m\n"
    "again = 512MiB\n"
    "disk = 1GiB\n"
    "spare = 10%\n";

static void
test_whole(void)
{
    g_autoptr(GPtrArray) problems = NULL;
    g_autoptr(GPtrArray) rules = parse(whole, &problems);
    g_assert_cmpuint(problems->len, ==, 0);
    g_assert_cmpuint(rules->len, ==, 1);
    const Rule *rule = rules->pdata[0];
    g_assert_cmpstr(rule->name, ==, "big");
    g_assert_cmpstr(rule->place, ==, "x.rules:2");
    g_assert_cmpuint(rule->conditions->len, ==, 3);
    const RuleCondition *conditions = (const RuleCondition *)(gpointer)rule->conditions->data;
    g_assert_cmpfloat(conditions[0].clear, <, conditions[0].threshold);
    g_assert_cmpuint(conditions[1].alternative, ==, 0);
    g_assert_cmpuint(conditions[2].alternative, ==, 1);
    g_assert_cmpfloat_with_epsilon(conditions[1].threshold, 1048576 / 60.0, 1e-6);
    g_assert_cmpuint(rule->actions->len, ==, 9);
    const RuleAction *actions = (const RuleAction *)(gpointer)rule->actions->data;
    g_assert_cmpint(actions[0].amount, ==, 30000);
    g_assert_cmpint(actions[4].amount, ==, -1);
    g_assert_cmpint(actions[5].amount, ==, 128 * 1024);
    g_assert_cmpstr(actions[6].argv[1], ==, "a b");
    g_assert_cmpstr(actions[7].url, ==, "https://alerts.example/x");
    g_assert_cmpint(rule->for_us, ==, 300 * G_USEC_PER_SEC);
    g_assert_cmpint(rule->warm_up_us, ==, (gint64)3600 * G_USEC_PER_SEC);
    g_assert_cmpint(rule->cooldown_us, ==, 420 * G_USEC_PER_SEC);
    g_assert_cmpint(rule->window_us, ==, (gint64)172800 * G_USEC_PER_SEC);
    g_assert_cmpint(rule->time_limit_us, ==, 20 * G_USEC_PER_SEC);
    g_assert_cmpuint(rule->count, ==, 3);
    g_assert_cmpfloat(rule->again, ==, 512.0 * 1048576);
    g_assert_cmpuint(rule->disk, ==, (guint64)1 << 30);
    g_assert_cmpfloat_with_epsilon(rule->spare, 0.1, 1e-9);
    g_assert_cmpstr(rule->run_as, ==, "nobody");
}

static void
test_filters(void)
{
    g_autoptr(GPtrArray) problems = NULL;
    g_autoptr(GPtrArray) rules = parse(whole, &problems);
    const struct {
        RuleSubject subject;
        gboolean matches;
    } rows[] = {
        {{.facts = {[RULE_FILTER_PROCESS] = "redis-server", [RULE_FILTER_USER] = "redis"}}, TRUE},
        {{.facts = {[RULE_FILTER_PROCESS] = "redis-server", [RULE_FILTER_USER] = "root"}}, FALSE},
        {{.facts = {[RULE_FILTER_PROCESS] = "redis-server"}}, TRUE},
        {{.facts = {[RULE_FILTER_PROCESS] = "mariadbd", [RULE_FILTER_USER] = "redis"}}, FALSE},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
        g_assert_cmpint(rule_matches(rules->pdata[0], &rows[i].subject), ==, rows[i].matches);
}

/* A user may give a control group, the arguments of a process, and others names that are not UTF-8. */
static void
test_text_of_any_bytes(void)
{
    static const char *const labels[] = {"unit=a\xfd", NULL};
    g_autoptr(GPtrArray) problems = NULL;
    g_autoptr(GPtrArray) rules =
        parse("[a]\nwhen = held above 2\ndo = log\ncgroup = /*/a*x.service\nlabel = unit=?*aaa\n", &problems);
    const RuleSubject group = {.facts = {[RULE_FILTER_CGROUP] = "/user.slice/aaaaaaaaaaaaaaaaaaaaa\xfd"}};
    const RuleSubject label = {.labels = labels};
    g_assert_cmpuint(problems->len, ==, 0);
    g_assert_false(rule_matches(rules->pdata[0], &group));
    g_assert_false(rule_matches(rules->pdata[0], &label));
}

static void
test_labels(void)
{
    static const char *const none[] = {NULL}, *const one[] = {"user=redis", "pod=7d0c-1", NULL},
                             *const other[] = {"user=redis", "pods=7d0c-1", "container=pod=7d0c", NULL};
    g_autoptr(GPtrArray) problems = NULL;
    g_autoptr(GPtrArray) rules =
        parse("[a]\nwhen = held above 2\ndo = log\nlabel = user=red* ; pod=7d0c*;\n", &problems);
    const struct {
        RuleSubject subject;
        gboolean matches;
    } rows[] = {
        {{.labels = one}, TRUE}, {{.labels = other}, FALSE}, {{.labels = none}, FALSE}, {{.labels = NULL}, TRUE}};
    g_assert_cmpuint(problems->len, ==, 0);
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
        g_assert_cmpint(rule_matches(rules->pdata[0], &rows[i].subject), ==, rows[i].matches);
}

/* The problem of an invalid rule has its line and key, and the rules around it are used. */
static void
test_wrong(void)
{
    const struct {
        const char *lines, *problem;
    } rows[] = {
        {"when = held above 2\n", "x.rules:4: [bad]: the key 'do' is missing"},
        {"do = log\n", "x.rules:4: [bad]: the key 'when' is missing"},
        {"when = held above 2\nwen = 1\ndo = log\n", "x.rules:6: [bad] wen: unknown key; did you mean 'when'?"},
        {"when = held above 2\nnonsense\ndo = log\n", "x.rules:6: [bad] nonsense: expected KEY = VALUE"},
        {"when = held above 2\nfor = 1m\n#\nfor = 2m\n", "x.rules:8: [bad] for: given again; it is also in line 6"},
        {"when = held 2\ndo = log\n", "x.rules:5: [bad] when: expected 'above' or 'below' after 'held' instead of '2'"},
        {"when = held\ndo = log\n", "instead of the end"},
        {"when = held above\ndo = log\n", "an amount is missing"},
        {"when = held above 90%\ndo = log\n", "'90%' is not an amount; write one like 512MiB"},
        {"when = held above 2 clear 3\ndo = log\n", "on the wrong side of its threshold; it must be lower"},
        {"when = held below 2 clear 1\ndo = log\n", "it must be higher"},
        {"when = held above 2 held above 3\ndo = log\n", "expected 'and' or 'or' instead of 'held'"},
        {"when = held above 2 and\ndo = log\n", "a condition is missing"},
        {"when = hold above 2\ndo = log\n", "did you mean 'held'?"},
        {"when = held above 2\ndo = shout\n", "no action 'shout'; there are record, dump,"},
        {"when = held above 2\ndo = ;\n", "no action; write one"},
        {"when = held above 2\ndo = record 2h\n", "'2h' is not a time from 1s to 1h"},
        {"when = held above 2\ndo = dump now\n", "'dump' takes nothing behind it"},
        {"when = held above 2\ndo = run ls\n", "'ls' is not an absolute path"},
        {"when = held above 2\ndo = run /bin/echo 'a\n", "write the path of a program"},
        {"when = held above 2\ndo = post ftp://x/\n", "is not a URL"},
        {"when = held above 2\ndo = post https:///x\n", "is not a URL"},
        {"when = held above 2\ndo = otlp collector:4318\n", "write 'otlp http://localhost:4318'"},
        {"when = held above 2\ndo = dump; push nowhere\n", "[bad] do: "},
        {"when = held above 2\ndo = dump; push directory:///x --every=1s\n",
         "'--every=1s' is not an option for a rule"},
        {"when = held above 2\ndo = push directory:///x; dump\n", "put 'dump' or 'record 30s' before it"},
        {"when = held above 2\ndo = syslog log\n", "'log' is not the absolute path of a socket"},
        {"when = held above 2\ndo = log\nuser-count = many\n",
         "[bad] user-count: 'many' is not a number from 1 to 1000"},
        {"when = held above 2\ndo = log\ncount = 0\n", "[bad] count: '0' is not a number from 1 to 1000"},
        {"when = held above 2\ndo = log\nwindow = 0s\n", "a window of 0"},
        {"when = held above 2\ndo = log\ncooldown = soon\n", "'soon' is not a time"},
        {"when = held above 2\ndo = log\ntime-limit = 2h\n", "1s to 1h"},
        {"when = held above 2\ndo = log\nagain = 5%\n", "'5%' is not an amount of 'held'"},
        {"when = grows(held, 1h)\ndo = log\nagain = 5\n", "grows() has no amount"},
        {"when = held above 2\ndo = log\ndisk = x\n", "'x' is not a size"},
        {"when = held above 2\ndo = log\nspare = 100%\n", "not a share of the machine's memory"},
        {"when = held above 2\ndo = log\nprocess =\n", "the pattern is empty"},
        {"when = held above 2\ndo = log\nlabel =\n", "no label; write one such as 'pod=7d0c*'"},
        {"when = held above 2\ndo = log\nlabel = pod=a*; web\n", "[bad] label: 'web' is not NAME=PATTERN"},
        {"when = held above 2\ndo = log\nlabel = a-b=1\n", "'a-b=1' is not NAME=PATTERN"},
        {"when = held above 2\ndo = log\nlabel = pod=\n", "'pod=' is not NAME=PATTERN"},
        {"when = held above 2\ndo = log\nlabel = pods=a*\n", "where NAME is user, unit, container or pod"},
        {"when = held above -1\ndo = log\n", "'-1' is out of range; write at least 0"},
        {"when = held above 2 clear -1\ndo = log\n", "'-1' is out of range"},
        {"when = working-set above 150%\ndo = log\n", "'150%' is out of range; write 0% to 100%"},
        {"when = held above 2\ndo = post http://host/ x\n", "'http://host/ x' is not a URL"},
        {"when = held above 2\ndo = decay 999999999999d\n", "is not a time up to 365d"},
        {"when = held above 2\ndo = log\nrun-as =\n", "the name of a user is missing"},
        {"when = held above 2\\q\ndo = log\n", "x.rules:5: [bad] when:"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *text = g_strconcat("[one]\nwhen = held above 1\ndo = log\n[bad]\n", rows[i].lines,
                                            "[two]\nwhen = held above 1\ndo = log\n", NULL);
        g_autoptr(GPtrArray) problems = NULL;
        g_autoptr(GPtrArray) rules = parse(text, &problems);
        g_assert_cmpuint(rules->len, ==, 2);
        g_assert_cmpuint(problems->len, ==, 1);
        if (strstr(problems->pdata[0], rows[i].problem) == NULL)
            g_error("%s: %s", rows[i].lines, (const char *)problems->pdata[0]);
    }
}

static void
test_names(void)
{
    const struct {
        const char *text, *problem;
    } rows[] = {
        {"[a]\nwhen = held above 1\ndo = log\n[a]\nwhen = held above 1\ndo = log\n",
         "x.rules:4: [a]: the name is taken by the rule at x.rules:1"},
        {"[a b]\nwhen = held above 1\ndo = log\n", "a rule's name has"},
        {"[a\nwhen = held above 1\ndo = log\n", "a rule's name has"},
        {"do = log\n[a]\nwhen = held above 1\ndo = log\n", "x.rules:1: 'do' stands before the first rule"},
        {"[a]\nwhen = held above 1\ndo = log\xff\n", "x.rules: not UTF-8 text"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GPtrArray) problems = NULL;
        g_autoptr(GPtrArray) rules = parse(rows[i].text, &problems);
        g_assert_cmpuint(rules->len, <=, 1);
        g_assert_cmpuint(problems->len, ==, 1);
        g_assert_nonnull(strstr(problems->pdata[0], rows[i].problem));
    }
}

static void
test_byte_order_mark(void)
{
    g_autoptr(GPtrArray) problems = NULL;
    g_autoptr(GPtrArray) rules = parse("\xef\xbb\xbf[one]\nwhen = held above 1\ndo = log\n", &problems);
    g_assert_cmpuint(problems->len, ==, 0);
    g_assert_cmpuint(rules->len, ==, 1);
    g_assert_cmpstr(((const Rule *)rules->pdata[0])->name, ==, "one");
}

/* The part before a read error may lack what limits a rule. */
static void
test_read_error(void)
{
    int ends[2];
    gsize length;
    g_assert_no_errno(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends));
    g_assert_cmpint(write(ends[0], "unread", 6), ==, 6);
    g_assert_cmpint(write(ends[1], "[one]\n", 6), ==, 6);
    close(ends[1]);
    g_assert_null(rules_file_read(ends[0], &length));
    g_assert_cmpint(errno, ==, ECONNRESET);
    close(ends[0]);
    g_assert_no_errno(pipe(ends));
    g_assert_cmpint(write(ends[1], "[one]\n", 6), ==, 6);
    close(ends[1]);
    g_autofree char *text = rules_file_read(ends[0], &length);
    g_assert_nonnull(text);
    g_assert_cmpuint(length, ==, 6);
    close(ends[0]);
}

static void
test_defaults(void)
{
    g_autoptr(GPtrArray) problems = NULL;
    g_autoptr(GPtrArray) rules = parse("[a]\r\n\r\nwhen=held above 1\r\ndo=log\r\n", &problems);
    g_assert_cmpuint(problems->len, ==, 0);
    const Rule *rule = rules->pdata[0];
    g_assert_cmpuint(rule->count, ==, 5);
    g_assert_true(isnan(rule->again));
    g_assert_cmpint(rule->for_us, ==, 0);
    const RuleCondition *condition = &g_array_index(rule->conditions, RuleCondition, 0);
    g_assert_cmpfloat(condition->clear, ==, condition->threshold);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/file/whole", test_whole);
    g_test_add_func("/file/filters", test_filters);
    g_test_add_func("/file/labels", test_labels);
    g_test_add_func("/file/text-of-any-bytes", test_text_of_any_bytes);
    g_test_add_func("/file/wrong", test_wrong);
    g_test_add_func("/file/names", test_names);
    g_test_add_func("/file/defaults", test_defaults);
    g_test_add_func("/file/byte-order-mark", test_byte_order_mark);
    g_test_add_func("/file/read-error", test_read_error);
    return g_test_run();
}
