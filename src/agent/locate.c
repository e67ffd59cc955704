/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/locate.h"

#include "agent/debug.h"
#include "agent/listing.h"
#include "agent/text.h"
#include "jemalloc/elf-symbols.h"
#include "jemalloc/version.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The maximum size of the symbol names that the constructor reads: a few hundred microseconds. */
#define GLANCE_BUDGET ((uint64_t)768 * 1024)

enum {
    OBJECTS_SPACE = 2 << 20, /* reserved address space for the list of loaded objects; memory is allocated on use */
    CODE_COMPARED = 32,      /* bytes of a function that must be the same in memory and in the file */
    PROBE_SIZE = 64,
};

/*
 * The usual names, as weak references: the dynamic linker fills them during relocation. dlsym() would allocate from the
 * host's heap for each missing name, and leave an error for the host's next dlerror().
 */
#define FOR_EACH_PREFIX(DO) DO() DO(je_) DO(_rjem_) DO(jem_)
#define DECLARE(prefix)                                                                                                \
    extern int prefix##mallctl(const char *, void *, size_t *, void *, size_t) __attribute__((weak));                  \
    extern int prefix##mallctlnametomib(const char *, size_t *, size_t *) __attribute__((weak));                       \
    extern int prefix##mallctlbymib(const size_t *, size_t, void *, size_t *, void *, size_t) __attribute__((weak));   \
    extern void prefix##malloc_stats_print(void (*)(void *, const char *), void *, const char *) __attribute__((weak));
FOR_EACH_PREFIX(DECLARE)

typedef struct {
    const char *prefix;
    Mallctl mallctl;
    StatsPrint stats_print;
    NameToMib name_to_mib;
    ByMib by_mib;
} Linked;

#define ROW(prefix)                                                                                                    \
    {#prefix, prefix##mallctl, prefix##malloc_stats_print, prefix##mallctlnametomib, prefix##mallctlbymib},
static const Linked linked[] = {FOR_EACH_PREFIX(ROW)};
enum { N_LINKED = sizeof(linked) / sizeof(linked[0]) };

/* A copy of the loader's data on an object, which the loader may unload at any time. */
typedef struct {
    uintptr_t bias;
    size_t size; /* of this record */
    size_t n_headers;
    ElfW(Phdr) headers[]; /* followed by the path */
} Object;

typedef struct {
    uint8_t *bytes;
    size_t used;
    size_t size;
} Objects;

/* How thorough the search is: in a constructor an allocation would fill the cache of a thread that may never allocate
 * itself. */
typedef enum { LOOK_AT_NAMES, LOOK_BY_MALLOC } Look;

typedef struct {
    Objects objects;
    Look look;
    LocateThread thread;
    Allocator *chosen; /* mallctl is NULL: none yet */
} Search;

static const char *
object_path(const Object *object)
{
    return (const char *)(object->headers + object->n_headers);
}

static const Object *
next_object(const Objects *objects, size_t *at)
{
    if (*at >= objects->used)
        return NULL;
    const Object *object = (const Object *)(const void *)(objects->bytes + *at);
    *at += object->size;
    return object;
}

static bool
holds_address(const ElfW(Phdr) * headers, size_t n_headers, uintptr_t bias, uintptr_t address)
{
    for (size_t i = 0; i < n_headers; i++)
        if (headers[i].p_type == PT_LOAD && address - bias - headers[i].p_vaddr < headers[i].p_memsz)
            return true;
    return false;
}

bool
locate_own_name_begins(const char *begin)
{
    Dl_info own;
    return dladdr(&linked, &own) != 0 && strncmp(own.dli_fname, begin, strlen(begin)) == 0;
}

/* The main program has no name; an object without a slash in its own is the kernel's (vDSO), not a file. */
static const char *
path_of(const struct dl_phdr_info *info, bool is_first)
{
    if (is_first && info->dlpi_name[0] == '\0')
        return "/proc/self/exe";
    return strchr(info->dlpi_name, '/') != NULL ? info->dlpi_name : NULL;
}

static int
add_object(struct dl_phdr_info *info, size_t size, void *data)
{
    Objects *objects = data;
    const char *path = path_of(info, objects->used == 0);
    if (path == NULL)
        return 0;
    size_t headers_size = info->dlpi_phnum * sizeof(ElfW(Phdr));
    size_t path_size = strlen(path) + 1;
    size_t record = sizeof(Object) + headers_size + path_size;
    record = (record + _Alignof(Object) - 1) & ~(_Alignof(Object) - 1);
    if (record > objects->size - objects->used)
        return 1;
    Object *object = (Object *)(void *)(objects->bytes + objects->used);
    object->bias = info->dlpi_addr;
    object->size = record;
    object->n_headers = info->dlpi_phnum;
    memcpy(object->headers, info->dlpi_phdr, headers_size);
    memcpy(object->headers + object->n_headers, path, path_size);
    objects->used += record;
    return 0;
}

/* The list made by locate_glance(). The agent thread must not list the objects itself (listing.h). */
static Objects listed;

void
locate_forget(void)
{
    Objects forgotten = listed;
    /* First, since a child may be forked between the two. */
    __atomic_store_n(&listed.bytes, NULL, __ATOMIC_SEQ_CST);
    if (forgotten.bytes != NULL)
        munmap(forgotten.bytes, forgotten.size);
}

/* The loader's lock is held only while the list is copied. Unmap objects->bytes afterwards. */
static bool
list_objects(Objects *objects)
{
    void *space = mmap(NULL, OBJECTS_SPACE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED)
        return false;
    *objects = (Objects){.bytes = space, .size = OBJECTS_SPACE};
    if (listing_iterate(add_object, objects))
        return true;
    munmap(space, OBJECTS_SPACE);
    *objects = (Objects){0};
    return false;
}

static size_t
tls_size_of(const Object *object)
{
    for (size_t i = 0; i < object->n_headers; i++)
        if (object->headers[i].p_type == PT_TLS)
            return object->headers[i].p_memsz + object->headers[i].p_align;
    return 0;
}

/* The agent's own object always mentions jemalloc. */
static bool
mentions_jemalloc(const Object *object, uint64_t *budget, void *scratch, size_t scratch_size)
{
    if (holds_address(object->headers, object->n_headers, object->bias, (uintptr_t)&linked))
        return false;
    int descriptor = open(object_path(object), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (descriptor < 0)
        return false;
    ElfFile file;
    bool mentions = elf_file_init(&file, descriptor, scratch, scratch_size) &&
                    elf_mentions_jemalloc(&file, budget) != ELF_MENTION_NO;
    close(descriptor);
    return mentions;
}

static const Object *
find_object(const Objects *objects, uintptr_t address)
{
    size_t at = 0;
    const Object *object;
    while ((object = next_object(objects, &at)) != NULL)
        if (holds_address(object->headers, object->n_headers, object->bias, address))
            return object;
    return NULL;
}

/* Whether malloc comes from the same object. */
static bool
is_beside_malloc(const Allocator *allocator, const Objects *objects)
{
    const Object *object = find_object(objects, (uintptr_t)&malloc);
    return object != NULL && object == find_object(objects, (uintptr_t)allocator->mallctl);
}

/*
 * Whether malloc() in the agent's thread counts in this jemalloc's counter of bytes allocated by the thread. This
 * allocates and frees one small block of the host's heap: the only reliable test whatever wraps malloc. Before 5.3,
 * jemallocs without statistics have no such counter; there, malloc from the same object must do.
 */
static bool
counts_malloc(const Allocator *allocator, const Objects *objects)
{
    volatile uint64_t *counter = NULL;
    if (allocator_read(allocator, "thread.allocatedp", &counter, sizeof(void *)) != 0 || counter == NULL)
        return is_beside_malloc(allocator, objects);
    uint64_t before = *counter;
    void *volatile probe = malloc(PROBE_SIZE); /* volatile: a pair of malloc and free may be optimised away */
    uint64_t after = *counter;
    free(probe);
    return after != before;
}

/* In the constructor, an unprefixed mallctl in the object of the malloc in use is proof enough; all else is left to the
 * thorough search. */
static bool
serves_malloc(const Search *search, const Allocator *allocator)
{
    if (search->look == LOOK_AT_NAMES)
        return allocator->prefix[0] == '\0' && is_beside_malloc(allocator, &search->objects);
    return counts_malloc(allocator, &search->objects);
}

/* Takes CANDIDATE if it is a jemalloc in use; true if it serves malloc, which ends the search. */
static bool
judge(const Search *search, Allocator *candidate)
{
    if (search->look == LOOK_BY_MALLOC && !allocator_examine(candidate))
        return false;
    if (search->thread == LOCATE_FROM_AGENT)
        allocator_settle_thread(candidate); /* before the probe, which would fill its cache */
    if (serves_malloc(search, candidate))
        candidate->flags |= WIRE_FLAG_SERVES_MALLOC;
    bool serves = (candidate->flags & WIRE_FLAG_SERVES_MALLOC) != 0;
    debug_log(serves ? "serves malloc" : "does not serve malloc", candidate->found_in, 0);
    if (serves || (candidate->prefix[0] != '\0' && search->chosen->mallctl == NULL))
        *search->chosen = *candidate;
    return serves;
}

static void
name_object(Allocator *allocator, const Object *object)
{
    if (object == NULL)
        return;
    char target[PATH_MAX];
    ssize_t n = readlink(object_path(object), target, sizeof(target) - 1);
    bool is_program = strcmp(object_path(object), "/proc/self/exe") == 0;
    target[n > 0 ? n : 0] = '\0';
    text_copy_tail(allocator->found_in, sizeof(allocator->found_in), is_program ? target : object_path(object));
}

static bool
is_linked(void)
{
    for (size_t i = 0; i < N_LINKED; i++)
        if (linked[i].mallctl != NULL && linked[i].stats_print != NULL)
            return true;
    return false;
}

static bool
judge_linked(const Search *search)
{
    for (size_t i = 0; i < N_LINKED; i++) {
        if (linked[i].mallctl == NULL || linked[i].stats_print == NULL)
            continue;
        Allocator candidate = {
            .mallctl = linked[i].mallctl,
            .stats_print = linked[i].stats_print,
            .name_to_mib = linked[i].name_to_mib,
            .by_mib = linked[i].by_mib,
        };
        text_copy_tail(candidate.prefix, sizeof(candidate.prefix), linked[i].prefix);
        name_object(&candidate, find_object(&search->objects, (uintptr_t)linked[i].mallctl));
        if (judge(search, &candidate))
            return true;
    }
    return false;
}

enum { FUNCTIONS_MAX = 4 };

/* The code of an object's functions, as in its file. */
typedef struct {
    uintptr_t addresses[FUNCTIONS_MAX];
    bool same[FUNCTIONS_MAX]; /* the file has this code there */
} Comparison;

/* Reads memory that may be unmapped at any time by a system call, which fails where a direct access would crash. */
static bool
copy_code(const int ends[2], uintptr_t address, uint8_t *code)
{
    return write(ends[1], (const void *)address, CODE_COMPARED) == CODE_COMPARED &&
           read(ends[0], code, CODE_COMPARED) == CODE_COMPARED;
}

/*
 * Determines which functions in memory match the file. The file at an object's path may have been replaced since it was
 * loaded (an upgrade), and a call into the middle of other code would be the worst possible failure.
 */
static void
compare(const ElfFile *file, const uint64_t linked_addresses[FUNCTIONS_MAX], uintptr_t bias, Comparison *comparison)
{
    int ends[2];
    *comparison = (Comparison){0};
    if (syscall(SYS_pipe2, ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return;
    for (size_t i = 0; i < FUNCTIONS_MAX; i++) {
        uint8_t in_file[CODE_COMPARED];
        uint8_t in_memory[CODE_COMPARED];
        comparison->addresses[i] = bias + linked_addresses[i];
        comparison->same[i] =
            linked_addresses[i] != 0 && elf_read_address(file, linked_addresses[i], in_file, CODE_COMPARED) &&
            copy_code(ends, comparison->addresses[i], in_memory) && memcmp(in_file, in_memory, CODE_COMPARED) == 0;
    }
    close(ends[0]);
    close(ends[1]);
}

/* False if its file has changed since it was loaded. */
static bool
trust(const ElfFile *file, const ElfJemalloc *found, uintptr_t bias, Allocator *candidate)
{
    enum { MALLCTL, STATS_PRINT, NAME_TO_MIB, BY_MIB };
    const uint64_t linked_addresses[FUNCTIONS_MAX] = {found->mallctl, found->stats_print, found->name_to_mib,
                                                      found->by_mib};
    Comparison comparison;
    compare(file, linked_addresses, bias, &comparison);
    if (!comparison.same[MALLCTL] || !comparison.same[STATS_PRINT])
        return false;
    *candidate = (Allocator){
        .mallctl = (Mallctl)comparison.addresses[MALLCTL],
        .stats_print = (StatsPrint)comparison.addresses[STATS_PRINT],
        .flags = found->from_symtab ? WIRE_FLAG_FROM_SYMTAB : 0,
    };
    if (comparison.same[NAME_TO_MIB] && comparison.same[BY_MIB]) {
        candidate->name_to_mib = (NameToMib)comparison.addresses[NAME_TO_MIB];
        candidate->by_mib = (ByMib)comparison.addresses[BY_MIB];
    }
    return true;
}

static bool
judge_found(const Search *search, const ElfFile *file, const Object *object)
{
    ElfJemalloc found[ELF_FOUND_MAX];
    size_t n = elf_find_jemalloc(file, found);
    for (size_t i = 0; i < n; i++) {
        Allocator candidate;
        if (!trust(file, &found[i], object->bias, &candidate)) {
            debug_log("file changed since it was loaded", object_path(object), 0);
            continue;
        }
        text_copy_tail(candidate.prefix, sizeof(candidate.prefix), found[i].prefix);
        name_object(&candidate, object);
        if (judge(search, &candidate))
            return true;
    }
    return false;
}

static bool
judge_object(const Search *search, const Object *object, const ElfFile *scratch)
{
    int descriptor = open(object_path(object), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (descriptor < 0)
        return false;
    ElfFile file;
    bool serves = elf_file_init(&file, descriptor, scratch->scratch, scratch->scratch_size) &&
                  elf_has_program_headers(&file, object->headers, object->n_headers) &&
                  judge_found(search, &file, object);
    close(descriptor);
    return serves;
}

static uintptr_t
find_own(const ElfFile *file, const Object *object, const Allocator *allocator, const char *name)
{
    char whole[WIRE_PREFIX_MAX];
    Text text;
    text_init(&text, whole, sizeof(whole));
    text_add(&text, allocator->prefix);
    text_add(&text, name);
    const uint64_t linked_addresses[FUNCTIONS_MAX] = {text.overflowed ? 0 : elf_find_function(file, whole)};
    Comparison comparison;
    compare(file, linked_addresses, object->bias, &comparison);
    return comparison.same[0] ? comparison.addresses[0] : 0;
}

/* Finds the malloc and free behind a prefix, for a jemalloc that needs them: a search of all symbols, done only in this
 * case. */
static void
find_own_malloc(const Search *search, const ElfFile *scratch)
{
    Allocator *allocator = search->chosen;
    if (allocator->mallctl == NULL || (allocator->flags & WIRE_FLAG_SERVES_MALLOC) != 0 ||
        (allocator->quirks & JEMALLOC_QUIRK_DUMP_AFTER_ALLOCATION) == 0)
        return;
    const Object *object = find_object(&search->objects, (uintptr_t)allocator->mallctl);
    int descriptor = object != NULL ? open(object_path(object), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) : -1;
    if (descriptor < 0)
        return;
    ElfFile file;
    if (elf_file_init(&file, descriptor, scratch->scratch, scratch->scratch_size) &&
        elf_has_program_headers(&file, object->headers, object->n_headers)) {
        allocator->own_malloc = (void *(*)(size_t))find_own(&file, object, allocator, "malloc");
        allocator->own_free = (void (*)(void *))find_own(&file, object, allocator, "free");
    }
    close(descriptor);
}

/* Whether jemalloc has a usual name; if it also serves malloc, the search is complete. */
static void
glance_at_linked(Search *search, LocateGlance *glance)
{
    glance->maybe_here = is_linked();
    glance->located = glance->maybe_here && judge_linked(search);
    if (!glance->located)
        *search->chosen = (Allocator){0};
}

LocateGlance
locate_glance(Allocator *allocator, void *scratch, size_t scratch_size)
{
    LocateGlance glance = {0};
    uint64_t budget = GLANCE_BUDGET;
    Search search = {.look = LOOK_AT_NAMES, .thread = LOCATE_FROM_HOST, .chosen = allocator};
    *allocator = (Allocator){0};
    locate_forget();
    glance.unlisted = !list_objects(&search.objects);
    if (glance.unlisted)
        return glance;
    glance_at_linked(&search, &glance);
    size_t at = 0;
    for (const Object *object; (object = next_object(&search.objects, &at)) != NULL;) {
        glance.tls_size += tls_size_of(object);
        glance.maybe_here = glance.maybe_here || mentions_jemalloc(object, &budget, scratch, scratch_size);
    }
    listed = search.objects;
    return glance;
}

size_t
locate_tls_size(void)
{
    Objects objects;
    size_t total = 0;
    size_t at = 0;
    if (!list_objects(&objects))
        return 0;
    for (const Object *object; (object = next_object(&objects, &at)) != NULL;)
        total += tls_size_of(object);
    munmap(objects.bytes, objects.size);
    return total;
}

bool
locate_allocator(Allocator *allocator, LocateThread thread, void *scratch, size_t scratch_size)
{
    Search search = {.objects = listed, .look = LOOK_BY_MALLOC, .thread = thread, .chosen = allocator};
    *allocator = (Allocator){0};
    if (search.objects.bytes == NULL)
        return false;
    ElfFile file = {.scratch = scratch, .scratch_size = scratch_size};
    bool serves = judge_linked(&search);
    size_t at = 0;
    for (const Object *object; !serves && (object = next_object(&search.objects, &at)) != NULL;)
        serves = judge_object(&search, object, &file);
    find_own_malloc(&search, &file);
    return allocator->mallctl != NULL;
}
