/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded: the clock of the wall is ahead of the machine's by the nanoseconds (64 bits, signed) in the file that
 * CLOCK_AHEAD names, at each moment. What a process sees whose machine's clock is set.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000

static const volatile int64_t *ahead;
static int (*real)(clockid_t, struct timespec *);

__attribute__((constructor)) static void
begin(void)
{
    const char *path = getenv("CLOCK_AHEAD");
    int file = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *mapped = file >= 0 ? mmap(NULL, sizeof(*ahead), PROT_READ, MAP_SHARED, file, 0) : MAP_FAILED;
    if (file >= 0)
        close(file);
    if (mapped != MAP_FAILED)
        ahead = mapped;
}

int
clock_gettime(clockid_t clock, struct timespec *now)
{
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
    const int result = real(clock, now);
    if (result == 0 && ahead != NULL && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        const int64_t at = (int64_t)now->tv_sec * SECOND + now->tv_nsec + *ahead;
        now->tv_sec = at / SECOND;
        now->tv_nsec = at % SECOND;
    }
    return result;
}

int
gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec exact;
    if (clock_gettime(CLOCK_REALTIME, &exact) != 0)
        return -1;
    *now = (struct timeval){exact.tv_sec, exact.tv_nsec / 1000};
    return 0;
}

time_t
time(time_t *now)
{
    struct timespec exact = {0};
    clock_gettime(CLOCK_REALTIME, &exact);
    if (now != NULL)
        *now = exact.tv_sec;
    return exact.tv_sec;
}
