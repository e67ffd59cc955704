/* SPDX-License-Identifier: Apache-2.0 */
#include "target/remote-jemalloc.h"

#include "target/diagnosis.h"
#include "target/loaded.h"
#include "target/program-file.h"
#include "target/target.h"

#include <string.h>
#include <unistd.h>

enum {
    SEARCH_MAX_S = 20, /* seconds for all files of a process; more than one is unusual */
};

/* Prefixes of exported functions: none, upstream's default on systems that cannot replace malloc, Rust's. Others are
 * found in the file's symbols. */
static const char *const usual_prefixes[] = {"", "je_", "_rjem_"};

typedef struct {
    const AddressSpace *space;
    const LoadedObject *malloc_of; /* the object whose malloc the others call; NULL: none exports one */
    GArray *candidates;            /* of Candidate */
    gint64 end;                    /* deadline of the search, monotonic time in microseconds */
    gboolean replaced;             /* a file was unreadable since it was deleted or replaced */
} Search;

typedef struct {
    RemoteJemalloc jemalloc;
    const LoadedObject *object;
} Candidate;

void
remote_jemalloc_clear(RemoteJemalloc *jemalloc)
{
    g_clear_pointer(&jemalloc->found_in, g_free);
    g_clear_pointer(&jemalloc->ranges, g_array_unref);
}

static void
candidate_clear(gpointer data)
{
    remote_jemalloc_clear(&((Candidate *)data)->jemalloc);
}

static char *
path_of(const LoadedObject *object)
{
    static const char deleted[] = " (deleted)";
    const char *path = object->first->path;
    gsize length = strlen(path) - (loaded_is_deleted(object) ? strlen(deleted) : 0);
    return g_strndup(path, length);
}

static void
add_candidate(Search *search, const LoadedObject *object, const RemoteJemalloc *jemalloc)
{
    Candidate candidate = {.jemalloc = *jemalloc, .object = object};
    gboolean alone = search->malloc_of == NULL && object->program;
    candidate.jemalloc.serves = jemalloc->prefix[0] == '\0' && (search->malloc_of == object || alone);
    candidate.jemalloc.found_in = path_of(object);
    g_array_append_val(search->candidates, candidate);
}

static guint64
exported(const Dynamic *dynamic, const char *prefix, const char *name)
{
    g_autofree char *symbol = g_strconcat(prefix, name, NULL);
    return dynamic_function(dynamic, symbol);
}

static gboolean
search_exported(Search *search, const LoadedObject *object)
{
    Dynamic dynamic;
    gboolean found = FALSE;
    if (!loaded_dynamic(search->space, object, &dynamic))
        return FALSE;
    for (gsize i = 0; i < G_N_ELEMENTS(usual_prefixes); i++) {
        const char *prefix = usual_prefixes[i];
        g_autofree char *message = g_strconcat(prefix, "malloc_message", NULL);
        RemoteJemalloc jemalloc = {
            .mallctl = exported(&dynamic, prefix, "mallctl"),
            .stats_print = exported(&dynamic, prefix, "malloc_stats_print"),
            .message = dynamic_variable(&dynamic, message),
        };
        g_strlcpy(jemalloc.prefix, prefix, sizeof(jemalloc.prefix));
        if (jemalloc.mallctl == 0 || jemalloc.stats_print == 0)
            continue;
        add_candidate(search, object, &jemalloc);
        found = TRUE;
    }
    return found;
}

/* Whether the function's code in the file equals that in memory. A debug file has none. */
static gboolean
is_same_code(const Search *search, const LoadedObject *object, const ProgramJemalloc *found)
{
    guint8 loaded[PROGRAM_FILE_CODE];
    return found->has_code &&
           remote_read(search->space->pid, object->bias + found->symbols.mallctl, loaded, sizeof(loaded)) &&
           memcmp(found->code, loaded, sizeof(loaded)) == 0;
}

typedef enum {
    FILE_LOADED,
    FILE_DEBUG,
} FileKind;

static gboolean
search_file(Search *search, const LoadedObject *object, int fd, FileKind kind)
{
    ProgramJemallocs jemallocs;
    gboolean any = FALSE;
    program_file_jemallocs(fd, &jemallocs);
    for (guint i = 0; i < jemallocs.n; i++) {
        const ElfJemalloc *found = &jemallocs.found[i].symbols;
        if (kind == FILE_LOADED && !is_same_code(search, object, &jemallocs.found[i]))
            continue;
        RemoteJemalloc jemalloc = {.mallctl = object->bias + found->mallctl,
                                   .stats_print = object->bias + found->stats_print,
                                   .message = found->message != 0 ? object->bias + found->message : 0,
                                   .from_symtab = found->from_symtab};
        g_strlcpy(jemalloc.prefix, found->prefix, sizeof(jemalloc.prefix));
        add_candidate(search, object, &jemalloc);
        any = TRUE;
    }
    return any;
}

static gboolean
search_debug_file(Search *search, const LoadedObject *object)
{
    int fd = loaded_open_debug(search->space, object);
    gboolean found = fd >= 0 && search_file(search, object, fd, FILE_DEBUG);
    if (fd >= 0)
        close(fd);
    return found;
}

static gboolean
is_late(const Search *search)
{
    return search->space->reads_left == 0 || g_get_monotonic_time() > search->end;
}

static void
search_object(Search *search, const LoadedObject *object)
{
    if (search_exported(search, object))
        return;
    int fd = loaded_open(search->space, object);
    search->replaced |= fd < 0 && loaded_is_deleted(object);
    gboolean found = fd >= 0 && search_file(search, object, fd, FILE_LOADED);
    if (fd >= 0)
        close(fd);
    /* Separate debug files are searched only for the executable, not for all libraries. */
    if (!found && object->program)
        search_debug_file(search, object);
}

static void
find_malloc(Search *search, GArray *objects)
{
    for (guint i = 0; i < objects->len && search->malloc_of == NULL; i++) {
        const LoadedObject *object = &g_array_index(objects, LoadedObject, i);
        Dynamic dynamic;
        if (loaded_dynamic(search->space, object, &dynamic) && dynamic_function(&dynamic, "malloc") != 0)
            search->malloc_of = object;
    }
}

/* The rank of a copy; higher is better. An unprefixed copy that does not serve malloc is dead code. */
static guint
worth_of(const RemoteJemalloc *jemalloc)
{
    return jemalloc->serves ? 2 : jemalloc->prefix[0] != '\0';
}

static void
add_mappings(const AddressSpace *space, const Mapping *first, GArray *ranges)
{
    for (guint i = 0; i < space->mappings->len; i++) {
        const Mapping *mapping = &g_array_index(space->mappings, Mapping, i);
        FunctionRange range = {mapping->start, mapping->end};
        if (mapping->inode == first->inode && mapping->device == first->device &&
            (mapping->flags & MAPPING_EXECUTE) != 0)
            g_array_append_val(ranges, range);
    }
}

/* The ranges by the symbols of a file; NULL if it has none of jemalloc's. */
static GArray *
ranges_of_file(int fd, const Candidate *candidate)
{
    g_autoptr(GArray) ranges = fd >= 0 ? program_file_ranges(fd, candidate->jemalloc.prefix) : NULL;
    if (fd >= 0)
        close(fd);
    for (guint i = 0; ranges != NULL && i < ranges->len; i++) {
        FunctionRange *range = &g_array_index(ranges, FunctionRange, i);
        range->start += candidate->object->bias;
        range->end += candidate->object->bias;
    }
    return g_steal_pointer(&ranges);
}

/* The ranges to avoid: all code of a library, but only jemalloc's in an executable. */
static GArray *
ranges_of(const AddressSpace *space, const Candidate *candidate)
{
    if (candidate->object->program) {
        GArray *ranges = ranges_of_file(loaded_open(space, candidate->object), candidate);
        return ranges != NULL ? ranges : ranges_of_file(loaded_open_debug(space, candidate->object), candidate);
    }
    GArray *ranges = g_array_new(FALSE, FALSE, sizeof(FunctionRange));
    add_mappings(space, candidate->object->first, ranges);
    return ranges;
}

static gboolean
set_none(const Process *process, const Search *search, GError **error)
{
    if (is_late(search))
        g_set_error(error, TARGET_ERROR, OUTCOME_NO_JEMALLOC,
                    "%s (%d): looking for jemalloc in its libraries takes too long; restart it under 'jescope run'",
                    process->name, (int)process->pid);
    else if (search->replaced)
        g_set_error(error, TARGET_ERROR, OUTCOME_NO_JEMALLOC,
                    "%s (%d) runs from a deleted or replaced file, so that jemalloc cannot be found in it%s",
                    process->name, (int)process->pid,
                    geteuid() != 0 ? "; run jescope as root, or restart it" : "; restart it");
    else
        diagnosis_set_no_jemalloc(process, error);
    return FALSE;
}

gboolean
remote_jemalloc_find(const Process *process, const AddressSpace *space, RemoteJemalloc *found, GError **error)
{
    g_autoptr(GArray) objects = loaded_objects(space);
    g_autoptr(GArray) candidates = g_array_new(FALSE, FALSE, sizeof(Candidate));
    g_array_set_clear_func(candidates, candidate_clear);
    Search search = {
        .space = space, .candidates = candidates, .end = g_get_monotonic_time() + SEARCH_MAX_S * G_USEC_PER_SEC};
    find_malloc(&search, objects);
    for (guint i = 0; i < objects->len && !is_late(&search); i++)
        search_object(&search, &g_array_index(objects, LoadedObject, i));
    Candidate *best = NULL;
    for (guint i = 0; i < candidates->len; i++) {
        Candidate *candidate = &g_array_index(candidates, Candidate, i);
        if (best == NULL || worth_of(&candidate->jemalloc) > worth_of(&best->jemalloc))
            best = candidate;
    }
    if (best == NULL)
        return set_none(process, &search, error);
    *found = best->jemalloc;
    found->ranges = ranges_of(space, best);
    best->jemalloc.found_in = NULL;
    return TRUE;
}
