/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/replay-key.h"

/* Parses "90s", "10m", "2h" or "1d" to seconds; a plain number is minutes. 0 if invalid. */
static gint64
seconds_of(const char *text)
{
    static const struct {
        char letter;
        gint64 seconds;
    } units[] = {{'\0', 60}, {'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
    enum { NUMBER_MAX = 100000 };
    char *end;
    guint64 number = g_ascii_strtoull(text, &end, 10);
    for (gsize i = 0; g_ascii_isdigit(*text) && number <= NUMBER_MAX && i < G_N_ELEMENTS(units); i++)
        if (*end == units[i].letter && (*end == '\0' || end[1] == '\0'))
            return (gint64)number * units[i].seconds;
    return 0;
}

static void
say_end(Model *model, gint64 direction)
{
    model_show_message(model, direction > 0 ? "this is the last sample" : "this is the first sample");
}

static void
jump(Model *model, const char *text, gint64 direction)
{
    gint64 seconds = seconds_of(text);
    if (seconds == 0)
        model_show_message(model, "'%s' is not a time: 90s, 10m, 2h or 1d", text);
    else if (!model->feed->ops->jump(model->feed, direction * seconds))
        say_end(model, direction);
}

static void
jump_on(Model *model, const char *text)
{
    jump(model, text, 1);
}

static void
jump_back(Model *model, const char *text)
{
    jump(model, text, -1);
}

gboolean
replay_key(Model *model, const Key *key)
{
    if (model->feed == NULL || !model->feed->ops->replays || key->code != KEY_IS_LETTER)
        return FALSE;
    gint64 moments = key->letter == 't' ? 1 : key->letter == 'T' ? -1 : 0;
    if (key->letter == 'j')
        model_type(model, "jump on by", "10m", jump_on);
    else if (key->letter == 'J')
        model_type(model, "jump back by", "10m", jump_back);
    else if (moments != 0 && !model->feed->ops->step(model->feed, moments))
        say_end(model, moments);
    return moments != 0 || key->letter == 'j' || key->letter == 'J';
}
