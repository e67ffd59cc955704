/* SPDX-License-Identifier: Apache-2.0 */
#include "embed/own-headroom.h"

#include "embed/ask.h"
#include "embed/process-file.h"
#include "wire/headroom.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
    LINES_MAX = 4096, /* bytes of /proc/self/cgroup to read */
    STAT_MAX = 8192,  /* bytes of memory.stat to read */
    GROUP_MAX = 512,  /* bytes of the path of a group */
    PATH_LENGTH = GROUP_MAX + 128,
    TENTH_OF_MIB = (1 << 20) / 10,
};

/* In version 1 an unset limit is the largest multiple of the page size. */
static const uint64_t no_limit_from = (uint64_t)1 << 62;

/* The files with the numbers in each version; as in src/target/cgroup.c. */
typedef struct {
    const char *mount; /* directory below that of control groups */
    const char *current;
    const char *limits[2]; /* NULL: only one */
    const char *inactive;  /* in memory.stat: page cache that is reclaimed first */
} Version;

static const Version versions[] = {
    {"", "memory.current", {"memory.max", "memory.high"}, "inactive_file "},
    {"/unified", "memory.current", {"memory.max", "memory.high"}, "inactive_file "},
    {"/memory", "memory.usage_in_bytes", {"memory.limit_in_bytes", NULL}, "total_inactive_file "},
};
enum { UNIFIED, HYBRID, LEGACY };

static const OwnRoom unlimited = {UINT64_MAX, UINT64_MAX};

/* Reads the number at the beginning of TEXT; false if there is none, as in "max". */
static bool
read_digits(const char *text, uint64_t *number)
{
    uint64_t value = 0;
    if (*text < '0' || *text > '9')
        return false;
    for (; *text >= '0' && *text <= '9'; text++) {
        if (value > (UINT64_MAX - 9) / 10)
            return false;
        value = value * 10 + (uint64_t)(*text - '0');
    }
    *number = value;
    return true;
}

/* Reads the beginning of a file as text. */
static bool
read_text(const char *path, char *text, size_t size)
{
    size_t n = 0;
    if (process_file_read(path, text, size - 1, &n, NULL) != OUTCOME_DONE)
        return false;
    text[n] = '\0';
    return true;
}

static bool
read_number(const char *directory, const char *file, uint64_t *number)
{
    char path[PATH_LENGTH + 64], text[32];
    snprintf(path, sizeof(path), "%s/%s", directory, file);
    return read_text(path, text, sizeof(text)) && read_digits(text, number);
}

static uint64_t
read_limit(const char *directory, const char *file)
{
    uint64_t limit;
    return file != NULL && read_number(directory, file, &limit) && limit < no_limit_from ? limit : UINT64_MAX;
}

/* The number after WORD at the beginning of a line of memory.stat; 0 if there is none. */
static uint64_t
read_word(const char *directory, const char *word)
{
    char path[PATH_LENGTH + 64], text[STAT_MAX];
    const size_t length = strlen(word);
    uint64_t number = 0;
    snprintf(path, sizeof(path), "%s/memory.stat", directory);
    if (!read_text(path, text, sizeof(text)))
        return 0;
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, word, length) == 0)
            return read_digits(line + length, &number) ? number : 0;
    }
    return 0;
}

static OwnRoom
room_of(const char *directory, const Version *version)
{
    uint64_t current;
    const uint64_t max = read_limit(directory, version->limits[0]), high = read_limit(directory, version->limits[1]);
    const uint64_t limit = max < high ? max : high;
    if (limit == UINT64_MAX || !read_number(directory, version->current, &current))
        return unlimited;
    const uint64_t inactive = read_word(directory, version->inactive);
    const uint64_t used = current > inactive ? current - inactive : 0;
    return (OwnRoom){limit > used ? limit - used : 0, limit};
}

/* Reads the rooms of GROUP and its ancestors. False if it does not exist. */
static bool
read_rooms(const char *groups, const Version *version, const char *group, OwnRoom *room)
{
    char directory[PATH_LENGTH];
    uint64_t current;
    const int root = snprintf(directory, sizeof(directory), "%s%s", groups, version->mount);
    if (root < 0 || (size_t)root >= sizeof(directory) - GROUP_MAX || strlen(group) >= GROUP_MAX ||
        strstr(group, "/..") != NULL)
        return false;
    memcpy(directory + root, group, strlen(group) + 1);
    if (!read_number(directory, version->current, &current))
        return false;
    for (char *end = directory + strlen(directory); end != NULL && end >= directory + root;
         end = strrchr(directory, '/')) {
        *end = '\0';
        const OwnRoom found = room_of(directory, version);
        if (found.left < room->left)
            *room = found;
    }
    return true;
}

/* Whether a list such as "cpu,memory" contains "memory". */
static bool
names_memory(const char *controllers, const char *end)
{
    static const char memory[] = "memory";
    const size_t length = sizeof(memory) - 1;
    for (const char *at = controllers; at < end; at += strcspn(at, ",:") + 1)
        if (strncmp(at, memory, length) == 0 && (at[length] == ',' || at[length] == ':'))
            return true;
    return false;
}

/* A line is "0::GROUP" for version 2 and "N:CONTROLLER,...:GROUP" for version 1. */
static bool
read_line(const char *groups, const char *line, OwnRoom *room)
{
    const char *controllers = strchr(line, ':');
    const char *end = controllers != NULL ? strchr(++controllers, ':') : NULL;
    if (end == NULL)
        return false;
    if (end == controllers)
        return read_rooms(groups, &versions[UNIFIED], end + 1, room) ||
               read_rooms(groups, &versions[HYBRID], end + 1, room);
    return names_memory(controllers, end) && read_rooms(groups, &versions[LEGACY], end + 1, room);
}

OwnRoom
own_headroom_read(const char *file, const char *groups)
{
    char text[LINES_MAX];
    OwnRoom room = unlimited;
    if (!read_text(file, text, sizeof(text)))
        return room;
    for (char *line = text, *next; line != NULL; line = next) {
        next = strchr(line, '\n');
        if (next != NULL)
            *next++ = '\0';
        if (read_line(groups, line, &room))
            break;
    }
    return room;
}

Outcome
own_headroom_judge(const OwnRoom *room, uint64_t expected, Failure *failure)
{
    if (expected <= room->left)
        return OUTCOME_DONE;
    const uint64_t tenths[] = {expected / TENTH_OF_MIB, room->left / TENTH_OF_MIB, room->limit / TENTH_OF_MIB};
    failure_set(failure, OUTCOME_NO_HEADROOM,
                "a heap dump may take %llu.%llu MiB, and the memory control group of this process, which is "
                "charged for it, has %llu.%llu MiB left of %llu.%llu MiB; raise its limit, or override this "
                "check over HTTP (force=true)",
                (unsigned long long)tenths[0] / 10, (unsigned long long)tenths[0] % 10,
                (unsigned long long)tenths[1] / 10, (unsigned long long)tenths[1] % 10,
                (unsigned long long)tenths[2] / 10, (unsigned long long)tenths[2] % 10);
    if (failure != NULL)
        failure->error = ENOMEM;
    return OUTCOME_NO_HEADROOM;
}

static bool
ask_number(const char *control, WireType type, uint64_t *number)
{
    WireCtlReply read;
    if (ask_read(NULL, control, type, &read, NULL) != OUTCOME_DONE)
        return false;
    *number = read.value;
    return true;
}

/* The expected size of a dump; unknown with prof_accum, since a dump then includes stacks without live objects. */
static uint64_t
expected_bytes(void)
{
    uint64_t allocated, lg_sample, accumulates;
    ask_write(NULL, "epoch", WIRE_TYPE_U64, 1, NULL);
    if (!ask_number("stats.allocated", WIRE_TYPE_SIZE, &allocated) ||
        !ask_number("prof.lg_sample", WIRE_TYPE_SIZE, &lg_sample) ||
        !ask_number("opt.prof_accum", WIRE_TYPE_BOOL, &accumulates) || accumulates != 0)
        return HEADROOM_UNKNOWN_BYTES;
    return headroom_estimate(allocated, lg_sample);
}

Outcome
own_headroom_check(uint64_t most, Failure *failure)
{
    const OwnRoom room = own_headroom_read("/proc/self/cgroup", "/sys/fs/cgroup");
    if (room.left == UINT64_MAX)
        return OUTCOME_DONE;
    const uint64_t expected = expected_bytes();
    return own_headroom_judge(&room, most != 0 && most < expected ? most : expected, failure);
}
