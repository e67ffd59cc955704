/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/object.h"

#include "symbolize/cache.h"
#include "symbolize/dwarf-task.h"
#include "symbolize/patience.h"

#include <string.h>

ObjectWork *
object_work_new(const LocateRequest *request, Names *names)
{
    ObjectWork *work = g_new0(ObjectWork, 1);
    work->request = *request;
    work->names = names;
    work->asked = g_array_new(FALSE, FALSE, sizeof(ObjectAsked));
    return work;
}

void
object_work_free(ObjectWork *work)
{
    g_clear_pointer(&work->dwarf, dwarf_job_free);
    located_clear(&work->located);
    g_array_unref(work->asked);
    g_free(work);
}

void
object_ask(ObjectWork *work, guint32 location, guint64 file_offset)
{
    const ObjectAsked asked = {.address = file_offset, .location = location};
    g_array_append_val(work->asked, asked);
}

static gint
compare_asked(gconstpointer a, gconstpointer b)
{
    const ObjectAsked *x = a;
    const ObjectAsked *y = b;
    return x->address < y->address ? -1 : x->address > y->address;
}

/* An offset outside all segments is in the last page after their end, where there is no function. */
static void
translate_by_file(ObjectWork *work)
{
    for (guint i = 0; i < work->asked->len; i++) {
        ObjectAsked *asked = &g_array_index(work->asked, ObjectAsked, i);
        if (!image_address(work->located.file, asked->address, &asked->address))
            asked->symbol = names_unknown(work->names, work->request.object, asked->address);
    }
}

static gboolean
is_trusted(const ObjectWork *work)
{
    const Image *const images[] = {work->located.file, work->located.debug};
    gboolean trusted = TRUE;
    for (gsize i = 0; i < G_N_ELEMENTS(images); i++)
        trusted = trusted && (images[i] == NULL || image_is_trusted(images[i]));
    return trusted;
}

static gboolean
may_use_cache(const ObjectWork *work)
{
    return !work->request.options->no_cache && is_trusted(work);
}

static void
begin_patience(const ObjectWork *work)
{
    patience_begin(is_trusted(work) ? NULL : work->request.options->files);
}

static void
locate(ObjectWork *work)
{
    locate_object(&work->request, &work->located); /* files of other users that it opens join the patience */
    patience_end();
}

void
object_prepare(ObjectWork *work)
{
    locate(work);
    begin_patience(work);
    if (work->located.file != NULL)
        translate_by_file(work);
    g_array_sort(work->asked, compare_asked);
    work->cached = may_use_cache(work) && cache_read(work);
    Image *const images[] = {work->located.debug, work->located.file};
    for (gsize i = 0; !work->cached && i < G_N_ELEMENTS(images) && work->dwarf == NULL; i++)
        work->dwarf = images[i] != NULL ? dwarf_job_new(work, images[i]) : NULL;
    patience_end();
}

/* The complete table of the file or its debug file; without one the exported names and .gnu_debugdata's local ones. */
static SymbolsSource
read_symbols(const Located *located, SymbolTable *table, Image **embedded)
{
    Image *const images[] = {located->file, located->debug};
    for (gsize i = 0; i < G_N_ELEMENTS(images); i++)
        if (images[i] != NULL && symbol_table_add(table, images[i], SYMBOL_TABLE_ALL))
            return SYMBOLS_SYMTAB;
    SymbolsSource source = SYMBOLS_NONE;
    if (located->file != NULL && symbol_table_add(table, located->file, SYMBOL_TABLE_EXPORTED))
        source = SYMBOLS_DYNSYM;
    *embedded = located->file != NULL ? image_open_embedded(located->file) : NULL;
    if (*embedded != NULL && symbol_table_add(table, *embedded, SYMBOL_TABLE_ALL))
        source = SYMBOLS_SYMTAB;
    return source;
}

/* A name from the symbol table for an address that debug information did not name; with its line if that has one. */
static void
answer_open(ObjectWork *work, const SymbolTable *table, ObjectAsked *asked)
{
    gsize length;
    const char *linkage = symbol_table_find(table, asked->address, &length);
    if (linkage == NULL)
        return;
    Name name = names_function(work->names, linkage, length);
    patience_keep(name_size(&name));
    SymbolFrame *frame = names_frames(work->names, 1);
    *frame = (SymbolFrame){
        .function = name.function,
        .system_name = name.system_name,
        .file = asked->file,
        .line = asked->line,
        .known = TRUE,
    };
    asked->symbol = (Symbol){frame, 1};
}

/* Debug information without linkage names (-gline-tables-only) has "f" where the symbol has "a::f(int)". */
static void
name_last_frame(ObjectWork *work, const SymbolTable *table, ObjectAsked *asked)
{
    gsize length;
    const char *linkage = symbol_table_find_start(table, asked->unnamed_start, &length);
    if (linkage == NULL || linkage[0] != '_')
        return;
    Name name = names_function(work->names, linkage, length);
    patience_keep(name_size(&name));
    SymbolFrame *frame = (SymbolFrame *)(guintptr)&asked->symbol.frames[asked->symbol.n_frames - 1];
    if (name.function != name.system_name || !frame->known) {
        frame->function = name.function;
        frame->system_name = name.system_name;
        frame->known = TRUE;
    }
}

static void
answer_from_table(ObjectWork *work, const SymbolTable *table)
{
    for (guint i = 0; i < work->asked->len; i++) {
        ObjectAsked *asked = &g_array_index(work->asked, ObjectAsked, i);
        if (!patience_spend(64))
            return;
        if (asked->symbol.n_frames == 0)
            answer_open(work, table, asked);
        else if (asked->unnamed_start != 0)
            name_last_frame(work, table, asked);
    }
}

static gboolean
needs_table(const ObjectWork *work)
{
    for (guint i = 0; i < work->asked->len; i++) {
        const ObjectAsked *asked = &g_array_index(work->asked, ObjectAsked, i);
        if (asked->symbol.n_frames == 0 || asked->unnamed_start != 0)
            return TRUE;
    }
    return FALSE;
}

static void
answer_unknown(ObjectWork *work)
{
    for (guint i = 0; i < work->asked->len; i++) {
        ObjectAsked *asked = &g_array_index(work->asked, ObjectAsked, i);
        guint32 n = asked->symbol.n_frames;
        if (n == 0) {
            asked->symbol = names_unknown(work->names, work->request.object, asked->address);
        } else if (asked->symbol.frames[n - 1].function == NULL) {
            const Symbol unknown = names_unknown(work->names, work->request.object, asked->address);
            SymbolFrame *frame = (SymbolFrame *)(guintptr)&asked->symbol.frames[n - 1];
            frame->function = unknown.frames[0].function;
            frame->system_name = unknown.frames[0].system_name;
        }
    }
}

static const char *
keep(ObjectWork *work, const char *text)
{
    return text != NULL ? names_string(work->names, text, strlen(text)) : NULL;
}

/* Why the names are worse than possible, and the remedy. */
static char *
weakness(const char *path, SymbolsSource source)
{
    static const char *const lacks[] = {
        [SYMBOLS_NONE] = "has no symbols",
        [SYMBOLS_DYNSYM] = "has only its exported names",
        [SYMBOLS_SYMTAB] = "has no lines and no inlined functions",
    };
    if (source >= G_N_ELEMENTS(lacks))
        return NULL;
    return g_strdup_printf("%s %s; install its debug symbols or name their directory with --debug-path", path,
                           lacks[source]);
}

static void
describe(ObjectWork *work, SymbolsSource source)
{
    const Located *located = &work->located;
    const Image *used = located->debug != NULL ? located->debug : located->file;
    if (used == NULL) {
        work->result = (SymbolObject){
            .source = located->refused ? SYMBOLS_MISMATCH : SYMBOLS_NONE,
            .note = keep(work, located->note),
            .absent = !located->refused,
        };
        return;
    }
    guint missing = work->dwarf != NULL ? dwarf_job_missing(work->dwarf) : 0;
    g_autofree char *note = missing == 0 ? weakness(image_path(used), source)
                                         : g_strdup_printf("%u files with debug information that %s names were not "
                                                           "found; name their directory with --debug-path",
                                                           missing, image_path(used));
    work->result = (SymbolObject){
        .source = source,
        .debug_path = source != SYMBOLS_NONE ? keep(work, image_path(used)) : NULL,
        .build_id = keep(work, image_build_id(used)),
        .note = keep(work, note),
    };
}

/* Answers without files that are missing now may improve later. */
static gboolean
is_worth_keeping(const ObjectWork *work)
{
    return may_use_cache(work) && !work->cached &&
           (work->dwarf == NULL || (dwarf_job_missing(work->dwarf) == 0 && dwarf_job_is_trusted(work->dwarf)));
}

static SymbolsSource
answer_rest(ObjectWork *work)
{
    g_autoptr(SymbolTable) table = symbol_table_new();
    g_autoptr(Image) embedded = NULL;
    SymbolsSource source = SYMBOLS_DWARF;
    if (work->dwarf == NULL || needs_table(work)) {
        SymbolsSource found = read_symbols(&work->located, table, &embedded);
        source = work->dwarf != NULL ? SYMBOLS_DWARF : found;
        symbol_table_seal(table);
    }
    answer_from_table(work, table);
    answer_unknown(work);
    return source;
}

void
object_finish(ObjectWork *work)
{
    begin_patience(work);
    SymbolsSource source = work->cached ? work->result.source : answer_rest(work);
    patience_end();
    describe(work, source);
    if (is_worth_keeping(work))
        cache_write(work);
}
