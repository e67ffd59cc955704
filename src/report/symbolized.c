/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jeprof's raw form: a table of names followed by the dump, so that jeprof, or jescope on another machine, can read it
 * without the program's files. The dump is copied unchanged. Other profiles (several files or dumps, filters, one
 * thread) are written as estimates instead, in the one-line form of gperftools, whose counts readers do not scale.
 */
#include "confine/keyed-hash.h"
#include "profile/source.h"
#include "report/format.h"
#include "report/names.h"
#include "report/units.h"
#include "text/printable.h"

#include <string.h>

typedef struct {
    const Report *report;
    const Profile *profile;
    const Symbols *symbols;
    Writer *writer;
    gboolean numbered; /* locations of several runs share addresses: their numbers are used instead */
} Symbolized;

enum { FIRST_NUMBER = 0x1000 };

static gboolean
addresses_repeat(const Profile *profile)
{
    g_autoptr(GHashTable) seen = g_hash_table_new_full(keyed_hash_int64, g_int64_equal, g_free, NULL);

    for (guint32 i = 0; i < profile_n_locations(profile); i++) {
        guint64 address = profile_locations(profile)[i].address;
        if (!g_hash_table_add(seen, g_memdup2(&address, sizeof(address))))
            return TRUE;
    }
    return FALSE;
}

static guint64
address_of(const Symbolized *symbolized, guint32 location)
{
    return symbolized->numbered ? FIRST_NUMBER + (guint64)location * 2
                                : profile_locations(symbolized->profile)[location].address;
}

/* "--" separates the names of one address, and is also an operator. */
static void
write_name(Writer *writer, const char *function)
{
    g_autofree char *clean = text_printable(function);
    g_auto(GStrv) parts = g_strsplit(clean, "--", -1);
    g_autofree char *safe = g_strjoinv("- -", parts);

    writer_text(writer, safe);
}

/* Readers of this form remove the allocator's frames by name only, but its library often has no names: such frames get
 * the name of an allocator's entry point. */
static gboolean
is_nameless_allocator(const Symbolized *symbolized, guint32 location)
{
    guint32 object = profile_locations(symbolized->profile)[location].object;

    return object != PROFILE_NONE && name_is_allocator_object(profile_objects(symbolized->profile)[object].path);
}

/* The function first, then inlined ones, innermost last. */
static void
write_frames(const Symbolized *symbolized, guint32 location)
{
    const Symbol *symbol = symbols_location(symbolized->symbols, location);

    for (guint32 i = symbol->n_frames; i-- > 0;) {
        write_name(symbolized->writer, symbol->frames[i].function);
        writer_text(symbolized->writer, i ? "--" : "");
    }
}

static gboolean
has_places(const Symbol *symbol)
{
    for (guint32 i = 0; i < symbol->n_frames; i++)
        if (symbol->frames[i].file)
            return TRUE;
    return FALSE;
}

/* "@ FILE:LINE:START" of each frame, in the order of the names that follow; other readers skip the line. */
static void
write_places(const Symbolized *symbolized, const Symbol *symbol)
{
    for (guint32 i = symbol->n_frames; i-- > 0;) {
        const SymbolFrame *frame = &symbol->frames[i];
        g_autofree char *file = frame->file ? text_printable(frame->file) : NULL;
        writer_text(symbolized->writer, i + 1 == symbol->n_frames ? "@ " : "\t");
        if (file)
            writer_format(symbolized->writer, "%s:%u:%u", file, frame->line, frame->start_line);
    }
    writer_text(symbolized->writer, "\n");
}

static void
write_symbol(const Symbolized *symbolized, guint32 location)
{
    const Symbol *symbol = symbols_location(symbolized->symbols, location);
    gboolean known = symbol->frames[symbol->n_frames - 1].known;

    if (!known && !is_nameless_allocator(symbolized, location))
        return;
    if (known && has_places(symbol))
        write_places(symbolized, symbol);
    writer_format(symbolized->writer, "0x%016" G_GINT64_MODIFIER "x ", address_of(symbolized, location));
    if (known)
        write_frames(symbolized, location);
    else
        writer_text(symbolized->writer, "malloc");
    writer_text(symbolized->writer, "\n");
}

/* jeprof shows this as the program's name. */
static const char *
program_path(const Profile *profile)
{
    for (guint32 i = 0; i < profile_n_mappings(profile); i++) {
        guint32 object = profile_mappings(profile)[i].object;
        if (object != PROFILE_NONE && profile_objects(profile)[object].path[0] == '/' &&
            !strstr(profile_objects(profile)[object].path, ".so"))
            return profile_objects(profile)[object].path;
    }
    return NULL;
}

static void
write_symbols(const Symbolized *symbolized)
{
    const char *program = program_path(symbolized->profile);

    writer_text(symbolized->writer, "--- symbol\n");
    if (program) {
        g_autofree char *clean = text_printable(program);
        writer_format(symbolized->writer, "binary=%s\n", clean);
    }
    for (guint32 i = 0; i < profile_n_locations(symbolized->profile); i++)
        write_symbol(symbolized, i);
    writer_text(symbolized->writer, "---\n--- heap\n");
}

/* The start of the dump in a run of lines: after the "--- heap" line of a file that was already symbolized. NULL: not
 * in this run. */
static const char *
behind_symbols(const char *start, const char *limit)
{
    while (start < limit) {
        const char *end = memchr(start, '\n', (gsize)(limit - start));
        const char *next = end ? end + 1 : limit;
        if ((gsize)(limit - start) >= strlen("--- heap") && memcmp(start, "--- heap", strlen("--- heap")) == 0)
            return next;
        start = next;
    }
    return NULL;
}

static gboolean
copy_dump(const Symbolized *symbolized, GBytes *text, GError **error)
{
    const char *name = view_input(symbolized->report->view, VIEW_NOW)->name;
    g_autoptr(ByteSource) source = byte_source_new_bytes(text, name);
    gboolean first = TRUE, skipping = FALSE;
    TextRun run;

    for (;;) {
        const char *start;
        if (!byte_source_next(source, &run, error))
            return FALSE;
        if (run.start == run.limit)
            return TRUE;
        if (first)
            skipping = (gsize)(run.limit - run.start) >= 4 && memcmp(run.start, "--- ", 4) == 0;
        first = FALSE;
        start = skipping ? behind_symbols(run.start, run.limit) : run.start;
        if (!start)
            continue;
        skipping = FALSE;
        writer_data(symbolized->writer, start, (gsize)(run.limit - start));
    }
}

static void
write_path(const ViewPath *path, gpointer user)
{
    const Symbolized *symbolized = user;
    const gdouble *estimate = path->weight->estimate;

    writer_format(symbolized->writer,
                  "%" G_GINT64_FORMAT ": %" G_GINT64_FORMAT " [%" G_GINT64_FORMAT ": %" G_GINT64_FORMAT "] @",
                  units_round(estimate[PROFILE_INUSE_OBJECTS]), units_round(estimate[PROFILE_INUSE_SPACE]),
                  units_round(estimate[PROFILE_ALLOC_OBJECTS]), units_round(estimate[PROFILE_ALLOC_SPACE]));
    /* Readers subtract one from every address but the first. */
    for (guint32 i = 0; i < path->n_locations; i++)
        writer_format(symbolized->writer, " 0x%016" G_GINT64_MODIFIER "x",
                      address_of(symbolized, path->locations[i]) + (i > 0));
    writer_text(symbolized->writer, "\n");
}

static void
write_estimates(Symbolized *symbolized)
{
    const gdouble *estimate = view_total(symbolized->report->view, VIEW_NOW)->estimate;

    writer_format(symbolized->writer,
                  "heap profile: %" G_GINT64_FORMAT ": %" G_GINT64_FORMAT " [%" G_GINT64_FORMAT ": %" G_GINT64_FORMAT
                  "] @ heapprofile\n",
                  units_round(estimate[PROFILE_INUSE_OBJECTS]), units_round(estimate[PROFILE_INUSE_SPACE]),
                  units_round(estimate[PROFILE_ALLOC_OBJECTS]), units_round(estimate[PROFILE_ALLOC_SPACE]));
    view_foreach(symbolized->report->view, write_path, symbolized);
    writer_text(symbolized->writer, "\nMAPPED_LIBRARIES:\n");
}

static gboolean
has_filters(const ReportOptions *options)
{
    return options->focus || options->ignore || options->retain || options->exclude || options->show_from ||
           options->thread;
}

gboolean
symbolized_write(const Report *report, Writer *writer, GError **error)
{
    const ReportInput *input = view_input(report->view, VIEW_NOW);
    gboolean copies = input->text && !has_filters(report->options) && !profile_is_joined(input->profile);
    Symbolized symbolized = {.report = report, .profile = input->profile, .symbols = input->symbols, .writer = writer};

    symbolized.numbered = !copies && addresses_repeat(input->profile);
    write_symbols(&symbolized);
    if (copies)
        return copy_dump(&symbolized, input->text, error);
    write_estimates(&symbolized);
    return TRUE;
}
