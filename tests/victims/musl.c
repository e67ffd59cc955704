/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiled with musl-gcc: a program with the C library musl, whose mallctl() and malloc_stats_print() simulate a
 * jemalloc built for it. Prints "ready", and "over" at the end of stdin.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool active;

static int
dump(const char *path)
{
    static const char text[] = "heap_v2/4096\n  t*: 1: 8 [0: 0]\n  t0: 1: 8 [0: 0]\n@ 0x1000\n  t*: 1: 8 [0: 0]\n"
                               "  t0: 1: 8 [0: 0]\n\nMAPPED_LIBRARIES:\n";
    int fd = creat(path, 0644);
    if (fd < 0)
        return EFAULT;
    bool written = write(fd, text, sizeof(text) - 1) == sizeof(text) - 1;
    close(fd);
    return written ? 0 : EFAULT;
}

static int
give(void *old, size_t *old_size, const void *value, size_t size)
{
    if (old == NULL || *old_size != size)
        return EINVAL;
    memcpy(old, value, size);
    return 0;
}

int
mallctl(const char *name, void *old, size_t *old_size, void *new, size_t new_size)
{
    static const char *const version = "5.3.0-0-g54eaed1d8b56b1aa528be3bdd1877e59c56fa90c";
    static const bool yes = true;
    static const size_t zero;
    errno = ENOTTY; /* which must stay invisible */
    if (strcmp(name, "version") == 0)
        return give(old, old_size, &version, sizeof(version));
    if (strcmp(name, "config.prof") == 0 || strcmp(name, "opt.prof") == 0 || strcmp(name, "config.stats") == 0)
        return give(old, old_size, &yes, sizeof(yes));
    if (strcmp(name, "prof.dump") == 0)
        return dump(*(const char **)new);
    if (strncmp(name, "stats.", 6) == 0)
        return give(old, old_size, &zero, sizeof(zero));
    if (strcmp(name, "prof.active") != 0)
        return ENOENT;
    int failure = old != NULL ? give(old, old_size, &active, sizeof(active)) : 0;
    if (new != NULL)
        active = *(bool *)new;
    return failure;
}

void
malloc_stats_print(void (*print)(void *, const char *), void *closure, const char *letters)
{
    static const char text[] = "___ Begin jemalloc statistics ___\n--- End jemalloc statistics ---\n";
    if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
        return;
}

static void
ignore(int number)
{
}

int
main(void)
{
    char byte;
    signal(SIGUSR1, ignore);
    puts("ready");
    fflush(stdout);
    errno = 0;
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    printf("over %d\n", errno);
    return 0;
}
