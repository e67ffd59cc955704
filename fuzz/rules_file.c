/* SPDX-License-Identifier: Apache-2.0 */
/* Rule files: a rule that was read must be complete, and its own lines must yield the same rule again. */
#include "rules/file.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_rule(const Rule *rule)
{
    g_autoptr(GPtrArray) problems = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GPtrArray) again = rules_new();
    rules_file_parse("again", rule->text, strlen(rule->text), again, problems);
    g_assert_cmpuint(problems->len, ==, 0);
    g_assert_cmpuint(again->len, ==, 1);
    const Rule *other = again->pdata[0];
    g_assert_cmpstr(other->name, ==, rule->name);
    g_assert_cmpuint(other->conditions->len, ==, rule->conditions->len);
    g_assert_cmpuint(other->actions->len, ==, rule->actions->len);
    g_assert_cmpuint(rule->conditions->len, >, 0);
    g_assert_cmpuint(rule->actions->len, >, 0);
    for (guint i = 0; i < rule->conditions->len; i++)
        g_free(rule_describe_condition(&g_array_index(rule->conditions, RuleCondition, i)));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(GPtrArray) problems = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GPtrArray) rules = rules_new();
    rules_file_parse("fuzz", (const char *)data, size, rules, problems);
    for (guint i = 0; i < problems->len; i++)
        g_assert_true(g_str_has_prefix(problems->pdata[i], "fuzz:"));
    for (guint i = 0; i < rules->len; i++)
        check_rule(rules->pdata[i]);
    return 0;
}
