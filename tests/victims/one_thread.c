/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded in the agent's place: one thread that does nothing, or (built with ASKS) asks jemalloc one question first.
 * What a victim holds with it is what any such thread costs there: glibc's bookkeeping for a thread, jemalloc's arena
 * for it and its table of controls. That is the measure of what the agent itself costs.
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
    prctl(PR_SET_NAME, "waiting"); /* for tests to see that all has been done */
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
