/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/perf-map.h"

#include "confine/rights.h"
#include "symbolize/patience.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The number of preceding entries that are checked for one that extends over those after it. */
#define MAX_STEPS 64

typedef struct {
    guint64 start, limit; /* [start, limit) */
    guint32 order;        /* of its line */
    guint32 name;         /* offset into text */
} Entry;

struct PerfMap {
    char *text;
    GArray *entries; /* Entry, by start, then order */
};

static gint
compare_entries(gconstpointer a, gconstpointer b)
{
    const Entry *left = a;
    const Entry *right = b;

    if (left->start != right->start)
        return left->start < right->start ? -1 : 1;
    return left->order < right->order ? -1 : left->order > right->order;
}

static gboolean
read_hex(const char **at, guint64 *number)
{
    char *end;

    if (!g_ascii_isxdigit(**at))
        return FALSE;
    errno = 0;
    *number = g_ascii_strtoull(*at, &end, 16);
    if (errno != 0 || *end != ' ')
        return FALSE;
    *at = end + 1;
    return TRUE;
}

static gboolean
read_entry(const char *line, const char *text, Entry *entry)
{
    const char *at = line;
    guint64 size;

    if (!read_hex(&at, &entry->start) || !read_hex(&at, &size) || *at == '\0' || size == 0 ||
        entry->start > G_MAXUINT64 - size)
        return FALSE;
    entry->limit = entry->start + size;
    entry->name = (guint32)(at - text);
    return TRUE;
}

PerfMap *
perf_map_parse(char *text, gsize size)
{
    PerfMap *map = g_new0(PerfMap, 1);
    guint32 order = 0;

    map->text = text;
    map->entries = g_array_new(FALSE, FALSE, sizeof(Entry));
    for (char *line = text, *limit = text + size; line < limit && patience_spend(64);) {
        char *end = memchr(line, '\n', (gsize)(limit - line));
        Entry entry = {.order = order++};
        end = end ? end : limit;
        *end = '\0';
        if (read_entry(line, text, &entry)) {
            if (end - (text + entry.name) > PERF_MAP_MAX_NAME)
                text[entry.name + PERF_MAP_MAX_NAME] = '\0';
            if (!patience_keep(2 * sizeof(entry))) /* the array grows by as much as it has */
                break;
            g_array_append_val(map->entries, entry);
        }
        line = end + 1;
    }
    patience_sort(map->entries, compare_entries);
    return map;
}

void
perf_map_free(PerfMap *map)
{
    g_array_unref(map->entries);
    g_free(map->text);
    g_free(map);
}

/* The number of entries that begin at address or before. */
static guint
count_before(const PerfMap *map, guint64 address)
{
    guint low = 0;

    for (guint high = map->entries->len; low < high;) {
        guint middle = low + (high - low) / 2;
        if (g_array_index(map->entries, Entry, middle).start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const char *
perf_map_find(const PerfMap *map, guint64 address)
{
    const Entry *found = NULL;
    guint begin = count_before(map, address);

    for (guint i = begin; i > 0 && begin - i < MAX_STEPS; i--) {
        const Entry *entry = &g_array_index(map->entries, Entry, i - 1);
        if (address < entry->limit && (!found || entry->order > found->order))
            found = entry;
    }
    return found ? map->text + found->name : NULL;
}

/* The id that the process has in its own namespace: the last of NSpid in /proc/PID/status. */
static int
inner_pid(pid_t pid)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/status", (int)pid);
    g_autofree char *status = NULL;
    const char *line;
    const char *last;

    if (!g_file_get_contents(path, &status, NULL, NULL) || !(line = strstr(status, "\nNSpid:")))
        return (int)pid;
    line += strlen("\nNSpid:");
    last = g_strrstr_len(line, (gssize)strcspn(line, "\n"), "\t");
    return last ? (int)g_ascii_strtoll(last + 1, NULL, 10) : (int)pid;
}

/* Other users' files in /tmp are not trusted. */
static gboolean
is_trusted(pid_t pid, const struct stat *file)
{
    g_autofree char *directory = g_strdup_printf("/proc/%d", (int)pid);
    struct stat process;

    return file->st_size <= PERF_MAP_MAX_SIZE && stat(directory, &process) == 0 &&
           (file->st_uid == 0 || file->st_uid == process.st_uid);
}

/* The present content; the process is still writing, so the last line may be incomplete. */
static char *
read_whole(int fd, gsize size, gsize *n)
{
    char *text = g_malloc(size + 1);
    gsize done = 0;

    while (done < size) {
        gssize got = pread(fd, text + done, size - done, (off_t)done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        done += (gsize)got;
    }
    text[done] = '\0';
    *n = done;
    return text;
}

PerfMap *
perf_map_open(TargetFiles *files, pid_t pid)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/root/tmp/perf-%d.map", (int)pid, inner_pid(pid));
    g_auto(TargetFile) file = {.fd = -1};
    PerfMap *map;
    gsize size;
    char *text;

    if (!target_files_open(files, path, &file, NULL) || !is_trusted(pid, &file.status))
        return NULL;
    patience_begin(rights_are_trusted(file.status.st_uid) ? NULL : files);
    text = read_whole(file.fd, (gsize)file.status.st_size, &size);
    map = perf_map_parse(text, size);
    patience_end();
    return map;
}
