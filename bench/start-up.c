/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start-up ROUNDS LIBRARY PROGRAM: runs PROGRAM alternately without and with LIBRARY preloaded, and prints the median
 * time of each from start to end, and the median difference of a pair, in microseconds.
 *
 * start-up ROUNDS --linked OTHER PROGRAM: runs OTHER, which is linked with the library, instead of preloading.
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static double
now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static double
run(char **command)
{
    double start = now_us();
    pid_t pid;
    int status;

    if (posix_spawn(&pid, command[0], NULL, NULL, command, environ) != 0 || waitpid(pid, &status, 0) != pid ||
        status != 0) {
        fprintf(stderr, "start-up: %s failed\n", command[0]);
        exit(1);
    }
    return now_us() - start;
}

static int
compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double
median(double *values, size_t n)
{
    qsort(values, n, sizeof(*values), compare);
    return values[n / 2];
}

static int
usage(void)
{
    fputs("usage: start-up ROUNDS LIBRARY PROGRAM\n       start-up ROUNDS --linked OTHER PROGRAM\n", stderr);
    return 2;
}

int
main(int argc, char **argv)
{
    size_t rounds = argc > 3 ? strtoul(argv[1], NULL, 10) : 0;
    double *without = calloc(rounds + 1, sizeof(*without)), *with = calloc(rounds + 1, sizeof(*with));
    double *difference = calloc(rounds + 1, sizeof(*difference));
    int linked = argc > 4 && strcmp(argv[2], "--linked") == 0;
    char *program[] = {argv[argc - 1], NULL}, *other[] = {linked ? argv[3] : argv[argc - 1], NULL};

    if (rounds == 0 || argc != 4 + linked || !without || !with || !difference)
        return usage();
    for (size_t i = 0; i < rounds; i++) {
        unsetenv("LD_PRELOAD");
        without[i] = run(program);
        if (!linked)
            setenv("LD_PRELOAD", argv[2], 1);
        with[i] = run(other);
        difference[i] = with[i] - without[i];
    }
    printf("%.1f %.1f %.1f\n", median(without, rounds), median(with, rounds), median(difference, rounds));
    return 0;
}
