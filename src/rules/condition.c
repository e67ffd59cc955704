/* SPDX-License-Identifier: Apache-2.0 */
#include "rules/condition.h"

#include <string.h>

#define FORM "write it as 'held above 2GiB clear 1.8GiB'"

/* The next word of TEXT; blanks inside parentheses belong to it. NULL at the end. To be freed. */
static char *
next_word(const char **text)
{
    const char *at = *text;
    int depth = 0;
    while (g_ascii_isspace(*at))
        at++;
    const char *begin = at;
    for (; *at != '\0' && (depth > 0 || !g_ascii_isspace(*at)); at++)
        depth += *at == '(' ? 1 : *at == ')' ? -1 : 0;
    *text = at;
    return at > begin ? g_strndup(begin, (gsize)(at - begin)) : NULL;
}

/* Skips WORD if it is next. */
static gboolean
take_word(const char **text, const char *word)
{
    const char *at = *text;
    g_autofree char *next = next_word(&at);
    if (g_strcmp0(next, word) != 0)
        return FALSE;
    *text = at;
    return TRUE;
}

/* Whether a quantity cannot have VALUE: below 0 or above 100 %, except for rates. */
static gboolean
is_out_of_range(gdouble value, AmountUnit unit)
{
    return !unit.rate && (value < 0 || (unit.kind == AMOUNT_SHARE && value > 1));
}

static gboolean
take_amount(const char **text, AmountUnit unit, gdouble *value, char **why)
{
    g_autofree char *word = next_word(text);
    if (word != NULL && amount_parse(word, unit, value)) {
        if (is_out_of_range(*value, unit))
            *why = g_strdup_printf("'%s' is out of range; write %s", word,
                                   unit.kind == AMOUNT_SHARE ? "0% to 100%" : "at least 0");
        return *why == NULL;
    }
    *why = word != NULL ? g_strdup_printf("'%s' is not an amount; write one like %s", word, amount_example(unit))
                        : g_strdup_printf("an amount is missing at the end; write one like %s", amount_example(unit));
    return FALSE;
}

static gboolean
take_threshold(const char **text, RuleCondition *condition, char **why)
{
    const AmountUnit unit = condition->quantity.unit;
    condition->side = take_word(text, "below") ? RULE_BELOW : RULE_ABOVE;
    if (condition->side == RULE_ABOVE && !take_word(text, "above")) {
        g_autofree char *word = next_word(text);
        *why =
            g_strdup_printf("expected 'above' or 'below' after '%s' instead of %s%s%s; " FORM, condition->quantity.text,
                            word != NULL ? "'" : "", word != NULL ? word : "the end", word != NULL ? "'" : "");
        return FALSE;
    }
    if (!take_amount(text, unit, &condition->threshold, why))
        return FALSE;
    condition->clear = condition->threshold;
    if (take_word(text, "clear") && !take_amount(text, unit, &condition->clear, why))
        return FALSE;
    gboolean sound = condition->side == RULE_ABOVE ? condition->clear <= condition->threshold
                                                   : condition->clear >= condition->threshold;
    if (!sound)
        *why = g_strdup_printf("'clear' of '%s' is on the wrong side of its threshold; it must be %s",
                               condition->quantity.text, condition->side == RULE_ABOVE ? "lower" : "higher");
    return sound;
}

static gboolean
take_condition(const char **text, RuleCondition *condition, char **why)
{
    g_autofree char *word = next_word(text);
    if (word == NULL) {
        *why = g_strdup("a condition is missing at the end; " FORM);
        return FALSE;
    }
    if (!quantity_parse(word, &condition->quantity, why))
        return FALSE;
    if (condition->quantity.form == QUANTITY_GROWS) {
        condition->side = RULE_IS;
        condition->threshold = condition->clear = 1;
        return TRUE;
    }
    if (take_threshold(text, condition, why))
        return TRUE;
    quantity_clear(&condition->quantity);
    return FALSE;
}

gboolean
condition_parse(const char *text, GArray *conditions, char **why)
{
    guint alternative = 0;
    for (;;) {
        RuleCondition condition = {.alternative = alternative};
        if (!take_condition(&text, &condition, why))
            return FALSE;
        g_array_append_val(conditions, condition);
        if (take_word(&text, "or")) {
            alternative++;
        } else if (!take_word(&text, "and")) {
            g_autofree char *rest = next_word(&text);
            if (rest == NULL)
                return TRUE;
            *why = g_strdup_printf("expected 'and' or 'or' instead of '%s'", rest);
            return FALSE;
        }
        if (conditions->len == CONDITIONS_MAX) {
            *why = g_strdup_printf("more than %d conditions; write another rule", CONDITIONS_MAX);
            return FALSE;
        }
    }
}
