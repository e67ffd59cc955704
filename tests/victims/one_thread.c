/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded in the agent's place: one thread that does nothing. What a victim's heap holds with it is what any thread
 * costs there, glibc's own bookkeeping for it, and so the measure of what the agent may cost.
 */
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static void *
wait_forever(void *unused)
{
    (void)unused;
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
