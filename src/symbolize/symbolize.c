/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/symbolize.h"

#include "symbolize/cache.h"
#include "symbolize/debuginfod.h"
#include "symbolize/dwarf-task.h"
#include "symbolize/names.h"
#include "symbolize/object.h"
#include "symbolize/perf-map.h"

#include <string.h>
#include <unistd.h>

struct Symbols {
    Names *names;
    Symbol *locations;
    SymbolObject *objects;
    pid_t pid;
    gboolean asked_debuginfod;
};

const Symbol *
symbols_location(const Symbols *symbols, guint32 location)
{
    return &symbols->locations[location];
}

const SymbolObject *
symbols_object(const Symbols *symbols, guint32 object)
{
    return &symbols->objects[object];
}

pid_t
symbols_pid(const Symbols *symbols)
{
    return symbols->pid;
}

gboolean
symbols_asked_debuginfod(const Symbols *symbols)
{
    return symbols->asked_debuginfod;
}

void
symbols_free(Symbols *symbols)
{
    if (symbols == NULL)
        return;
    names_free(symbols->names);
    g_free(symbols->locations);
    g_free(symbols->objects);
    g_free(symbols);
}

/* One call of symbolize(). */
typedef struct {
    const Profile *profile;
    SymbolizeOptions options;
    Symbols *symbols;
    GPtrArray *work;     /* ObjectWork or NULL, one per object */
    GPtrArray *mappings; /* GPtrArray of const ProfileMapping, one per object */
    PerfMap *perf_map;   /* of the live process, or NULL */
    gboolean asked_perf_map;
    guint64 page;
} Session;

/*
 * The page size of the machine that ran the target: the largest power of two that all its mappings are aligned to,
 * between the smallest and the largest page of Linux' architectures.
 */
static guint64
page_size(const Profile *profile)
{
    const ProfileMapping *mappings = profile_mappings(profile);
    guint64 bits = 65536;
    for (guint32 i = 0; i < profile_n_mappings(profile); i++)
        bits |= mappings[i].start | mappings[i].limit | mappings[i].file_offset;
    return MAX(bits & -bits, 4096);
}

static void
unref_array(gpointer array)
{
    g_ptr_array_unref(array);
}

static GPtrArray *
mappings_by_object(const Profile *profile)
{
    const ProfileMapping *mappings = profile_mappings(profile);
    guint32 n_objects = profile_n_objects(profile);
    GPtrArray *lists = g_ptr_array_new_with_free_func(unref_array);
    for (guint32 i = 0; i < n_objects; i++)
        g_ptr_array_add(lists, g_ptr_array_new());
    for (guint32 i = 0; i < profile_n_mappings(profile); i++)
        if (mappings[i].object < n_objects)
            g_ptr_array_add(lists->pdata[mappings[i].object], (gpointer)(guintptr)&mappings[i]);
    return lists;
}

static ObjectWork *
work_for(Session *session, guint32 object)
{
    if (session->work->pdata[object] == NULL) {
        GPtrArray *mappings = session->mappings->pdata[object];
        const LocateRequest request = {
            .object = &profile_objects(session->profile)[object],
            .mappings = (const ProfileMapping *const *)mappings->pdata,
            .n_mappings = mappings->len,
            .page = session->page,
            .options = &session->options,
        };
        session->work->pdata[object] = object_work_new(&request, session->symbols->names);
    }
    return session->work->pdata[object];
}

/* "FILE:LINE:START"; anything else leaves the frame without a place. */
static void
embedded_place(Names *names, const char *text, SymbolFrame *frame)
{
    const char *start = strrchr(text, ':');
    const char *line = start != NULL ? g_strrstr_len(text, start - text, ":") : NULL;
    if (line == NULL || line == text)
        return;
    frame->file = names_string(names, text, (gsize)(line - text));
    frame->line = (guint32)MIN(g_ascii_strtoull(line + 1, NULL, 10), G_MAXUINT32);
    frame->start_line = (guint32)MIN(g_ascii_strtoull(start + 1, NULL, 10), G_MAXUINT32);
}

/* "--" separates names, so an operator of that name was written with a blank. */
static Name
embedded_name(Names *names, const char *part)
{
    g_auto(GStrv) pieces = g_strsplit(part, "operator- -", -1);
    g_autofree char *whole = g_strjoinv("operator--", pieces);
    return names_function(names, whole, strlen(whole));
}

/* Names in the dump: the outermost function first, then inlined ones (jeprof's --raw). */
static Symbol
embedded_symbol(Names *names, const char *text)
{
    g_auto(GStrv) fields = g_strsplit(text, "\t", -1);
    g_auto(GStrv) parts = g_strsplit(fields[0] != NULL ? fields[0] : "", "--", -1);
    guint32 n = MAX(g_strv_length(parts), 1);
    guint32 n_places = fields[0] != NULL ? g_strv_length(fields) - 1 : 0;
    SymbolFrame *frames = names_frames(names, n);
    for (guint32 i = 0; i < n; i++) {
        guint32 part = n - 1 - i;
        Name name = embedded_name(names, parts[0] != NULL ? parts[part] : "");
        frames[i] = (SymbolFrame){.function = name.function, .system_name = name.system_name, .known = TRUE};
        if (part < n_places)
            embedded_place(names, fields[part + 1], &frames[i]);
    }
    return (Symbol){frames, n};
}

/* SYMBOL, or its outermost function alone. */
static Symbol
expanded(const Session *session, Symbol symbol)
{
    return session->options.no_inlines ? (Symbol){symbol.frames + (symbol.n_frames - 1), 1} : symbol;
}

/* Code without a file: generated at run time, and named only if its compiler writes a map. */
static Symbol
generated_symbol(Session *session, guint64 address)
{
    const SymbolizeOptions *options = &session->options;
    Names *names = session->symbols->names;
    if (!session->asked_perf_map && options->pid > 0)
        session->perf_map = perf_map_open(options->files, options->pid);
    session->asked_perf_map = TRUE;
    const char *name = session->perf_map != NULL ? perf_map_find(session->perf_map, address) : NULL;
    if (name == NULL)
        return names_unknown(names, NULL, address);
    SymbolFrame *frame = names_frames(names, 1);
    frame->function = names_string(names, name, strlen(name));
    frame->system_name = frame->function;
    frame->known = TRUE;
    return (Symbol){frame, 1};
}

static void
ask(Session *session, guint32 index)
{
    const ProfileLocation *location = &profile_locations(session->profile)[index];
    Symbols *symbols = session->symbols;
    const char *embedded = profile_embedded_symbol(session->profile, index);
    if (embedded != NULL) {
        symbols->locations[index] = expanded(session, embedded_symbol(symbols->names, embedded));
        if (location->object != PROFILE_NONE)
            symbols->objects[location->object].source = SYMBOLS_EMBEDDED;
    } else if (location->object == PROFILE_NONE || location->mapping == PROFILE_NONE ||
               (profile_objects(session->profile)[location->object].flags & PROFILE_OBJECT_ANONYMOUS) != 0) {
        symbols->locations[index] = generated_symbol(session, location->address);
    } else {
        object_ask(work_for(session, location->object), index, location->file_offset);
    }
}

static void
prepare(gpointer work, gpointer unused)
{
    object_prepare(work);
}

static void
finish(gpointer work, gpointer unused)
{
    object_finish(work);
}

static void
run_task(gpointer task, gpointer unused)
{
    dwarf_task_run(task);
}

/* Items that are distributed among the calling thread and its helpers. */
typedef struct {
    const GPtrArray *items;
    GFunc step;
    gint next, done;                          /* atomic */
    void (*advance)(guint done, guint whole); /* or NULL */
} Share;

static gpointer
take_items(gpointer data)
{
    Share *share = data;
    for (guint i; (i = (guint)g_atomic_int_add(&share->next, 1)) < share->items->len;) {
        share->step(share->items->pdata[i], NULL);
        guint done = (guint)g_atomic_int_add(&share->done, 1) + 1;
        if (share->advance != NULL)
            share->advance(done, share->items->len);
    }
    return NULL;
}

/* Runs step for every item on as many threads as processors, and reports progress; one at a time if threads cannot be
 * created. */
static void
for_each(const GPtrArray *items, GFunc step, void (*advance)(guint, guint))
{
    Share share = {.items = items, .step = step, .advance = advance};
    g_autoptr(GPtrArray) helpers = g_ptr_array_new();
    guint n = MIN(g_get_num_processors(), items->len);
    GThread *helper = NULL;
    while (helpers->len + 1 < n && (helper = g_thread_try_new("symbolize", take_items, &share, NULL)) != NULL)
        g_ptr_array_add(helpers, helper);
    take_items(&share);
    for (guint i = 0; i < helpers->len; i++)
        g_thread_join(helpers->pdata[i]);
}

/* Objects first, then the tasks of all of them together, so that one large object does not leave processors idle. */
static void
answer(const Session *session)
{
    g_autoptr(GPtrArray) objects = g_ptr_array_new();
    g_autoptr(GPtrArray) tasks = g_ptr_array_new();
    for (guint i = 0; i < session->work->len; i++)
        if (session->work->pdata[i] != NULL)
            g_ptr_array_add(objects, session->work->pdata[i]);
    for_each(objects, prepare, session->options.advance);
    for (guint i = 0; i < objects->len; i++) {
        const ObjectWork *work = objects->pdata[i];
        if (work->dwarf != NULL)
            g_ptr_array_extend(tasks, (GPtrArray *)(guintptr)dwarf_job_tasks(work->dwarf), NULL, NULL);
    }
    for_each(tasks, run_task, NULL);
    for_each(objects, finish, NULL);
}

static void
collect(Session *session)
{
    for (guint object = 0; object < session->work->len; object++) {
        ObjectWork *work = session->work->pdata[object];
        if (work == NULL)
            continue;
        for (guint i = 0; i < work->asked->len; i++) {
            const ObjectAsked *asked = &g_array_index(work->asked, ObjectAsked, i);
            Symbol *symbol = &session->symbols->locations[asked->location];
            *symbol = expanded(session, asked->symbol);
        }
        session->symbols->objects[object] = work->result;
    }
}

static void
free_work(gpointer work)
{
    if (work != NULL)
        object_work_free(work);
}

TargetFiles *
symbolize_files(const SymbolizeOptions *options)
{
    g_autoptr(GPtrArray) directories = g_ptr_array_new_with_free_func(g_free);
    const char *binaries = g_getenv("PPROF_BINARY_PATH");
    g_auto(GStrv) list = g_strsplit(binaries != NULL ? binaries : "", ":", -1);
    for (guint i = 0; options->debug_paths != NULL && options->debug_paths[i] != NULL; i++)
        g_ptr_array_add(directories, g_strdup(options->debug_paths[i]));
    for (guint i = 0; list[i] != NULL; i++)
        if (list[i][0] != '\0')
            g_ptr_array_add(directories, g_strdup(list[i]));
    if (options->sysroot != NULL)
        g_ptr_array_add(directories, g_strdup(options->sysroot));
    g_ptr_array_add(directories, NULL);
    const char *urls = g_getenv("DEBUGINFOD_URLS");
    if (!options->no_files && (options->debuginfod || (urls != NULL && urls[0] != '\0')))
        debuginfod_allow();
    if (!options->no_files && !options->no_cache)
        cache_allow();
    const TargetFilesOptions files = {
        .pid = options->pid,
        .directories = (const char *const *)directories->pdata,
        .owner = options->owner,
        .author = options->author,
        .closed = options->no_files,
        .public_only = options->public_files,
    };
    return target_files_new(&files);
}

Symbols *
symbolize(const Profile *profile, const SymbolizeOptions *options, GError **error)
{
    g_autoptr(Symbols) symbols = g_new0(Symbols, 1);
    symbols->names = names_new();
    symbols->locations = g_new0(Symbol, profile_n_locations(profile));
    symbols->objects = g_new0(SymbolObject, profile_n_objects(profile));
    g_autoptr(GPtrArray) work = g_ptr_array_new_with_free_func(free_work);
    g_ptr_array_set_size(work, (gint)profile_n_objects(profile));
    g_autoptr(GPtrArray) mappings = mappings_by_object(profile);
    SymbolizeOptions settled = options != NULL ? *options : (SymbolizeOptions){.owner = geteuid()};
    g_autoptr(TargetFiles) files = settled.files != NULL ? target_files_ref(settled.files) : symbolize_files(&settled);
    settled.files = files;
    Session session = {
        .profile = profile,
        .options = settled,
        .symbols = symbols,
        .work = work,
        .mappings = mappings,
        .page = page_size(profile),
    };
    symbols->pid = session.options.pid;
    symbols->asked_debuginfod = session.options.debuginfod;
    for (guint32 i = 0; i < profile_n_locations(profile); i++)
        ask(&session, i);
    g_clear_pointer(&session.perf_map, perf_map_free);
    answer(&session);
    collect(&session);
    return g_steal_pointer(&symbols);
}
