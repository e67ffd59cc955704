/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library to preload in place of the agent: one thread that does nothing, or (built with ASKS) first makes one
 * mallctl() call. The memory of a victim with it is the cost of any such thread: glibc's bookkeeping, jemalloc's arena
 * and its table of controls. The agent's own cost is measured against it.
 */
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <unistd.h>

#ifdef ASKS
int mallctl(const char *name, void *old, size_t *old_size, void *new, size_t new_size);

static void
ask(void)
{
    const char *version;
    size_t size = sizeof(version);

    mallctl("version", &version, &size, NULL, 0);
}
#else
static void
ask(void)
{
}
#endif

static void *
wait_forever(void *unused)
{
    (void)unused;
    ask();
    prctl(PR_SET_NAME, "waiting"); /* tells tests that it is done */
    for (;;)
        pause();
    return NULL;
}

static __attribute__((constructor)) void
start(void)
{
    sigset_t all, earlier;
    pthread_t thread;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &earlier);
    pthread_create(&thread, NULL, wait_forever, NULL);
    pthread_sigmask(SIG_SETMASK, &earlier, NULL);
}
