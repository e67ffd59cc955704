/* SPDX-License-Identifier: Apache-2.0 */
#include "target/cgroup.h"

#include "target/process-stat.h"

#include <stddef.h>
#include <string.h>

/* Version 1 reports an unset limit as the largest number of whole pages. */
#define NO_LIMIT_FROM (G_GUINT64_CONSTANT(1) << 62)

enum {
    DEPTH_MAX = 32, /* maximum depth of a group */
};

/* The files and words of a version for the same numbers. */
typedef struct {
    const char *mount; /* below the control groups' directory */
    const char *current;
    const char *max;
    const char *high;     /* the limit above which processes are throttled; NULL: none */
    const char *inactive; /* word of memory.stat for page cache that is reclaimed first */
    const char *kills;    /* the file that counts processes killed by the kernel for lack of memory */
} Version;

static const Version versions[] = {
    {"", "memory.current", "memory.max", "memory.high", "inactive_file ", "memory.events"},
    {"unified", "memory.current", "memory.max", "memory.high", "inactive_file ", "memory.events"},
    {"memory", "memory.usage_in_bytes", "memory.limit_in_bytes", NULL, "total_inactive_file ", "memory.oom_control"},
};
enum { UNIFIED, HYBRID, LEGACY };

static gboolean
read_number(const char *directory, const char *file, guint64 *number)
{
    g_autofree char *path = g_build_filename(directory, file, NULL);
    g_autofree char *text = NULL;
    if (!g_file_get_contents(path, &text, NULL, NULL))
        return FALSE;
    return g_ascii_string_to_unsigned(g_strstrip(text), 10, 0, G_MAXUINT64, number, NULL);
}

static guint64
read_limit(const char *directory, const char *file)
{
    guint64 limit;
    return file != NULL && read_number(directory, file, &limit) && limit < NO_LIMIT_FROM ? limit : G_MAXUINT64;
}

/* The number after WORD (which ends with a blank) at the beginning of a line of FILE; 0 if there is none. */
static guint64
read_word(const char *directory, const char *file, const char *word)
{
    g_autofree char *path = g_build_filename(directory, file, NULL);
    g_autofree char *text = NULL;
    if (!g_file_get_contents(path, &text, NULL, NULL))
        return 0;
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line != NULL; line++)
        if (g_str_has_prefix(*line, word))
            return g_ascii_strtoull(*line + strlen(word), NULL, 10);
    return 0;
}

/* The total of the line "some avg10=0.00 avg60=0.00 avg300=0.00 total=0" of memory.pressure in microseconds;
 * G_MAXUINT64 if unknown. */
static guint64
read_stalled(const char *directory)
{
    static const char word[] = "total=";
    g_autofree char *path = g_build_filename(directory, "memory.pressure", NULL);
    g_autofree char *text = NULL;
    if (!g_file_get_contents(path, &text, NULL, NULL))
        return G_MAXUINT64;
    const char *total = strstr(text, word);
    return total != NULL ? g_ascii_strtoull(total + sizeof(word) - 1, NULL, 10) : G_MAXUINT64;
}

/* The group of a process. */
typedef struct {
    const Version *version;
    char *mount; /* directory of the root group */
    char *path;  /* path of the group below it, with a leading slash */
    guint64 current;
} Group;

static void
group_clear(Group *group)
{
    g_free(group->mount);
    g_free(group->path);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Group, group_clear)

static guint
depth_of(const char *path)
{
    guint depth = 0;
    for (; *path != '\0'; path++)
        depth += *path == '/';
    return depth;
}

/* The root group of version 2 has no files. A user may nest thousands of groups, whose files would take long to
 * read. */
static gboolean
group_take(Group *group, const char *cgroups, const char *path, const Version *version)
{
    Group found = {.version = version, .mount = g_build_filename(cgroups, version->mount, NULL)};
    g_autofree char *own = g_build_filename(found.mount, path, NULL);
    if (strstr(path, "/..") != NULL || depth_of(path) > DEPTH_MAX ||
        !read_number(own, version->current, &found.current)) {
        group_clear(&found);
        return FALSE;
    }
    found.path = g_strdup(path);
    *group = found;
    return TRUE;
}

/* A line is "0::GROUP" for version 2 and "N:CONTROLLER,...:GROUP" for version 1. */
static gboolean
group_take_line(Group *group, const char *cgroups, const char *line)
{
    g_auto(GStrv) fields = g_strsplit(line, ":", 3);
    if (g_strv_length(fields) != 3)
        return FALSE;
    if (fields[1][0] == '\0')
        return group_take(group, cgroups, fields[2], &versions[UNIFIED]) ||
               group_take(group, cgroups, fields[2], &versions[HYBRID]);
    g_auto(GStrv) controllers = g_strsplit(fields[1], ",", -1);
    return g_strv_contains((const char *const *)controllers, "memory") &&
           group_take(group, cgroups, fields[2], &versions[LEGACY]);
}

static gboolean
group_find(Group *group, const char *proc, const char *cgroups, int pid)
{
    g_autofree char *path = g_strdup_printf("%s/%d/cgroup", proc, pid);
    g_autofree char *text = NULL;
    if (!g_file_get_contents(path, &text, NULL, NULL))
        return FALSE;
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line != NULL; line++)
        if (group_take_line(group, cgroups, *line))
            return TRUE;
    return FALSE;
}

/* Changes PATH to that of the parent group; FALSE if it was the root. */
static gboolean
step_up(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash == NULL || slash[1] == '\0')
        return FALSE;
    slash[slash == path] = '\0';
    return TRUE;
}

/* Whether the group PATH is GROUP or one of its ancestors. */
static gboolean
holds(const char *path, const Group *group)
{
    const gsize length = strlen(path);
    return g_str_has_prefix(group->path, path) &&
           (strcmp(path, "/") == 0 || group->path[length] == '\0' || group->path[length] == '/');
}

static const CgroupRoom unlimited = {G_MAXUINT64, G_MAXUINT64};

/* The room of a group; *TO_MAX (may be NULL) is set to that without memory.high. */
static CgroupRoom
room_of(const char *directory, const Version *version, CgroupRoom *to_max)
{
    guint64 max = read_limit(directory, version->max);
    guint64 limit = MIN(max, read_limit(directory, version->high));
    guint64 current;
    if (to_max != NULL)
        *to_max = unlimited;
    if (limit == G_MAXUINT64 || !read_number(directory, version->current, &current))
        return unlimited;
    guint64 inactive = read_word(directory, "memory.stat", version->inactive);
    guint64 used = current > inactive ? current - inactive : 0;
    if (to_max != NULL && max != G_MAXUINT64)
        *to_max = (CgroupRoom){max > used ? max - used : 0, max};
    return (CgroupRoom){limit > used ? limit - used : 0, limit};
}

static void
take_scarcer(CgroupRoom *room, CgroupRoom other)
{
    if (other.left < room->left)
        *room = other;
}

gboolean
cgroup_memory_read(const char *proc, const char *cgroups, int pid, CgroupMemory *memory)
{
    g_auto(Group) group = {0};
    if (!group_find(&group, proc, cgroups, pid))
        return FALSE;
    *memory = (CgroupMemory){group.current, G_MAXUINT64};
    g_autofree char *at = g_strdup(group.path);
    do {
        g_autofree char *directory = g_build_filename(group.mount, at, NULL);
        memory->max = MIN(memory->max, read_limit(directory, group.version->max));
    } while (step_up(at));
    return TRUE;
}

gboolean
cgroup_rooms_read(const char *proc, const char *cgroups, int pid, int payer, CgroupRooms *rooms)
{
    g_auto(Group) group = {0};
    g_auto(Group) other = {0};
    *rooms = (CgroupRooms){unlimited, unlimited, unlimited};
    if (!group_find(&group, proc, cgroups, pid))
        return FALSE;
    const gboolean comparable = group_find(&other, proc, cgroups, payer) && other.version == group.version;
    g_autofree char *at = g_strdup(group.path);
    do {
        g_autofree char *directory = g_build_filename(group.mount, at, NULL);
        CgroupRoom to_max;
        const CgroupRoom room = room_of(directory, group.version, &to_max);
        if (comparable && holds(at, &other)) {
            take_scarcer(&rooms->shared, room);
            continue;
        }
        take_scarcer(&rooms->alone, room);
        take_scarcer(&rooms->alone_to_max, to_max);
    } while (step_up(at));
    return TRUE;
}

char *
cgroup_path(int pid)
{
    g_autofree char *file = g_strdup_printf("/proc/%d/cgroup", pid);
    g_autofree char *text = NULL;
    if (!g_file_get_contents(file, &text, NULL, NULL))
        return NULL;
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line != NULL; line++)
        if (g_str_has_prefix(*line, "0::") || strstr(*line, ":name=systemd:") != NULL)
            return g_strdup(strchr(*line, '/'));
    return NULL;
}

/* Maps a figure of memory.stat, or another file of the group, to its field. */
typedef struct {
    const char *word; /* in memory.stat; NULL: the file is a number */
    const char *file;
    gsize field;
} Charge;

static const Charge charges_2[] = {
    {"anon ", NULL, offsetof(CgroupCharges, anonymous)},
    {"file ", NULL, offsetof(CgroupCharges, file)},
    {"shmem ", NULL, offsetof(CgroupCharges, shmem)},
    {"sock ", NULL, offsetof(CgroupCharges, sockets)},
    {"kernel ", NULL, offsetof(CgroupCharges, kernel)},
    {"kernel_stack ", NULL, offsetof(CgroupCharges, kernel_stacks)},
    {"pagetables ", NULL, offsetof(CgroupCharges, page_tables)},
    {"inactive_file ", NULL, offsetof(CgroupCharges, inactive_file)},
    {0},
};

static const Charge charges_1[] = {
    {"total_rss ", NULL, offsetof(CgroupCharges, anonymous)},
    {"total_cache ", NULL, offsetof(CgroupCharges, file)},
    {"total_shmem ", NULL, offsetof(CgroupCharges, shmem)},
    {"total_inactive_file ", NULL, offsetof(CgroupCharges, inactive_file)},
    {NULL, "memory.kmem.tcp.usage_in_bytes", offsetof(CgroupCharges, sockets)},
    {NULL, "memory.kmem.usage_in_bytes", offsetof(CgroupCharges, kernel)},
    {0},
};

static void
take_words(const char *directory, const Charge *rows, CgroupCharges *charges)
{
    g_autofree char *path = g_build_filename(directory, "memory.stat", NULL);
    g_autofree char *text = NULL;
    if (!g_file_get_contents(path, &text, NULL, NULL))
        return;
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line != NULL; line++)
        for (const Charge *row = rows; row->word != NULL; row++)
            if (g_str_has_prefix(*line, row->word))
                G_STRUCT_MEMBER(guint64, charges, row->field) = g_ascii_strtoull(*line + strlen(row->word), NULL, 10);
}

gboolean
cgroup_charges_read(const char *proc, const char *cgroups, int pid, CgroupCharges *charges)
{
    g_auto(Group) group = {0};
    if (!group_find(&group, proc, cgroups, pid))
        return FALSE;
    const Charge *rows = group.version == &versions[LEGACY] ? charges_1 : charges_2;
    g_autofree char *directory = g_build_filename(group.mount, group.path, NULL);
    memset(charges, 0xff, sizeof(*charges));
    charges->current = group.current;
    take_words(directory, rows, charges);
    for (const Charge *row = rows; row->word != NULL || row->file != NULL; row++)
        if (row->file != NULL)
            read_number(directory, row->file, &G_STRUCT_MEMBER(guint64, charges, row->field));
    guint64 stalled_us = read_stalled(directory);
    charges->stalled_ns = stalled_us != G_MAXUINT64 ? stalled_us * 1000 : G_MAXUINT64;
    return TRUE;
}

struct CgroupGauge {
    Group group; /* the group that was read last; mount is NULL before the first reading */
};

CgroupGauge *
cgroup_gauge_new(void)
{
    return g_new0(CgroupGauge, 1);
}

void
cgroup_gauge_free(CgroupGauge *gauge)
{
    if (gauge == NULL)
        return;
    group_clear(&gauge->group);
    g_free(gauge);
}

/* Whether the process is ending or has ended. Version 1 moves an ending process to the root group before it is a
 * zombie. */
static gboolean
is_ending(const char *proc, int pid)
{
    enum { EXITING = 0x4 /* PF_EXITING of the kernel */ };
    g_autofree char *path = g_strdup_printf("%s/%d/stat", proc, pid);
    g_autofree char *stat = NULL;
    guint64 flags;
    return !g_file_get_contents(path, &stat, NULL, NULL) || !process_stat_number(stat, PROCESS_STAT_FLAGS, &flags) ||
           (flags & EXITING) != 0;
}

/* An ending process is moved to another group. So is_ending() is called after the group was read: if the process is not
 * ending then, the group is valid. */
static CgroupGaugeResult
follow(CgroupGauge *gauge, const char *proc, const char *cgroups, int pid)
{
    g_auto(Group) now = {0};
    const gboolean found = group_find(&now, proc, cgroups, pid);
    if (is_ending(proc, pid))
        return CGROUP_GAUGE_ENDING;
    if (!found)
        return CGROUP_GAUGE_NO_GROUP;
    group_clear(&gauge->group);
    gauge->group = now;
    now = (Group){0};
    return CGROUP_GAUGE_READ;
}

guint64
cgroup_gauge_oom_kills(const CgroupGauge *gauge)
{
    guint64 present;
    if (gauge->group.mount == NULL)
        return G_MAXUINT64;
    g_autofree char *own = g_build_filename(gauge->group.mount, gauge->group.path, NULL);
    if (!read_number(own, gauge->group.version->current, &present))
        return G_MAXUINT64;
    return read_word(own, gauge->group.version->kills, "oom_kill ");
}

CgroupGaugeResult
cgroup_gauge_read(CgroupGauge *gauge, const char *proc, const char *cgroups, int pid, CgroupReading *reading)
{
    CgroupRoom scarcest = unlimited;
    const CgroupGaugeResult result = follow(gauge, proc, cgroups, pid);
    if (result != CGROUP_GAUGE_READ)
        return result;
    const Version *version = gauge->group.version;
    g_autofree char *own = g_build_filename(gauge->group.mount, gauge->group.path, NULL);
    g_autofree char *at = g_strdup(gauge->group.path);
    guint64 stalled_us = read_stalled(own);
    *reading = (CgroupReading){.oom_kills = read_word(own, version->kills, "oom_kill "),
                               .high_events = version->high != NULL ? read_word(own, version->kills, "high ") : 0,
                               .stalled_us = stalled_us != G_MAXUINT64 ? stalled_us : 0};
    do {
        g_autofree char *directory = g_build_filename(gauge->group.mount, at, NULL);
        take_scarcer(&scarcest, room_of(directory, version, NULL));
    } while (step_up(at));
    reading->limit = scarcest.limit;
    reading->used = scarcest.limit != G_MAXUINT64 ? scarcest.limit - scarcest.left : gauge->group.current;
    return CGROUP_GAUGE_READ;
}
