/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach-again PID status|enable|dump COUNT: runs these commands COUNT times over ptrace, and prints the begin and end
 * of each (CLOCK_MONOTONIC, nanoseconds).
 */
#include "cli/state.h"
#include "target/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static gboolean
do_status(Target *target, GError **error)
{
    RouteStatus status;
    return state_read(target, &status, error);
}

static gboolean
do_enable(Target *target, GError **error)
{
    return target_write(target, "prof.active", WIRE_TYPE_BOOL, 1, error);
}

static gboolean
do_dump(Target *target, GError **error)
{
    int fd = target_dump(target, error);
    if (fd < 0)
        return FALSE;
    close(fd);
    return TRUE;
}

static const struct {
    const char *name;
    gboolean (*run)(Target *target, GError **error);
} operations[] = {{"status", do_status}, {"enable", do_enable}, {"dump", do_dump}};

static guint64
now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (guint64)time.tv_sec * 1000000000 + (guint64)time.tv_nsec;
}

static gboolean
run_once(const char *pid, gboolean (*operation)(Target *target, GError **error), GError **error)
{
    g_autoptr(Target) target = target_open_via(pid, TARGET_VIA_ATTACH, error);
    return target != NULL && operation(target, error);
}

int
main(int argc, char **argv)
{
    for (gsize i = 0; argc == 4 && i < G_N_ELEMENTS(operations); i++) {
        for (int left = strcmp(argv[2], operations[i].name) == 0 ? atoi(argv[3]) : 0; left > 0; left--) {
            g_autoptr(GError) error = NULL;
            guint64 begin = now();
            if (!run_once(argv[1], operations[i].run, &error)) {
                fprintf(stderr, "%s\n", error->message);
                return 1;
            }
            printf("%" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT "\n", begin, now());
        }
    }
    return argc == 4 ? 0 : 2;
}
