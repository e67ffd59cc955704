/* SPDX-License-Identifier: Apache-2.0 */
/*
 * speedscope's own JSON (https://www.speedscope.app/file-format-schema.json): one profile per value, since its reader
 * of profile.proto shows one value and loses inlined frames. A difference becomes two profiles per value, before and
 * after.
 */
#include "report/calltree.h"
#include "report/format.h"
#include "report/units.h"

typedef struct {
    const Report *report;
    const CallTree *tree;
    Writer *writer;
    guint n_written;
    guint active; /* the profile a viewer opens first */
} Speedscope;

static void
write_frame(Writer *writer, const ViewNode *node)
{
    writer_text(writer, "{\"name\":");
    writer_json(writer, node->name);
    if (node->file) {
        writer_text(writer, ",\"file\":");
        writer_json(writer, node->file);
    }
    if (node->line)
        writer_format(writer, ",\"line\":%u", node->line);
    writer_text(writer, "}");
}

static void
write_frames(const Speedscope *speedscope)
{
    for (guint32 i = 0; i < view_n_nodes(speedscope->report->view); i++) {
        writer_text(speedscope->writer, i ? ",\n" : "\n");
        write_frame(speedscope->writer, view_node(speedscope->report->view, i));
    }
}

static gint64
self_of(const Speedscope *speedscope, guint32 index, ViewSide side, ProfileValue value)
{
    return units_round(calltree_self(speedscope->tree, index, side)->estimate[value]);
}

/* Outermost frame first. */
static void
write_stack(const Speedscope *speedscope, guint32 index, GArray *scratch)
{
    g_array_set_size(scratch, 0);
    for (; index != 0; index = calltree_node(speedscope->tree, index)->parent)
        g_array_append_val(scratch, calltree_node(speedscope->tree, index)->node);
    writer_text(speedscope->writer, "[");
    for (guint i = scratch->len; i-- > 0;)
        writer_format(speedscope->writer, i ? "%u," : "%u", g_array_index(scratch, guint32, i));
    writer_text(speedscope->writer, "]");
}

static gint64
write_samples(const Speedscope *speedscope, ViewSide side, ProfileValue value)
{
    g_autoptr(GArray) scratch = g_array_new(FALSE, FALSE, sizeof(guint32));
    const char *separator = "\n";
    gint64 total = 0;

    for (guint32 at = 0; at != PROFILE_NONE; at = calltree_next(speedscope->tree, at)) {
        gint64 self = self_of(speedscope, at, side, value);
        if (self <= 0)
            continue;
        writer_text(speedscope->writer, separator);
        write_stack(speedscope, at, scratch);
        separator = ",\n";
        if (__builtin_add_overflow(total, self, &total))
            total = G_MAXINT64;
    }
    return total;
}

static void
write_weights(const Speedscope *speedscope, ViewSide side, ProfileValue value)
{
    const char *separator = "";

    for (guint32 at = 0; at != PROFILE_NONE; at = calltree_next(speedscope->tree, at)) {
        gint64 self = self_of(speedscope, at, side, value);
        if (self <= 0)
            continue;
        writer_format(speedscope->writer, "%s%" G_GINT64_FORMAT, separator, self);
        separator = ",";
    }
}

static void
write_profile(Speedscope *speedscope, ViewSide side, ProfileValue value)
{
    gboolean difference = view_n_sides(speedscope->report->view) == 2;
    Writer *writer = speedscope->writer;
    gint64 total;

    if (value == speedscope->report->options->value && side == VIEW_NOW)
        speedscope->active = speedscope->n_written;
    writer_format(writer, "%s{\"type\":\"sampled\",\"name\":\"%s%s%s\",\"unit\":\"%s\",\"startValue\":0,\"samples\":[",
                  speedscope->n_written++ ? ",\n" : "\n", report_value_name(value),
                  value_is_mean(value) ? " (byte-seconds)" : "",
                  !difference        ? ""
                  : side == VIEW_NOW ? " (after)"
                                     : " (before)",
                  value_is_space(value) ? "bytes" : "none");
    total = write_samples(speedscope, side, value);
    writer_text(writer, "],\"weights\":[");
    write_weights(speedscope, side, value);
    writer_format(writer, "],\"endValue\":%" G_GINT64_FORMAT "}", total);
}

/* The viewer shows the name as the title, the only place for notes. */
static char *
name_with_notes(const Report *report)
{
    GString *name = g_string_new(view_input(report->view, VIEW_NOW)->name);

    for (const char *const *note = report->options->notes; note && *note; note++)
        g_string_append_printf(name, " · %s", *note);
    return g_string_free(name, FALSE);
}

gboolean
speedscope_write(const Report *report, Writer *writer, GError **error)
{
    g_autoptr(CallTree) tree = calltree_new(report->view, CALLTREE_TOP_DOWN, report->options->value);
    Speedscope speedscope = {.report = report, .tree = tree, .writer = writer};
    g_autofree char *name = name_with_notes(report);

    writer_text(writer,
                "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n\"exporter\":\"" REPORT_EXPORTER
                "\",\n\"name\":");
    writer_json(writer, name);
    writer_text(writer, ",\n\"shared\":{\"frames\":[");
    write_frames(&speedscope);
    writer_text(writer, "]},\n\"profiles\":[");
    for (ProfileValue value = 0; value < PROFILE_N_VALUES; value++) {
        if (!view_exports(report->view, value))
            continue;
        for (guint side = 0; side < view_n_sides(report->view); side++)
            write_profile(&speedscope, side, value);
    }
    writer_format(writer, "],\n\"activeProfileIndex\":%u}\n", speedscope.active);
    return TRUE;
}
