/* SPDX-License-Identifier: Apache-2.0 */
#include "report/functions.h"
#include "confine/keyed-hash.h"

#include "report/function-name.h"
#include "symbolize/names.h"
#include "text/printable.h"

#include <string.h>

enum {
    N_SIDES = 2,
    SHORT_NAME = 80,    /* characters; longer plain names lose their template arguments first */
    LONGEST_NAME = 300, /* longer names are cut for readability */
};

/* One spelling of a function's name in a frame. */
typedef struct {
    /* The key: the frame's strings by address, since all frames of a function share one string. */
    const char *function, *path;
    guint32 start_line;
    guint side;

    const char *name; /* clean, without clones */
    const char *stem; /* of the object's file name: "libfoo" of libfoo.so.1.2 */
    gboolean known;
    gboolean mangled;
    gboolean local;   /* several functions may have this name */
    guint32 identity; /* into functions, after sealing */
} Spelling;

typedef struct {
    Function public;
    const Spelling *spelling; /* the first */
    guint level;              /* of its display name */
} Entry;

struct Functions {
    GPtrArray *spellings; /* Spelling */
    GHashTable *noted;    /* Spelling -> index + 1 */
    GArray *entries;      /* Entry */
    GHashTable *index;    /* identity -> entry + 1 */
    StringPool *strings;
    NameBudget budget; /* of the names of spellings: a file may have one name at any number of lines */
};

static guint
hash_spelling(gconstpointer key)
{
    const Spelling *spelling = key;
    const guint64 words[] = {(guintptr)spelling->function, (guintptr)spelling->path,
                             (guint64)spelling->start_line << 32 | spelling->side};

    return keyed_hash_bytes(words, sizeof(words));
}

static gboolean
equal_spelling(gconstpointer a, gconstpointer b)
{
    const Spelling *left = a;
    const Spelling *right = b;

    return left->function == right->function && left->path == right->path && left->start_line == right->start_line &&
           left->side == right->side;
}

Functions *
functions_new(void)
{
    Functions *functions = g_new0(Functions, 1);

    functions->spellings = g_ptr_array_new_with_free_func(g_free);
    functions->noted = g_hash_table_new(hash_spelling, equal_spelling);
    functions->entries = g_array_new(FALSE, TRUE, sizeof(Entry));
    functions->index = g_hash_table_new(keyed_hash_string, g_str_equal);
    functions->strings = string_pool_new();
    return functions;
}

void
functions_free(Functions *functions)
{
    g_hash_table_unref(functions->noted);
    g_hash_table_unref(functions->index);
    g_ptr_array_unref(functions->spellings);
    g_array_unref(functions->entries);
    string_pool_free(functions->strings);
    g_free(functions);
}

static const char *
keep(Functions *functions, char *text)
{
    const char *kept = string_pool_insert(functions->strings, text);

    g_free(text);
    return kept;
}

static char *
stem_of(const char *path)
{
    g_autofree char *base = path ? g_path_get_basename(path) : g_strdup("");
    const char *end = strstr(base, ".so");

    return end ? g_strndup(base, (gsize)(end - base)) : g_steal_pointer(&base);
}

/* Internal or unknown linkage: C functions may be static, and lambdas have no linkage name. */
static gboolean
is_local(const SymbolFrame *frame, gboolean mangled)
{
    if (!frame->known)
        return FALSE;
    return !mangled || g_str_has_prefix(frame->system_name, "_ZL") || strstr(frame->system_name, "_GLOBAL__N_");
}

/* A placeholder for an unknown function is used unchanged: there may be as many as addresses. */
static const char *
clean_name(Functions *functions, const SymbolFrame *frame, const char *name)
{
    g_autofree char *whole = NULL;

    if (!frame->known && name == frame->function && text_is_printable(name))
        return name;
    whole = function_name_unclone(name);
    return keep(functions, text_printable(whole));
}

/* Whether the name is demangled, or came from a symbolized dump with its parameters. */
static gboolean
has_linkage(const SymbolFrame *frame, const char *name)
{
    g_autofree char *plain = NULL;

    if (frame->system_name != frame->function)
        return TRUE;
    plain = function_name_plain(name);
    return strlen(plain) < strlen(name);
}

static Spelling *
add_spelling(Functions *functions, const Spelling *key, const SymbolFrame *frame)
{
    Spelling *added = g_memdup2(key, sizeof(*key));
    g_autofree char *cut = name_budget_cut(&functions->budget, frame->function);
    const char *name = cut ? cut : frame->function;

    added->name = clean_name(functions, frame, name);
    added->known = frame->known;
    added->stem = keep(functions, stem_of(key->path));
    added->mangled = !frame->known || has_linkage(frame, name);
    added->local = is_local(frame, added->mangled);
    g_ptr_array_add(functions->spellings, added);
    g_hash_table_insert(functions->noted, added, GUINT_TO_POINTER(functions->spellings->len));
    return added;
}

guint32
functions_note(Functions *functions, guint side, const SymbolFrame *frame, const char *path)
{
    const Spelling key = {.function = frame->function, .path = path, .start_line = frame->start_line, .side = side};
    guint found = GPOINTER_TO_UINT(g_hash_table_lookup(functions->noted, &key));

    if (found)
        return found - 1;
    add_spelling(functions, &key, frame);
    return functions->spellings->len - 1;
}

/* "main::{lambda(int)#1}::operator()" -> "main::{lambda}::operator()": debug information does not number lambdas. */
static char *
strip_lambda_numbers(const char *plain)
{
    g_autoptr(GRegex) regex = g_regex_new("\\{lambda\\([^{}]*\\)#[0-9]+\\}", G_REGEX_RAW, 0, NULL);
    char *stripped = g_regex_replace_literal(regex, plain, -1, 0, "{lambda}", 0, NULL);

    return stripped ? stripped : g_strdup(plain);
}

static char *
adoption_key(const Spelling *spelling)
{
    g_autofree char *plain = function_name_plain(spelling->name);
    g_autofree char *bare = strstr(plain, "{lambda") ? strip_lambda_numbers(plain) : g_strdup(plain);

    return g_strdup_printf("%u\n%s\n%s", spelling->side, spelling->stem, bare);
}

/* The mangled spellings with one plain name in one object; those without a start line once more by themselves. */
typedef struct {
    GHashTable *by_line;            /* start line -> the first spelling with it */
    const Spelling *any, *unplaced; /* the last one; NULL: they have several names, or there is none */
    gboolean several, several_unplaced;
} Candidates;

static void
free_candidates(gpointer candidates)
{
    g_hash_table_unref(((Candidates *)candidates)->by_line);
    g_free(candidates);
}

static void
note_name(const Spelling **last, gboolean *several, const Spelling *spelling)
{
    *several = *several || (*last && !g_str_equal((*last)->name, spelling->name));
    *last = *several ? NULL : spelling;
}

static void
add_candidate(GHashTable *mangled, const Spelling *spelling)
{
    g_autofree char *key = adoption_key(spelling);
    gpointer line = GUINT_TO_POINTER(spelling->start_line);
    Candidates *candidates = g_hash_table_lookup(mangled, key);

    if (!candidates) {
        candidates = g_new0(Candidates, 1);
        candidates->by_line = g_hash_table_new(keyed_hash_pointer, NULL);
        g_hash_table_insert(mangled, g_steal_pointer(&key), candidates);
    }
    note_name(&candidates->any, &candidates->several, spelling);
    if (!spelling->start_line)
        note_name(&candidates->unplaced, &candidates->several_unplaced, spelling);
    else if (!g_hash_table_contains(candidates->by_line, line))
        g_hash_table_insert(candidates->by_line, line, (gpointer)(guintptr)spelling);
}

/* The mangled spelling that begins at the same line, else the only one that may. */
static const Spelling *
find_linkage(const Candidates *candidates, const Spelling *spelling)
{
    if (!candidates)
        return NULL;
    if (!spelling->start_line)
        return candidates->any;
    const Spelling *found = g_hash_table_lookup(candidates->by_line, GUINT_TO_POINTER(spelling->start_line));
    return found ? found : candidates->unplaced;
}

/* Compilers give functions without external linkage a linkage name in some frames and none in others. */
static void
adopt_linkage_names(Functions *functions)
{
    g_autoptr(GHashTable) mangled = g_hash_table_new_full(keyed_hash_string, g_str_equal, g_free, free_candidates);

    for (guint i = 0; i < functions->spellings->len; i++) {
        const Spelling *spelling = functions->spellings->pdata[i];
        if (spelling->mangled && strstr(spelling->name, "::"))
            add_candidate(mangled, spelling);
    }
    for (guint i = 0; i < functions->spellings->len; i++) {
        Spelling *spelling = functions->spellings->pdata[i];
        if (spelling->mangled || !strstr(spelling->name, "::"))
            continue;
        g_autofree char *key = adoption_key(spelling);
        const Spelling *linkage = find_linkage(g_hash_table_lookup(mangled, key), spelling);
        if (linkage) {
            spelling->name = linkage->name;
            spelling->local = linkage->local;
        }
    }
}

/* All spellings of one local name, to be distinguished. */
typedef struct {
    GHashTable *stems[N_SIDES]; /* stem -> GArray of its start lines, ascending */
} Namesakes;

static void
free_namesakes(gpointer namesakes)
{
    for (guint side = 0; side < N_SIDES; side++)
        g_hash_table_unref(((Namesakes *)namesakes)->stems[side]);
    g_free(namesakes);
}

static Namesakes *
get_namesakes(GHashTable *all, const char *name)
{
    Namesakes *namesakes = g_hash_table_lookup(all, name);

    if (namesakes)
        return namesakes;
    namesakes = g_new0(Namesakes, 1);
    for (guint side = 0; side < N_SIDES; side++)
        namesakes->stems[side] =
            g_hash_table_new_full(keyed_hash_string, g_str_equal, NULL, (GDestroyNotify)g_array_unref);
    g_hash_table_insert(all, (gpointer)(guintptr)name, namesakes);
    return namesakes;
}

static void
note_line(GHashTable *stems, const Spelling *spelling)
{
    GArray *lines = g_hash_table_lookup(stems, spelling->stem);

    if (!lines) {
        lines = g_array_new(FALSE, FALSE, sizeof(guint32));
        g_hash_table_insert(stems, (gpointer)(guintptr)spelling->stem, lines);
    }
    if (spelling->start_line != 0)
        g_array_append_val(lines, spelling->start_line);
}

static gint
compare_lines(gconstpointer a, gconstpointer b)
{
    guint32 left = *(const guint32 *)a, right = *(const guint32 *)b;

    return left < right ? -1 : left > right;
}

/* Sorts the lines, each of which stays once. */
static void
settle_lines(gpointer stem G_GNUC_UNUSED, gpointer value, gpointer user G_GNUC_UNUSED)
{
    GArray *lines = value;
    guint kept = 0;

    g_array_sort(lines, compare_lines);
    for (guint i = 0; i < lines->len; i++) {
        guint32 line = g_array_index(lines, guint32, i);
        if (kept == 0 || g_array_index(lines, guint32, kept - 1) != line)
            g_array_index(lines, guint32, kept++) = line;
    }
    g_array_set_size(lines, kept);
}

static void
settle_namesakes(gpointer name G_GNUC_UNUSED, gpointer value, gpointer user G_GNUC_UNUSED)
{
    const Namesakes *namesakes = value;

    for (guint side = 0; side < N_SIDES; side++)
        g_hash_table_foreach(namesakes->stems[side], settle_lines, NULL);
}

static GHashTable *
collect_namesakes(const Functions *functions)
{
    GHashTable *all = g_hash_table_new_full(keyed_hash_string, g_str_equal, NULL, free_namesakes);

    for (guint i = 0; i < functions->spellings->len; i++) {
        const Spelling *spelling = functions->spellings->pdata[i];
        if (spelling->local)
            note_line(get_namesakes(all, spelling->name)->stems[spelling->side], spelling);
    }
    g_hash_table_foreach(all, settle_namesakes, NULL);
    return all;
}

/* The number of lines before LINE, but the last line's rank for later ones. */
static guint
rank_of(const GArray *lines, guint32 line)
{
    guint low = 0, high = lines->len > 0 ? lines->len - 1 : 0;

    while (low < high) {
        guint middle = low + (high - low) / 2;
        if (g_array_index(lines, guint32, middle) < line)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Lines as ranks, and objects only if there are several: both change from one build to the next. */
static char *
identity_of(const Spelling *spelling, GHashTable *all)
{
    const Namesakes *namesakes = spelling->local ? g_hash_table_lookup(all, spelling->name) : NULL;
    GHashTable *stems = namesakes ? namesakes->stems[spelling->side] : NULL;
    const GArray *lines = stems ? g_hash_table_lookup(stems, spelling->stem) : NULL;

    if (!stems)
        return g_strdup(spelling->name);
    return g_strdup_printf("%s\n%s\n%u", spelling->name, g_hash_table_size(stems) > 1 ? spelling->stem : "",
                           rank_of(lines, spelling->start_line));
}

static void
identify(Functions *functions, Spelling *spelling, GHashTable *namesakes)
{
    const char *identity = spelling->local ? keep(functions, identity_of(spelling, namesakes)) : spelling->name;
    guint found = GPOINTER_TO_UINT(g_hash_table_lookup(functions->index, identity));

    if (!found) {
        const Entry entry = {.public = {.name = spelling->name,
                                        .plain = spelling->known ? keep(functions, function_name_plain(spelling->name))
                                                                 : spelling->name},
                             .spelling = spelling};
        g_array_append_val(functions->entries, entry);
        found = functions->entries->len;
        g_hash_table_insert(functions->index, (gpointer)(guintptr)identity, GUINT_TO_POINTER(found));
    }
    spelling->identity = found - 1;
}

static char *
cut(char *name)
{
    g_autofree char *whole = name;
    g_autofree char *head = NULL;

    if (g_utf8_strlen(whole, -1) <= LONGEST_NAME)
        return g_steal_pointer(&whole);
    head = g_utf8_substring(whole, 0, LONGEST_NAME - 1);
    return g_strconcat(head, "…", NULL);
}

static char *
display_short(const Entry *entry)
{
    gboolean fits = g_utf8_strlen(entry->public.plain, -1) <= SHORT_NAME;

    return fits ? g_strdup(entry->public.plain) : cut(function_name_elide(entry->public.plain));
}

static char *
display_plain(const Entry *entry)
{
    return cut(g_strdup(entry->public.plain));
}

static char *
display_elided(const Entry *entry)
{
    return cut(function_name_elide(entry->public.name));
}

static char *
display_full(const Entry *entry)
{
    return cut(g_strdup(entry->public.name));
}

static char *
display_with_object(const Entry *entry)
{
    g_autofree char *name = display_full(entry);

    return g_strdup_printf("%s [%s]", name, entry->spelling->stem);
}

static char *
display_with_line(const Entry *entry)
{
    g_autofree char *name = display_full(entry);

    return g_strdup_printf("%s [%s, line %u]", name, entry->spelling->stem, entry->spelling->start_line);
}

/* Display names, from the shortest to the most exact. */
static char *(*const displays[])(const Entry *) = {
    display_short, display_plain, display_elided, display_full, display_with_object, display_with_line,
};

/* All functions that share a name switch to the next level; TRUE: some did. */
static gboolean
part_displays(const GArray *entries)
{
    g_autoptr(GHashTable) owners = g_hash_table_new(keyed_hash_string, g_str_equal); /* display -> entry + 1 */
    g_autofree gboolean *shared = g_new0(gboolean, (gsize)entries->len + 1);
    gboolean moved = FALSE;

    for (guint i = 0; i < entries->len; i++) {
        const char *display = g_array_index(entries, Entry, i).public.display;
        guint owner = GPOINTER_TO_UINT(g_hash_table_lookup(owners, display));
        if (owner)
            shared[i] = shared[owner - 1] = TRUE;
        else
            g_hash_table_insert(owners, (gpointer)(guintptr)display, GUINT_TO_POINTER(i + 1));
    }
    for (guint i = 0; i < entries->len; i++) {
        Entry *entry = &g_array_index(entries, Entry, i);
        if (!shared[i] || !entry->spelling->known || entry->level + 1 >= G_N_ELEMENTS(displays))
            continue;
        entry->level++;
        moved = TRUE;
    }
    return moved;
}

static void
choose_displays(Functions *functions)
{
    do {
        for (guint i = 0; i < functions->entries->len; i++) {
            Entry *entry = &g_array_index(functions->entries, Entry, i);
            entry->public.display =
                entry->spelling->known ? keep(functions, displays[entry->level](entry)) : entry->public.name;
        }
    } while (part_displays(functions->entries));
}

void
functions_seal(Functions *functions)
{
    g_autoptr(GHashTable) namesakes = NULL;

    adopt_linkage_names(functions);
    namesakes = collect_namesakes(functions);
    for (guint i = 0; i < functions->spellings->len; i++)
        identify(functions, functions->spellings->pdata[i], namesakes);
    choose_displays(functions);
}

guint32
functions_of(const Functions *functions, guint32 noted)
{
    return ((const Spelling *)functions->spellings->pdata[noted])->identity;
}

guint32
functions_n(const Functions *functions)
{
    return functions->entries->len;
}

const Function *
functions_get(const Functions *functions, guint32 function)
{
    return &g_array_index(functions->entries, Entry, function).public;
}
