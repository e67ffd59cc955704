/* SPDX-License-Identifier: Apache-2.0 */
#include "target/mappings.h"

#include "target/process-memory.h"
#include "target/stack-pointers.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum {
    LIST_MAX = 64 << 20, /* 65530 mappings, the kernel's default limit, with names of usual length */
    TIME_CHECK_LINES = 512,
    GUARD_MAX = 1 << 20,  /* maximum size of the guard below a stack */
    STACK_MAX = 64 << 20, /* a larger mapping with a stack in it has been merged with others */
    GLIBC_HEAP = 64 << 20,
    NAME_MAX_BYTES = 4096,
};

/* A mapping: its first line, and the figures below it. */
typedef struct {
    guint64 start, end;
    char access[5]; /* "rw-p" */
    gboolean file;  /* it has an inode */
    char name[NAME_MAX_BYTES];
    MappingSum sum;
    guint64 shared_clean, shared_dirty;
    gboolean no_reserve, no_huge_pages;
} Area;

/* The mappings of one file, which lie side by side: a program or library has executable ones, before its data. */
typedef struct {
    char name[NAME_MAX_BYTES];
    gboolean executable;
    MappingSum pages, written;
} Object;

struct MappingsReader {
    const MappingHints *hints;
    Mappings *mappings;
    Area now;
    gboolean has_now;
    guint64 before_start, before_end; /* the preceding mapping */
    gboolean before_guards;           /* private anonymous, without access rights */
    gboolean before_is_data;          /* the writable segment of a program or library */
    Object object;
};

static const struct {
    const char *name;
    MappingKind kind;
} names[] = {
    {"[heap]", MAPPING_BRK},
    {"[stack", MAPPING_STACK},
    {"[anon: glibc: pthread", MAPPING_STACK},
    {"[anon: glibc: malloc", MAPPING_GLIBC_ARENA},
    {"[anon:stack_and_tls", MAPPING_STACK},
    {"[anon:.bss", MAPPING_DATA},
    {"[anon:jemalloc", MAPPING_NORESERVE},
    {"[anon:scudo", MAPPING_ALLOCATOR},
    {"[anon:mimalloc", MAPPING_ALLOCATOR},
    {"[anon:tcmalloc", MAPPING_ALLOCATOR},
    {"[anon:partition_alloc", MAPPING_ALLOCATOR},
    {"[anon:libc_malloc", MAPPING_ALLOCATOR},
    {"[anon:", MAPPING_ANONYMOUS},
    {"[anon_shmem:", MAPPING_SHARED},
    {"[", MAPPING_TEXT}, /* vdso, vvar, vsyscall, uprobes */
    {"/memfd:", MAPPING_MEMORY_FILE},
    {"/dev/zero", MAPPING_SHARED},
    {"/dev/shm/", MAPPING_MEMORY_FILE},
    {"/SYSV", MAPPING_SHARED},
};

static void
add(MappingSum *to, const MappingSum *sum)
{
    guint64 *into = (guint64 *)to;
    const guint64 *from = (const guint64 *)sum;
    for (gsize i = 0; i < sizeof(*sum) / sizeof(guint64); i++)
        into[i] += from[i];
}

static void
end_object(MappingsReader *reader)
{
    MappingKind pages = reader->object.executable ? MAPPING_TEXT : MAPPING_FILE;
    MappingKind written = reader->object.executable ? MAPPING_DATA : MAPPING_FILE;
    add(&reader->mappings->kinds[pages], &reader->object.pages);
    add(&reader->mappings->kinds[written], &reader->object.written);
    memset(&reader->object, 0, sizeof(reader->object));
}

/* Modified pages of a private mapping are anonymous. Pss is not reported separately for them; shared pages are more
 * likely those of the file. */
static void
add_to_object(MappingsReader *reader, const Area *area)
{
    Object *object = &reader->object;
    MappingSum pages = area->sum, written = {0};
    if (strcmp(object->name, area->name) != 0) {
        end_object(reader);
        g_strlcpy(object->name, area->name, sizeof(object->name));
    }
    object->executable |= area->access[2] == 'x';
    written.rss = written.anonymous = written.pss = MIN(pages.anonymous, pages.rss);
    written.shared_anonymous = pages.shared_anonymous;
    written.huge = pages.huge;
    written.swap = pages.swap;
    pages.rss -= written.rss;
    pages.pss -= MIN(pages.pss, written.pss);
    pages.anonymous = pages.shared_anonymous = pages.huge = pages.swap = 0;
    add(&object->pages, &pages);
    add(&object->written, &written);
}

static gboolean
holds_stack_pointer(const MappingHints *hints, const Area *area)
{
    gsize low = 0, high = hints->n_stack_pointers;
    while (low < high) {
        gsize middle = low + (high - low) / 2;
        if (hints->stack_pointers[middle] < area->start)
            low = middle + 1;
        else
            high = middle;
    }
    return low < hints->n_stack_pointers && hints->stack_pointers[low] < area->end;
}

/* Since Linux 6.7, a mapping with MAP_STACK is flagged as excluded from huge pages. */
static gboolean
is_stack(const MappingsReader *reader, const Area *area)
{
    guint64 size = area->end - area->start, guard = reader->before_end - reader->before_start;
    gboolean guarded = reader->before_guards && reader->before_end == area->start && guard <= GUARD_MAX;
    if (area->access[1] != 'w' || area->no_reserve)
        return FALSE;
    if (guarded &&
        (area->no_huge_pages || size + guard == reader->hints->stack_size || size == reader->hints->stack_size))
        return TRUE;
    return (size <= STACK_MAX || area->no_huge_pages) && holds_stack_pointer(reader->hints, area);
}

/* NEXT_START and NEXT_END are those of the next mapping if it has no access rights, otherwise 0. */
static MappingKind
anonymous_kind(const MappingsReader *reader, const Area *area, guint64 next_start, guint64 next_end)
{
    if (area->start % GLIBC_HEAP == 0 && next_start == area->end && next_end % GLIBC_HEAP == 0)
        return MAPPING_GLIBC_ARENA;
    if (is_stack(reader, area))
        return MAPPING_STACK;
    if (area->no_reserve)
        return MAPPING_NORESERVE;
    if (reader->before_is_data && reader->before_end == area->start && area->access[1] == 'w')
        return MAPPING_DATA;
    return MAPPING_ANONYMOUS;
}

static MappingKind
kind_of(const MappingsReader *reader, const Area *area, guint64 next_start, guint64 next_end)
{
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
        if (g_str_has_prefix(area->name, names[i].name))
            return names[i].kind;
    return area->file ? MAPPING_FILE : anonymous_kind(reader, area, next_start, next_end);
}

/* Adds RANGE, in place of the one with the fewest bytes if there are too many. */
static void
note_range(MappingRanges *ranges, const MappingRange *range)
{
    MappingRange *least = ranges->ranges;
    if (range->bytes == 0)
        return;
    if (ranges->n < MAPPINGS_RANGES_MAX) {
        ranges->ranges[ranges->n++] = *range;
        return;
    }
    for (guint i = 1; i < MAPPINGS_RANGES_MAX; i++)
        if (ranges->ranges[i].bytes < least->bytes)
            least = &ranges->ranges[i];
    if (least->bytes < range->bytes)
        *least = *range;
}

static void
end_mapping(MappingsReader *reader, guint64 next_start, guint64 next_end)
{
    Area *area = &reader->now;
    if (!reader->has_now)
        return;
    MappingKind kind = kind_of(reader, area, next_start, next_end);
    area->sum.count = 1;
    area->sum.size = area->end - area->start;
    area->sum.shared_anonymous = MIN(area->shared_clean + area->shared_dirty, area->sum.anonymous);
    note_range(&reader->mappings->huge, &(MappingRange){area->start, area->end, area->sum.huge, kind});
    if (kind == MAPPING_ANONYMOUS)
        note_range(&reader->mappings->anonymous, &(MappingRange){area->start, area->end, area->sum.rss, kind});
    if (kind == MAPPING_FILE)
        add_to_object(reader, area);
    else
        add(&reader->mappings->kinds[kind], &area->sum);
    reader->before_start = area->start;
    reader->before_end = area->end;
    reader->before_guards = !area->file && memcmp(area->access, "---p", 4) == 0;
    reader->before_is_data = kind == MAPPING_FILE && reader->object.executable && area->access[1] == 'w';
    reader->has_now = FALSE;
}

/* "7fb09ee23000-7fb09ee26000 r--p 00000000 fe:00 21656      /usr/lib/x.so" */
static gboolean
read_first_line(MappingsReader *reader, const char *line)
{
    char *at;
    guint64 start = g_ascii_strtoull(line, &at, 16);
    if (at == line || *at != '-')
        return FALSE;
    const char *second = at + 1;
    guint64 end = g_ascii_strtoull(second, &at, 16);
    if (at == second || *at != ' ' || end < start || strlen(at) < 6 || at[5] != ' ')
        return FALSE;
    gboolean inaccessible = memcmp(at + 1, "---p", 4) == 0;
    end_mapping(reader, inaccessible ? start : 0, inaccessible ? end : 0);
    Area *area = &reader->now;
    memset(area, 0, sizeof(*area));
    area->start = start;
    area->end = end;
    memcpy(area->access, at + 1, 4);
    at += 5;
    for (int field = 0; field < 2; field++) { /* offset, device */
        at += strspn(at, " ");
        at += strcspn(at, " ");
    }
    area->file = g_ascii_strtoull(at, &at, 10) != 0;
    at += strspn(at, " ");
    g_strlcpy(area->name, at, sizeof(area->name));
    reader->has_now = TRUE;
    return TRUE;
}

static const struct {
    const char *word;
    gsize field;
} figures[] = {
    {"Rss:", offsetof(Area, sum.rss)},
    {"Pss:", offsetof(Area, sum.pss)},
    {"Shared_Clean:", offsetof(Area, shared_clean)},
    {"Shared_Dirty:", offsetof(Area, shared_dirty)},
    {"Anonymous:", offsetof(Area, sum.anonymous)},
    {"LazyFree:", offsetof(Area, sum.lazy_free)},
    {"AnonHugePages:", offsetof(Area, sum.huge)},
    {"Swap:", offsetof(Area, sum.swap)},
};

/* Each flag is two letters. */
static void
read_flags(Area *area, const char *flags)
{
    for (; *flags != '\0'; flags += strcspn(flags, " "), flags += strspn(flags, " ")) {
        area->no_reserve |= g_str_has_prefix(flags, "nr");
        area->no_huge_pages |= g_str_has_prefix(flags, "nh");
    }
}

void
mappings_reader_line(MappingsReader *reader, const char *line)
{
    Area *area = &reader->now;
    /* Figures begin with a capital letter, addresses are in lower case. */
    if (!g_ascii_isupper(line[0])) {
        read_first_line(reader, line);
        return;
    }
    if (g_str_has_prefix(line, "VmFlags:"))
        read_flags(area, line + strlen("VmFlags:"));
    for (gsize i = 0; i < G_N_ELEMENTS(figures); i++)
        if (g_str_has_prefix(line, figures[i].word)) {
            guint64 kib = g_ascii_strtoull(line + strlen(figures[i].word), NULL, 10);
            G_STRUCT_MEMBER(guint64, area, figures[i].field) = MIN(kib, G_MAXUINT64 >> 20) * 1024;
        }
}

MappingsReader *
mappings_reader_new(const MappingHints *hints)
{
    MappingsReader *reader = g_new0(MappingsReader, 1);
    reader->hints = hints;
    reader->mappings = g_new0(Mappings, 1);
    return reader;
}

void
mappings_reader_end(MappingsReader *reader, Mappings *mappings)
{
    end_mapping(reader, 0, 0);
    end_object(reader);
    *mappings = *reader->mappings;
    g_free(reader->mappings);
    g_free(reader);
}

typedef struct {
    MappingsReader *reader;
    gint64 until_us;
    guint lines;
} Reading;

static gboolean
take_line(char *line, gpointer data)
{
    Reading *reading = data;
    mappings_reader_line(reading->reader, line);
    return ++reading->lines % TIME_CHECK_LINES != 0 || g_get_monotonic_time() < reading->until_us;
}

static guint64
resident_of(const Mappings *mappings)
{
    guint64 total = 0;
    for (MappingKind kind = 0; kind < MAPPING_KINDS; kind++)
        total += mappings->kinds[kind].rss;
    return total;
}

static guint64
stack_size_of(pid_t pid)
{
    struct rlimit limit;
    return prlimit(pid, RLIMIT_STACK, NULL, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur : 0;
}

MemoryMapEnd
mappings_read(const Process *found, gint64 time_us, Mappings *mappings)
{
    g_autoptr(GArray) pointers = stack_pointers_read(found->pid);
    const MappingHints hints = {.stack_pointers = (const guint64 *)(gconstpointer)pointers->data,
                                .n_stack_pointers = pointers->len,
                                .stack_size = stack_size_of(found->pid)};
    Reading reading = {.reader = mappings_reader_new(&hints), .until_us = g_get_monotonic_time() + time_us};
    MemoryMapEnd end = memory_map_read_file(found, REACH_SMAPS, LIST_MAX, take_line, &reading);
    mappings_reader_end(reading.reader, mappings);
    if (end == MEMORY_MAP_STOPPED || end == MEMORY_MAP_TOO_LARGE) {
        ProcessMemory memory;
        guint64 read = resident_of(mappings);
        process_memory_read("/proc", "", found, &memory);
        mappings->unread = memory.rss != G_MAXUINT64 && memory.rss > read ? memory.rss - read : 0;
    }
    return end;
}
