/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/json-line.h"

#include "routes/json.h"
#include "routes/reply.h"

#include <math.h>
#include <unistd.h>

enum { JSON_LINE_VERSION = 1 };

static void
add_text(Json *json, const char *name, const char *text)
{
    if (text != NULL && text[0] != '\0')
        json_text(json, name, text);
    else
        json_put_null(json, name);
}

static void
add_gain(Json *json, const Model *model, const FeedTarget *target)
{
    static const struct {
        const char *name;
        StatusFigure figure;
    } gains[] = {{"allocated", STATUS_ALLOCATED}, {"resident", STATUS_RESIDENT}, {"rss", STATUS_RSS}};
    const Track *track = model_track(model, target);
    json_begin_object(json, "gain_per_minute");
    for (gsize i = 0; i < G_N_ELEMENTS(gains); i++) {
        double gain;
        if (track != NULL && track_gain(track, gains[i].figure, &gain))
            json_signed(json, gains[i].name, llround(gain));
        else
            json_put_null(json, gains[i].name);
    }
    json_end(json);
}

static void
add_target(Json *json, const Model *model, const FeedTarget *target)
{
    json_begin_object(json, NULL);
    status_add(json, &target->status);
    add_gain(json, model, target);
    json_boolean(json, "late", target->late);
    json_end(json);
}

char *
json_line(const Model *model)
{
    RouteReply reply = {.descriptor = -1};
    Json json;
    gsize length;
    char *text = NULL;
    reply_begin(&reply, 200, REPLY_JSON);
    json_begin(&json, &reply);
    json_begin_object(&json, NULL);
    json_text(&json, "format", "jescope-top");
    json_number(&json, "version", JSON_LINE_VERSION);
    json_seconds(&json, "time", (uint64_t)model->frame->time_us / 1000);
    add_text(&json, "trouble", model->frame->trouble);
    json_begin_array(&json, "targets");
    for (guint i = 0; i < model->frame->targets->len; i++)
        add_target(&json, model, model->frame->targets->pdata[i]);
    json_end(&json);
    json_end(&json);
    reply_print(&reply, "\n");
    int body = reply_take_body(&reply);
    g_autoptr(GIOChannel) channel = body >= 0 ? g_io_channel_unix_new(body) : NULL;
    if (channel == NULL)
        return NULL;
    g_io_channel_set_encoding(channel, NULL, NULL);
    g_io_channel_set_close_on_unref(channel, TRUE);
    g_io_channel_read_to_end(channel, &text, &length, NULL);
    return text;
}
