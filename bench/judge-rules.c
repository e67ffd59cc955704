/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluates RULES rules on SERIES series for TICKS samples each: judge-rules RULES SERIES TICKS [crowded]. One rule in
 * four uses a slope; crowded: all series are of one user, for whom every rule would fire but for the limits. */
#include "rules/engine.h"
#include "rules/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double
processor_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static GPtrArray *
make_rules(int count, gboolean crowded)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(GPtrArray) problems = g_ptr_array_new_with_free_func(g_free);
    for (int i = 0; i < count && crowded; i++)
        g_string_append_printf(text, "[r%d]\nwhen = held above 0B\nuser-count = 2\ncooldown = 0s\ndo = log\n", i);
    for (int i = 0; i < count && !crowded; i++)
        g_string_append_printf(
            text, "[r%d]\nprocess = app*\nwhen = %s above %dKiB%s clear 1KiB%s or working-set above 90%%\ndo = log\n",
            i, i % 4 == 0 ? "slope(held, 10m)" : "held", 100 + i, i % 4 == 0 ? "/s" : "", i % 4 == 0 ? "/s" : "");
    GPtrArray *rules = rules_new();
    rules_file_parse("bench", text->str, text->len, rules, problems);
    return rules;
}

static void
add_length(const RuleStanding *standing, gpointer sum)
{
    *(gsize *)sum += strlen(standing->why);
}

int
main(int argc, char **argv)
{
    const gboolean crowded = argc == 5 && strcmp(argv[4], "crowded") == 0;
    if (argc != 4 && !crowded) {
        fprintf(stderr, "usage: judge-rules RULES SERIES TICKS [crowded]\n");
        return 2;
    }
    int n_series = atoi(argv[2]), ticks = atoi(argv[3]);
    g_autoptr(GPtrArray) rules = make_rules(atoi(argv[1]), crowded);
    g_autoptr(Engine) engine = engine_new();
    g_autoptr(GArray) firings = rule_firings_new();
    engine_set_rules(engine, rules);
    guint fired = 0;
    double begin = processor_seconds();
    for (int tick = 1; tick <= ticks; tick++)
        for (int i = 0; i < n_series; i++) {
            g_autofree char *name = g_strdup_printf("app/%d", i);
            const RuleSubject subject = {
                .facts = {[RULE_FILTER_PROCESS] = "app", [RULE_FILTER_USER] = crowded ? "one" : NULL}};
            g_autoptr(StatsSample) sample = stats_sample_new(STATS_SOURCE_LIVE);
            stats_values_set(sample->totals, STATS_HELD, (guint64)(tick * (i + 1)) * 1024);
            const RuleReading reading = {.series = name,
                                         .subject = &subject,
                                         .life = 1,
                                         .now_us = tick * (gint64)10000000,
                                         .gap_us = 25000000,
                                         .sample = sample,
                                         .spare = 1};
            engine_judge(engine, &reading, firings);
            fired += firings->len;
            g_array_set_size(firings, 0);
        }
    double seconds = processor_seconds() - begin;
    printf("%u rules x %d series: %.2f ms of processor per tick, %u fired in %d ticks\n", rules->len, n_series,
           seconds * 1000 / ticks, fired, ticks);
    gsize length = 0;
    begin = processor_seconds();
    engine_each(engine, NULL, add_length, &length);
    printf("listed in %.0f ms, %zu characters of reasons\n", (processor_seconds() - begin) * 1000, length);
    return 0;
}
