/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forks while an agent in this process lists the loaded objects, which takes long here, as on a machine whose
 * processors are busy with others. Each child lists them, too. Prints "ready"; at the end of stdin how many children
 * there were, and how many have not ended by themselves.
 */
#include <dlfcn.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OBJECT_MS = 50, CHILD_S = 10 };

typedef int (*Callback)(struct dl_phdr_info *info, size_t size, void *data);
typedef int (*Iterate)(Callback callback, void *data);

typedef struct {
    Callback callback;
    void *data;
    bool has_begun;
} Visitor;

static atomic_uint wanted; /* forks, one for each listing */
static atomic_bool over;
static unsigned blocked;

static int
visit_slowly(struct dl_phdr_info *info, size_t size, void *data)
{
    Visitor *visitor = data;
    if (!visitor->has_begun)
        atomic_fetch_add(&wanted, 1);
    visitor->has_begun = true;
    poll(NULL, 0, OBJECT_MS);
    return visitor->callback(info, size, visitor->data);
}

static int
stop(struct dl_phdr_info *info, size_t size, void *data)
{
    return 1;
}

/* In place of the C library's: the lock is the loader's. */
__attribute__((visibility("default"))) int
dl_iterate_phdr(Callback callback, void *data)
{
    static _Atomic(Iterate) next;
    Visitor visitor = {.callback = callback, .data = data};
    if (atomic_load(&next) == NULL)
        atomic_store(&next, (Iterate)dlsym(RTLD_NEXT, "dl_iterate_phdr"));
    const Iterate iterate = atomic_load(&next);
    return callback == stop ? iterate(stop, NULL) : iterate(visit_slowly, &visitor);
}

static void
fork_once(void)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        alarm(CHILD_S);
        dl_iterate_phdr(stop, NULL);
        _exit(0);
    }
    if (waitpid(pid, &status, 0) != pid || status != 0)
        blocked++;
}

/* Without system calls, so that jescope does not choose this thread. */
static void *
fork_when_listed(void *unused)
{
    for (unsigned done = 0; !atomic_load(&over);)
        if (done != atomic_load(&wanted)) {
            fork_once();
            done++;
        }
    return unused;
}

int
main(void)
{
    char byte;
    pthread_t thread;
    free(malloc(100));
    dl_iterate_phdr(stop, NULL);
    if (pthread_create(&thread, NULL, fork_when_listed, NULL) != 0)
        return 1;
    puts("ready");
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) == 1)
        continue;
    atomic_store(&over, true);
    pthread_join(thread, NULL);
    printf("%u children, %u blocked\n", atomic_load(&wanted), blocked);
    return 0;
}
