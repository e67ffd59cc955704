/* SPDX-License-Identifier: Apache-2.0 */
/* One target: its memory from the process down, a chart, arenas and size classes, decay, advice and events. All of it
 * is drawn on a sheet, of which the screen shows a part. */
#include "tui/amount.h"
#include "tui/draw.h"
#include "tui/explore.h"
#include "tui/ledger-bars.h"
#include "tui/view.h"

#include "routes/unprofiled.h"
#include "stats/advice.h"
#include "text/printable.h"

#include <string.h>

enum {
    SHEET_ROWS = 400,
    ARENAS_SHOWN = 8,
    CLASSES_SHOWN = 12,
    EVENTS_LISTED = 10,
    ADVICE_SHOWN = 6,
    SIZE_COLUMNS = 11,
    CHART_ROWS = 5,
};

/* The cells to draw on, and the next row. */
typedef struct {
    Cells *cells;
    guint row;
} Sheet;

static const StatusFigure charted[] = {STATUS_ALLOCATED, STATUS_RSS,    STATUS_HELD,     STATUS_ACTIVE,
                                       STATUS_RESIDENT,  STATUS_MAPPED, STATUS_RETAINED, STATUS_METADATA};

static CellSpan
span_at(const Sheet *sheet, guint column, guint columns)
{
    return (CellSpan){sheet->row, column, columns};
}

static void
put_line(Sheet *sheet, CellStyle style, const char *text)
{
    cells_put(sheet->cells, span_at(sheet, 0, sheet->cells->columns), style, text);
    sheet->row++;
}

/* Puts TEXT, wrapped to as many rows as needed. */
static void
put_text(Sheet *sheet, CellStyle style, const char *text)
{
    g_autofree char *printable = text_printable(text);
    g_auto(GStrv) lines = text_wrap(printable, sheet->cells->columns);
    for (guint i = 0; lines[i] != NULL; i++)
        put_line(sheet, style, lines[i]);
}

static void
put_heading(Sheet *sheet, const char *text)
{
    sheet->row++;
    put_line(sheet, CELL_STRONG, text);
}

/* ---- what it is ---- */

static void
append_profiling(GString *text, const RouteStatus *status)
{
    const WireHelloReply *hello = &status->hello;
    if (unprofiled_applies(hello)) {
        char why[FAILURE_WHY_MAX];
        unprofiled_describe(hello, why, sizeof(why));
        g_string_append_printf(text, "profiling is not possible: %s", why);
        return;
    }
    g_string_append(text, (hello->flags & WIRE_FLAG_PROF_ACTIVE) != 0 ? "profiling is active" : "profiling is ready");
    if (status->sample_bytes != 0) {
        g_autofree char *period = amount_size(status->sample_bytes);
        g_string_append_printf(text, ", one sample every %s", period);
    }
    if (hello->lease.id != 0)
        g_string_append_printf(text, ", by a lease that ends in %" G_GUINT64_FORMAT " s",
                               (hello->lease.remaining_ms + 999) / 1000);
    if (status->is_recording)
        g_string_append_printf(text, ", recording for %" G_GUINT64_FORMAT " s more",
                               (status->recording.remaining_ms + 999) / 1000);
}

static void
draw_identity(const FeedTarget *target, Sheet *sheet)
{
    const RouteStatus *status = &target->status;
    g_autoptr(GString) text = g_string_new(NULL);
    g_autofree char *command = g_strconcat(status->name, " ", target->arguments, NULL);
    put_text(sheet, target->gone ? CELL_FAINT : CELL_PLAIN, command);
    /* The commit follows the dash. */
    if (status->has_hello)
        g_string_append_printf(text, "jemalloc %.*s, ", (int)strcspn(status->hello.jemalloc_version, "-"),
                               status->hello.jemalloc_version);
    if (status->user[0] != '\0')
        g_string_append_printf(text, "user %s, ", status->user);
    if (status->control_group[0] != '\0')
        g_string_append_printf(text, "%s, ", status->control_group);
    g_string_append_printf(text, strcmp(status->reach, "history") == 0 ? "of a %s file" : "reached by %s",
                           status->reach);
    put_text(sheet, CELL_FAINT, text->str);
    g_string_truncate(text, 0);
    if (status->has_hello)
        append_profiling(text, status);
    if (text->len > 0)
        put_text(sheet, (status->hello.flags & WIRE_FLAG_PROF_ACTIVE) != 0 ? CELL_ACTIVE : CELL_PLAIN, text->str);
    if (target->gone)
        put_text(sheet, CELL_TROUBLE, "This process has ended; its last state is shown.");
    if (status->trouble[0] != '\0')
        put_text(sheet, CELL_TROUBLE, status->trouble);
    if (status->notice[0] != '\0')
        put_text(sheet, CELL_TROUBLE, status->notice);
}

/* ---- memory ---- */

static char *
clock_of(gint64 time_us)
{
    g_autoptr(GDateTime) time = g_date_time_new_from_unix_local(time_us / G_USEC_PER_SEC);
    return time != NULL ? g_date_time_format(time, "%H:%M:%S") : g_strdup("?");
}

/* Draws the parts of RSS: from the ledger, or as far as the statistics know them. */
static void
draw_memory(const Model *model, const FeedTarget *target, const Ledger *ledger, Sheet *sheet)
{
    gboolean taken = ledger == &model->ledger;
    guint64 rss = ledger != NULL ? ledger->rss : target->status.figures[STATUS_RSS];
    g_autofree char *size = amount_size(rss);
    g_autofree char *clock = taken ? clock_of(model->ledger_us) : NULL;
    g_autofree char *text = g_strconcat("Memory: RSS ", size, taken ? " at " : NULL, clock, NULL);
    put_heading(sheet, text);
    if (ledger != NULL)
        sheet->row = ledger_bars_draw(sheet->cells, sheet->row, ledger, LEDGER_LEVEL_RSS,
                                      taken ? LEDGER_BARS_PLAIN : LEDGER_BARS_ESTIMATE);
}

/* Draws the process's memory outside its resident set, and the charge of its control group. */
static void
draw_beside(const Ledger *ledger, Sheet *sheet)
{
    if (ledger_bars_any(ledger, LEDGER_LEVEL_OWN)) {
        put_heading(sheet, "Outside of the resident set");
        sheet->row = ledger_bars_draw(sheet->cells, sheet->row, ledger, LEDGER_LEVEL_OWN, LEDGER_BARS_PLAIN);
    }
    if (ledger->group != G_MAXUINT64) {
        g_autofree char *size = amount_size(ledger->group);
        g_autofree char *text = g_strconcat("Control group: ", size, " charged", NULL);
        put_heading(sheet, text);
        sheet->row = ledger_bars_draw(sheet->cells, sheet->row, ledger, LEDGER_LEVEL_GROUP, LEDGER_BARS_PLAIN);
    }
}

/* Draws the figures, as many per row as fit. */
static void
draw_figures(const FeedTarget *target, Sheet *sheet)
{
    guint column = 0;
    for (guint i = 0; i < G_N_ELEMENTS(charted); i++) {
        g_autofree char *size = amount_size(target->status.figures[charted[i]]);
        g_autofree char *text = g_strconcat(status_figure_name(charted[i]), " ", size, NULL);
        guint needed = (guint)strlen(text);
        if (column > 0 && column + needed > sheet->cells->columns)
            sheet->row++, column = 0;
        cells_put(sheet->cells, span_at(sheet, column, needed), CELL_FAINT, text);
        column += needed + 2;
    }
    sheet->row++;
}

static void
draw_history(const Model *model, const FeedTarget *target, Sheet *sheet)
{
    StatusFigure figure = charted[model->metric % G_N_ELEMENTS(charted)];
    const Track *track = model_track(model, target);
    guint64 scale[2];
    double gain;
    if (track == NULL)
        return;
    g_autofree char *title = NULL;
    if (track_gain(track, figure, &gain)) {
        g_autofree char *change = amount_change(gain);
        title = g_strdup_printf("%s, %s per minute", status_figure_name(figure), change);
    } else {
        title = g_strdup(status_figure_name(figure));
    }
    put_heading(sheet, title);
    guint columns = sheet->cells->columns > SIZE_COLUMNS + 4 ? sheet->cells->columns - SIZE_COLUMNS - 1 : 0;
    const DrawArea area = {sheet->row, SIZE_COLUMNS + 1, CHART_ROWS, columns};
    if (columns == 0 || !draw_chart(sheet->cells, area, track, figure, scale))
        return;
    g_autofree char *low = amount_size(scale[0]);
    g_autofree char *high = amount_size(scale[1]);
    cells_put_right(sheet->cells, (CellSpan){sheet->row, 0, SIZE_COLUMNS}, CELL_FAINT, high);
    cells_put_right(sheet->cells, (CellSpan){sheet->row + CHART_ROWS - 1, 0, SIZE_COLUMNS}, CELL_FAINT, low);
    sheet->row += CHART_ROWS;
}

/* ---- arenas and classes ---- */

static gint
compare_resident(gconstpointer a, gconstpointer b)
{
    const StatsArena *one = *(const StatsArena *const *)a;
    const StatsArena *other = *(const StatsArena *const *)b;
    guint64 sizes[2] = {stats_values_or(one->values, STATS_ARENA_ACTIVE, 0),
                        stats_values_or(other->values, STATS_ARENA_ACTIVE, 0)};
    return (sizes[1] > sizes[0]) - (sizes[1] < sizes[0]);
}

static char *
pages_size(const StatsArena *arena, StatsMetric metric, guint64 page)
{
    guint64 pages = stats_values_or(arena->values, metric, STATUS_UNKNOWN);
    return amount_size(pages == STATUS_UNKNOWN ? pages : pages * page);
}

static void
put_fields(Sheet *sheet, CellStyle style, const char *const *fields, guint count)
{
    for (guint i = 0; i < count; i++)
        cells_put_right(sheet->cells, span_at(sheet, i * SIZE_COLUMNS, SIZE_COLUMNS - 1), style, fields[i]);
    sheet->row++;
}

static void
put_titles(Sheet *sheet, const char *const *titles, guint count)
{
    cells_set_style(sheet->cells, span_at(sheet, 0, sheet->cells->columns), CELL_HEADING);
    put_fields(sheet, CELL_HEADING, titles, count);
}

static void
draw_arena(Sheet *sheet, const StatsArena *arena, guint64 page)
{
    g_autofree char *index = g_strdup_printf("%u", arena->index);
    guint64 threads = stats_values_or(arena->values, STATS_ARENA_THREADS, 0);
    g_autofree char *used = g_strdup_printf("%" G_GUINT64_FORMAT, threads);
    g_autofree char *allocated = amount_size(stats_values_or(arena->values, STATS_ARENA_ALLOCATED, STATUS_UNKNOWN));
    g_autofree char *active = amount_size(stats_values_or(arena->values, STATS_ARENA_ACTIVE, STATUS_UNKNOWN));
    g_autofree char *dirty = pages_size(arena, STATS_ARENA_PDIRTY, page);
    g_autofree char *muzzy = pages_size(arena, STATS_ARENA_PMUZZY, page);
    g_autofree char *resident = amount_size(stats_values_or(arena->values, STATS_ARENA_RESIDENT, STATUS_UNKNOWN));
    const char *const fields[] = {index, used, allocated, active, dirty, muzzy, resident};
    put_fields(sheet, CELL_PLAIN, fields, G_N_ELEMENTS(fields));
}

static void
draw_arenas(const StatsSample *sample, Sheet *sheet)
{
    static const char *const titles[] = {"ARENA", "THREADS", "ALLOCATED", "ACTIVE", "DIRTY", "MUZZY", "RESIDENT"};
    g_autoptr(GPtrArray) arenas = g_ptr_array_new();
    for (guint i = 0; i < stats_sample_arena_count(sample); i++)
        g_ptr_array_add(arenas, sample->arenas->pdata[i]);
    if (arenas->len == 0)
        return;
    g_ptr_array_sort(arenas, compare_resident);
    g_autofree char *title = g_strdup_printf("Arenas: %u", arenas->len);
    put_heading(sheet, title);
    put_titles(sheet, titles, G_N_ELEMENTS(titles));
    for (guint i = 0; i < MIN(arenas->len, ARENAS_SHOWN); i++)
        draw_arena(sheet, arenas->pdata[i], stats_values_or(sample->totals, STATS_PAGE, 4096));
}

/* A size class, small or large. */
typedef struct {
    guint64 size;
    guint64 allocated;
    guint64 objects;
    double used; /* used share of its slabs; negative: unknown */
} SizeClass;

static void
add_classes(GArray *classes, const StatsTable *table)
{
    gboolean small = table != NULL && table->scope == STATS_SCOPE_BIN;
    for (guint i = 0; table != NULL && i < table->count; i++) {
        const StatsValues *row = stats_table_row(table, i);
        SizeClass found = {.size = stats_values_or(row, small ? STATS_BIN_SIZE : STATS_LARGE_SIZE, 0),
                           .allocated = stats_values_or(row, small ? STATS_BIN_ALLOCATED : STATS_LARGE_ALLOCATED, 0),
                           .objects = stats_values_or(row, small ? STATS_BIN_CURREGS : STATS_LARGE_CURLEXTENTS, 0),
                           .used = -1};
        guint64 room =
            small ? stats_values_or(row, STATS_BIN_CURSLABS, 0) * stats_values_or(row, STATS_BIN_NREGS, 0) : 0;
        if (room > 0)
            found.used = (double)found.objects / (double)room;
        if (found.allocated > 0)
            g_array_append_val(classes, found);
    }
}

static gint
compare_classes(gconstpointer a, gconstpointer b)
{
    guint64 one = ((const SizeClass *)a)->allocated;
    guint64 other = ((const SizeClass *)b)->allocated;
    return (other > one) - (other < one);
}

static void
draw_class(Sheet *sheet, const SizeClass *class)
{
    g_autofree char *size = amount_size(class->size);
    g_autofree char *allocated = amount_size(class->allocated);
    g_autofree char *objects = g_strdup_printf("%" G_GUINT64_FORMAT, class->objects);
    g_autofree char *used = class->used < 0 ? g_strdup("-") : g_strdup_printf("%.0f%%", class->used * 100);
    const char *const fields[] = {size, allocated, objects, used};
    put_fields(sheet, CELL_PLAIN, fields, G_N_ELEMENTS(fields));
}

static void
draw_classes(const StatsSample *sample, Sheet *sheet)
{
    static const char *const titles[] = {"SIZE", "ALLOCATED", "OBJECTS", "SLABS FULL"};
    const StatsArena *merged = stats_sample_find(sample, STATS_ARENA_MERGED);
    g_autoptr(GArray) classes = g_array_new(FALSE, FALSE, sizeof(SizeClass));
    if (merged != NULL) {
        add_classes(classes, merged->bins);
        add_classes(classes, merged->large);
    }
    if (classes->len == 0)
        return;
    g_array_sort(classes, compare_classes);
    put_heading(sheet, "Size classes");
    put_titles(sheet, titles, G_N_ELEMENTS(titles));
    for (guint i = 0; i < MIN(classes->len, CLASSES_SHOWN); i++)
        draw_class(sheet, &g_array_index(classes, SizeClass, i));
}

/* ---- decay, advice, events ---- */

static char *
decay_text(guint64 milliseconds)
{
    gint64 ms = (gint64)milliseconds;
    return ms < 0    ? g_strdup("never")
           : ms == 0 ? g_strdup("at once")
                     : g_strdup_printf("after %.1f s", (double)ms / 1000);
}

static void
draw_decay(const StatsSample *sample, Sheet *sheet)
{
    const StatsArena *merged = stats_sample_find(sample, STATS_ARENA_MERGED);
    const StatsArena *arena = sample->arenas->len > 0 ? sample->arenas->pdata[0] : NULL;
    guint64 dirty;
    guint64 muzzy;
    if (arena == NULL || merged == NULL || !stats_values_get(arena->values, STATS_ARENA_DIRTY_DECAY, &dirty) ||
        !stats_values_get(arena->values, STATS_ARENA_MUZZY_DECAY, &muzzy))
        return;
    g_autofree char *dirty_text = decay_text(dirty);
    g_autofree char *muzzy_text = decay_text(muzzy);
    g_autofree char *text =
        g_strdup_printf("Decay: dirty pages %s, muzzy pages %s; %" G_GUINT64_FORMAT " background threads", dirty_text,
                        muzzy_text, stats_values_or(sample->totals, STATS_BACKGROUND_THREADS, 0));
    sheet->row++;
    put_text(sheet, CELL_PLAIN, text);
}

static void
draw_advice(const StatsSample *sample, Sheet *sheet)
{
    g_autoptr(GPtrArray) found = advice_find(sample, NULL);
    if (found->len > 0)
        put_heading(sheet, "Advice");
    for (guint i = 0; i < MIN(found->len, ADVICE_SHOWN); i++) {
        const Advice *advice = found->pdata[i];
        g_autofree char *finding = g_strdup_printf("%s: %s", causes[advice->cause].finding, advice->evidence);
        put_text(sheet, CELL_GROWN, finding);
        put_text(sheet, CELL_PLAIN, advice->change);
    }
}

/* Formats a time, with the date if it differs from the frame's. */
static char *
moment_of(const Model *model, gint64 time_us)
{
    g_autoptr(GDateTime) time = g_date_time_new_from_unix_local(time_us / G_USEC_PER_SEC);
    g_autoptr(GDateTime) now =
        g_date_time_new_from_unix_local((model->frame != NULL ? model->frame->time_us : 0) / G_USEC_PER_SEC);
    gboolean same_day = time != NULL && now != NULL && g_date_time_get_year(time) == g_date_time_get_year(now) &&
                        g_date_time_get_day_of_year(time) == g_date_time_get_day_of_year(now);
    return same_day || time == NULL ? clock_of(time_us) : g_date_time_format(time, "%Y-%m-%d %H:%M:%S");
}

static void
draw_events(const Model *model, const FeedTarget *target, Sheet *sheet)
{
    guint shown = 0;
    for (guint i = model->events->len; i > 0 && shown < EVENTS_LISTED; i--) {
        const ModelEvent *event = model->events->pdata[i - 1];
        if (!model_is_event_of(event, target))
            continue;
        if (shown++ == 0)
            put_heading(sheet, "Events");
        g_autofree char *moment = moment_of(model, event->time_us);
        g_autofree char *text = g_strdup_printf("%s  %s", moment, event->text);
        put_line(sheet, CELL_PLAIN, text);
    }
}

static void
draw_sheet(const Model *model, const FeedTarget *target, Sheet *sheet)
{
    const StatsSample *sample = model->detail != NULL ? model->detail : target->sample;
    Ledger estimate;
    const Ledger *ledger = model->ledger_us != 0 ? &model->ledger : NULL;
    if (ledger == NULL && sample != NULL && ledger_estimate(sample, &estimate))
        ledger = &estimate;
    draw_identity(target, sheet);
    draw_memory(model, target, ledger, sheet);
    draw_history(model, target, sheet);
    draw_figures(target, sheet);
    draw_events(model, target, sheet);
    if (sample != NULL)
        draw_advice(sample, sheet);
    if (ledger != NULL)
        draw_beside(ledger, sheet);
    if (sample != NULL) {
        draw_arenas(sample, sheet);
        draw_classes(sample, sheet);
        draw_decay(sample, sheet);
    }
}

static void
draw(Model *model, Cells *cells, guint first, guint limit)
{
    const FeedTarget *target = model_opened(model);
    g_autoptr(Cells) paper = cells_new(SHEET_ROWS, cells->columns);
    Sheet sheet = {.cells = paper};
    if (target == NULL)
        put_line(&sheet, CELL_FAINT, "no data of this target yet");
    else
        draw_sheet(model, target, &sheet);
    model->page = limit - first;
    model->scroll_max = sheet.row > model->page ? sheet.row - model->page : 0;
    model->scroll = MIN(model->scroll, model->scroll_max);
    cells_copy(cells, paper, (CellRows){model->scroll, first, model->page});
}

static gboolean
key(Model *model, const Key *pressed)
{
    gunichar letter = pressed->code == KEY_IS_LETTER ? pressed->letter : 0;
    if (letter == 'm' || pressed->code == KEY_IS_TAB)
        model->metric = (model->metric + 1) % G_N_ELEMENTS(charted);
    else if (letter == 's' || pressed->code == KEY_IS_ENTER)
        explore_enter(model, VIEW_SITES);
    else if (letter == 'f')
        explore_enter(model, VIEW_FLAME);
    else
        return explore_key(model, pressed) || list_move(&model->scroll, pressed, model->scroll_max + 1, model->page);
    return TRUE;
}

static const ViewKey keys[] = {
    {"s, Enter", "sites: what holds the memory", VIEW_KEY_BRIEF},
    {"f", "flame graph", VIEW_KEY_BRIEF},
    EXPLORE_KEYS,
    {"m, Tab", "chart another figure", VIEW_KEY_HELP},
    {0},
};

const View target_view = {.name = "target", .keys = keys, .draw = draw, .key = key};
