/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/process.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum {
    STAT_MAX = 1024,
    STATUS_PART_MAX = 4096,
    NAME_FIELD = 2,
    START_TIME_FIELD = 22,
};

/* The beginning of a small /proc file as text; "" if it cannot be read. */
static void
read_beginning(const char *path, char *text, size_t size)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = descriptor < 0 ? 0 : read(descriptor, text, size - 1);
    text[n > 0 ? n : 0] = '\0';
    if (descriptor >= 0)
        close(descriptor);
}

bool
process_parse_start_time(const char *stat, uint64_t *start_time)
{
    const char *at = strrchr(stat, ')');
    if (at == NULL)
        return false;
    for (int field = NAME_FIELD; field < START_TIME_FIELD; field++) {
        at = strchr(at, ' ');
        if (at == NULL)
            return false;
        at++;
    }
    uint64_t ticks = 0;
    const char *digits = at;
    for (; *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(ticks, 10, &ticks) || __builtin_add_overflow(ticks, (uint64_t)(*at - '0'), &ticks))
            return false;
    if (at == digits)
        return false;
    *start_time = ticks;
    return true;
}

void
process_identify(ProcessIdentity *identity)
{
    char stat[STAT_MAX];
    read_beginning("/proc/self/stat", stat, sizeof(stat));
    identity->start_time = 0;
    process_parse_start_time(stat, &identity->start_time);
    identity->pid = getpid();
}

char
process_state(void)
{
    char stat[STAT_MAX];
    read_beginning("/proc/self/stat", stat, sizeof(stat));
    const char *at = strrchr(stat, ')');
    return at != NULL && at[1] == ' ' ? at[2] : '\0';
}

/* The number after LINE, which begins and ends with a separator, in TEXT; OTHERWISE if there is no such line. */
static unsigned
number_after(const char *text, const char *line, unsigned otherwise)
{
    const char *at = strstr(text, line);
    unsigned number = 0;
    if (at == NULL)
        return otherwise;
    for (at += strlen(line); *at >= '0' && *at <= '9'; at++)
        number = 10 * number + (unsigned)(*at - '0');
    return number;
}

unsigned
process_filters(ProcessThread thread)
{
    const char *path = thread == PROCESS_OWN_THREAD ? "/proc/thread-self/status" : "/proc/self/status";
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    char text[STATUS_PART_MAX];
    unsigned mode = 0;
    unsigned filters = 0;
    ssize_t n;
    if (descriptor < 0)
        return 0;
    /* In parts, since the list of groups has any length. Each begins with the last line of the one before. */
    off_t at = 0;
    do {
        n = pread(descriptor, text, sizeof(text) - 1, at);
        text[n > 0 ? n : 0] = '\0';
        mode = number_after(text, "\nSeccomp:\t", mode);
        filters = number_after(text, "\nSeccomp_filters:\t", filters);
        const char *last = strrchr(text, '\n');
        at += last != NULL && last > text ? last - text : n;
    } while (n == sizeof(text) - 1);
    close(descriptor);
    return filters != 0 ? filters : mode;
}

void
process_read_name(char name[PROCESS_NAME_MAX])
{
    char comm[PROCESS_NAME_MAX + 1];
    read_beginning("/proc/self/comm", comm, sizeof(comm));
    comm[strcspn(comm, "\n")] = '\0';
    memcpy(name, comm, PROCESS_NAME_MAX - 1);
    name[PROCESS_NAME_MAX - 1] = '\0';
}
