/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/symbolize.h"

#include "symbolize/dwarf-task.h"
#include "symbolize/names.h"
#include "symbolize/object.h"

#include <string.h>

struct Symbols {
    Names *names;
    Symbol *locations;
    SymbolObject *objects;
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

void
symbols_free(Symbols *symbols)
{
    if (symbols == NULL) {
        return;
    }
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
    for (guint32 i = 0; i < profile_n_mappings(profile); i++) {
        bits |= mappings[i].start | mappings[i].limit | mappings[i].file_offset;
    }
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
    for (guint32 i = 0; i < n_objects; i++) {
        g_ptr_array_add(lists, g_ptr_array_new());
    }
    for (guint32 i = 0; i < profile_n_mappings(profile); i++) {
        if (mappings[i].object < n_objects) {
            g_ptr_array_add(lists->pdata[mappings[i].object], (gpointer)(guintptr)&mappings[i]);
        }
    }
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
            .page = page_size(session->profile),
            .options = &session->options,
        };
        session->work->pdata[object] = object_work_new(&request, session->symbols->names);
    }
    return session->work->pdata[object];
}

/* Names that came with the dump: the outermost function first, inlined ones behind it (jeprof's --raw). */
static Symbol
embedded_symbol(Names *names, const char *text)
{
    g_auto(GStrv) parts = g_strsplit(text, "--", -1);
    guint32 n = MAX(g_strv_length(parts), 1);
    SymbolFrame *frames = names_frames(names, n);
    for (guint32 i = 0; i < n; i++) {
        const char *part = parts[0] != NULL ? parts[n - 1 - i] : "";
        Name name = names_function(names, part, strlen(part));
        frames[i] = (SymbolFrame){.function = name.function, .system_name = name.system_name, .known = TRUE};
    }
    return (Symbol){frames, n};
}

static void
ask(Session *session, guint32 index)
{
    const ProfileLocation *location = &profile_locations(session->profile)[index];
    Symbols *symbols = session->symbols;
    const char *embedded = profile_embedded_symbol(session->profile, index);
    if (embedded != NULL) {
        symbols->locations[index] = embedded_symbol(symbols->names, embedded);
        if (location->object != PROFILE_NONE) {
            symbols->objects[location->object].source = SYMBOLS_EMBEDDED;
        }
    } else if (location->object == PROFILE_NONE || location->mapping == PROFILE_NONE ||
               (profile_objects(session->profile)[location->object].flags & PROFILE_OBJECT_ANONYMOUS) != 0) {
        symbols->locations[index] = object_unknown(symbols->names, NULL, location->address);
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

/* Runs step for every item, as many at a time as there are processors. */
static gboolean
for_each(const GPtrArray *items, GFunc step, GError **error)
{
    GThreadPool *pool = g_thread_pool_new(step, NULL, (gint)g_get_num_processors(), FALSE, error);
    if (pool == NULL) {
        return FALSE;
    }
    for (guint i = 0; i < items->len; i++) {
        g_thread_pool_push(pool, items->pdata[i], NULL);
    }
    g_thread_pool_free(pool, FALSE, TRUE);
    return TRUE;
}

/* Objects first, then the tasks of all of them together, so that one large object does not leave processors idle. */
static gboolean
answer(const Session *session, GError **error)
{
    g_autoptr(GPtrArray) objects = g_ptr_array_new();
    g_autoptr(GPtrArray) tasks = g_ptr_array_new();
    for (guint i = 0; i < session->work->len; i++) {
        if (session->work->pdata[i] != NULL) {
            g_ptr_array_add(objects, session->work->pdata[i]);
        }
    }
    if (!for_each(objects, prepare, error)) {
        return FALSE;
    }
    for (guint i = 0; i < objects->len; i++) {
        const ObjectWork *work = objects->pdata[i];
        if (work->dwarf != NULL) {
            g_ptr_array_extend(tasks, (GPtrArray *)(guintptr)dwarf_job_tasks(work->dwarf), NULL, NULL);
        }
    }
    return for_each(tasks, run_task, error) && for_each(objects, finish, error);
}

static void
collect(Session *session)
{
    for (guint object = 0; object < session->work->len; object++) {
        ObjectWork *work = session->work->pdata[object];
        if (work == NULL) {
            continue;
        }
        for (guint i = 0; i < work->asked->len; i++) {
            const ObjectAsked *asked = &g_array_index(work->asked, ObjectAsked, i);
            Symbol *symbol = &session->symbols->locations[asked->location];
            *symbol = asked->symbol;
            if (session->options.no_inlines) {
                *symbol = (Symbol){asked->symbol.frames + (asked->symbol.n_frames - 1), 1};
            }
        }
        session->symbols->objects[object] = work->result;
    }
}

static void
free_work(gpointer work)
{
    if (work != NULL) {
        object_work_free(work);
    }
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
    Session session = {
        .profile = profile,
        .options = options != NULL ? *options : (SymbolizeOptions){0},
        .symbols = symbols,
        .work = work,
        .mappings = mappings,
    };
    for (guint32 i = 0; i < profile_n_locations(profile); i++) {
        ask(&session, i);
    }
    if (!answer(&session, error)) {
        return NULL;
    }
    collect(&session);
    return g_steal_pointer(&symbols);
}
