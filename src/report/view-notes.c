/* SPDX-License-Identifier: Apache-2.0 */
#include "report/view-notes.h"

#include "report/coverage.h"
#include "report/units.h"
#include "symbolize/package.h"
#include "text/printable.h"

#include <string.h>

/* Objects or functions named in one note; those below 1 % are not mentioned. */
enum { NAMED = 3 };
#define WORTH_NAMING 0.01

typedef struct {
    guint32 index;
    gdouble amount;
} Share;

typedef struct {
    const View *view;
    ProfileValue value;
    gdouble *folded;   /* per node: its flat value without folding */
    gdouble *nameless; /* per object, and one for code without any: the sum of stacks with an unnamed frame in it */
    guint32 *seen;     /* per object: the last stack it was counted for, plus 1 */
    guint32 *slots;    /* per location: the index of its object in nameless, or PROFILE_NONE if it has a name */
} Survey;

static gboolean
is_system_object(const char *path)
{
    static const char *const names[] = {"libc.so", "libc-", "ld-linux", "libpthread", "[vdso]", "ld-musl"};
    const char *slash = strrchr(path, '/');

    for (guint i = 0; i < G_N_ELEMENTS(names); i++)
        if (g_str_has_prefix(slash ? slash + 1 : path, names[i]))
            return TRUE;
    return FALSE;
}

/* See Survey.slots: each location is in many stacks. */
static guint32 *
nameless_slots(const ReportInput *input)
{
    guint32 n = profile_n_locations(input->profile);
    guint32 *slots = g_new(guint32, (gsize)n + 1);

    for (guint32 i = 0; i < n; i++) {
        const Symbol *symbol = symbols_location(input->symbols, i);
        guint32 object = profile_locations(input->profile)[i].object;
        gboolean known = symbol->frames[symbol->n_frames - 1].known;
        slots[i] = known ? PROFILE_NONE : object == PROFILE_NONE ? profile_n_objects(input->profile) : object;
    }
    return slots;
}

/* The C library's code that starts a thread or main() has no name in most stacks, and needs none. */
static guint32
without_start(const Profile *profile, const ViewPath *path)
{
    guint32 n = path->n_locations;

    while (n > 1) {
        const ProfileLocation *location = &profile_locations(profile)[path->locations[n - 1]];
        if (location->object == PROFILE_NONE || !is_system_object(profile_objects(profile)[location->object].path))
            break;
        n--;
    }
    return n;
}

static void
survey_path(const ViewPath *path, gpointer user)
{
    Survey *survey = user;
    const ReportInput *input = view_input(survey->view, path->side);
    gdouble amount = path->weight->estimate[survey->value];

    if (path->side != VIEW_NOW)
        return;
    if (path->folded != PROFILE_NONE)
        survey->folded[path->folded] += amount;
    for (guint32 i = 0, n = without_start(input->profile, path); i < n; i++) {
        guint32 slot = survey->slots[path->locations[i]];
        if (slot == PROFILE_NONE || survey->seen[slot] == path->stack + 1)
            continue;
        survey->seen[slot] = path->stack + 1;
        survey->nameless[slot] += amount;
    }
}

static gint
compare_shares(gconstpointer a, gconstpointer b)
{
    const Share *left = a;
    const Share *right = b;

    if (left->amount != right->amount)
        return left->amount > right->amount ? -1 : 1;
    return left->index < right->index ? -1 : left->index > right->index;
}

/* The non-empty ones, the largest first. */
static GArray *
rank(const gdouble *amounts, guint32 n, gdouble least)
{
    GArray *shares = g_array_new(FALSE, FALSE, sizeof(Share));

    for (guint32 i = 0; i < n; i++) {
        const Share share = {i, amounts[i]};
        if (amounts[i] > 0 && amounts[i] >= least)
            g_array_append_val(shares, share);
    }
    g_array_sort(shares, compare_shares);
    return shares;
}

static char *
note_folded(const Survey *survey, gdouble total)
{
    g_autoptr(GArray) shares = rank(survey->folded, view_n_nodes(survey->view), 0);
    g_autoptr(GString) note = g_string_new("charged to their callers:");
    char percent[UNITS_BUFFER];

    if (shares->len == 0)
        return NULL;
    for (guint i = 0; i < shares->len && i < NAMED; i++) {
        const Share *share = &g_array_index(shares, Share, i);
        g_string_append_printf(note, "%s %s (%s)", i ? "," : "", view_node(survey->view, share->index)->display,
                               units_percent(percent, share->amount, total));
    }
    if (shares->len > NAMED)
        g_string_append_printf(note, " and %u more", shares->len - NAMED);
    g_string_append(note, "; --wrappers shows them");
    return g_string_free(g_steal_pointer(&note), FALSE);
}

static const char *
debuginfod_hint(const Symbols *symbols)
{
    const char *urls = g_getenv("DEBUGINFOD_URLS");

    if (!urls || !*urls)
        return "set DEBUGINFOD_URLS and use --debuginfod";
    return symbols_asked_debuginfod(symbols) ? "name their directory with --debug-path" : "use --debuginfod";
}

static char *
advise_stripped(const ReportInput *input, guint32 object)
{
    const char *path = profile_objects(input->profile)[object].path;
    g_autofree char *package = package_of_debug_symbols(path);
    const char *reason = symbols_object(input->symbols, object)->source == SYMBOLS_NONE
                             ? "it is stripped"
                             : "it has only its exported names";

    if (package)
        return g_strdup_printf("%s; install %s, or %s", reason, package, debuginfod_hint(input->symbols));
    return g_strdup_printf("%s; install its debug symbols, or %s", reason, debuginfod_hint(input->symbols));
}

static char *
advise_absent(const ReportInput *input)
{
    if (symbols_pid(input->symbols) != 0)
        return g_strdup("the file was deleted; name a directory that has it with --sysroot");
    return g_strdup("the file was not found; use --pid while the process runs (also in a container), --sysroot with "
                    "the directory that holds its files, or record with --symbolize");
}

static char *
advise_generated(const ReportInput *input)
{
    if (symbols_pid(input->symbols) == 0)
        return g_strdup("code generated at run time; use --pid while the process runs and writes a perf map");
    return g_strdup_printf("code generated at run time, and no /tmp/perf-%d.map names it; start node with "
                           "--perf-basic-prof, Java with a perf map agent, Python 3.12 with -X perf",
                           (int)symbols_pid(input->symbols));
}

/* NULL: there is no remedy, as for addresses between the functions of a file with all its symbols. */
static char *
advise(const ReportInput *input, guint32 object)
{
    const ProfileObject *profile_object;
    const SymbolObject *symbols;

    if (object == profile_n_objects(input->profile))
        return advise_generated(input);
    profile_object = &profile_objects(input->profile)[object];
    symbols = symbols_object(input->symbols, object);
    if (profile_object->flags & PROFILE_OBJECT_VDSO)
        return NULL;
    if (profile_object->flags & PROFILE_OBJECT_ANONYMOUS)
        return advise_generated(input);
    if (symbols->source == SYMBOLS_MISMATCH)
        return g_strdup("the file that ran was replaced; name a directory that has the old one with --sysroot, or "
                        "restart the process");
    if (symbols->source != SYMBOLS_NONE && symbols->source != SYMBOLS_DYNSYM)
        return NULL;
    return symbols->absent ? advise_absent(input) : advise_stripped(input, object);
}

static char *
note_nameless(const Survey *survey, const Share *share, gdouble total)
{
    const ReportInput *input = view_input(survey->view, VIEW_NOW);
    gboolean has_object = share->index < profile_n_objects(input->profile);
    const char *path = has_object ? profile_objects(input->profile)[share->index].path : "";
    g_autofree char *advice = advise(input, share->index);
    g_autofree char *clean = text_printable(path);
    char percent[UNITS_BUFFER];

    if (!advice)
        return NULL;
    return g_strdup_printf("no function names in %s (%s of what is shown passes through it): %s",
                           *clean ? clean : "code without a file", units_percent(percent, share->amount, total),
                           advice);
}

static void
add_nameless(GStrvBuilder *notes, const Survey *survey, gdouble total)
{
    const ReportInput *input = view_input(survey->view, VIEW_NOW);
    g_autoptr(GArray) shares = rank(survey->nameless, profile_n_objects(input->profile) + 1, WORTH_NAMING * total);

    for (guint i = 0; i < shares->len && i < NAMED; i++) {
        g_autofree char *note = note_nameless(survey, &g_array_index(shares, Share, i), total);
        if (note)
            g_strv_builder_add(notes, note);
    }
}

GStrv
view_notes(const View *view, const ReportOptions *options)
{
    g_autoptr(GStrvBuilder) notes = g_strv_builder_new();
    const ReportInput *input = view_input(view, VIEW_NOW);
    guint32 n_objects = profile_n_objects(input->profile) + 1;
    gdouble total = view_total(view, VIEW_NOW)->estimate[options->value];
    Survey survey = {.view = view,
                     .value = options->value,
                     .folded = g_new0(gdouble, (gsize)view_n_nodes(view) + 1),
                     .nameless = g_new0(gdouble, n_objects),
                     .seen = g_new0(guint32, n_objects),
                     .slots = nameless_slots(input)};
    g_autofree char *folded = NULL;
    g_autofree char *about = coverage_note_value(view, options);

    for (const char *const *note = options->notes; note && *note; note++)
        g_strv_builder_add(notes, *note);
    if (about)
        g_strv_builder_add(notes, about);
    view_foreach(view, survey_path, &survey);
    folded = note_folded(&survey, total);
    if (folded)
        g_strv_builder_add(notes, folded);
    add_nameless(notes, &survey, total);
    g_free(survey.folded);
    g_free(survey.nameless);
    g_free(survey.seen);
    g_free(survey.slots);
    return g_strv_builder_end(notes);
}
