/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits for the end of stdin in a place of a certain kind, doing nothing else:
 *   places stale         in a frame with 12 KiB that it never wrote, over stale data of dlopen()
 *   places handlers      in a signal handler within signal handlers, the outermost of which interrupted a wait
 *   places jemalloc      in a function that jemalloc calls while it holds locks
 *   places loader FILE   in the constructor of library FILE, while it is loaded
 *   places fork          in a handler of fork()
 *   places coroutine     on a separate stack
 *   places beside        the same, beside a thread on a stack of its own
 *   places copy          with a second C library, in a namespace of dlmopen()
 *   places nested        on a separate stack that is a local array of the main thread
 * prints "ready" there.
 */
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { UNWRITTEN = 12 * 1024, STACK = 1 << 20 };

static void
wait_here(void)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    puts("ready");
    fflush(stdout);
    while (poll(&in, 1, -1) < 0)
        ;
}

__attribute__((noinline)) static void
leave_words(void)
{
    static const char *const libraries[] = {"libm.so.6", "libresolv.so.2", "libutil.so.1", "libnsl.so.1"};
    for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++) {
        void *handle = dlopen(libraries[i], RTLD_NOW);
        if (handle != NULL)
            dlclose(handle);
    }
}

__attribute__((noinline)) static void
wait_over_words(void)
{
    volatile char unwritten[UNWRITTEN];
    unwritten[0] = 1;
    wait_here();
    unwritten[UNWRITTEN - 1] = unwritten[0];
}

static void
be_stale(const char *unused)
{
    leave_words();
    wait_over_words();
}

static const int signals[] = {SIGUSR1, SIGUSR2, SIGALRM};

static void
handle(int number)
{
    if (number == SIGUSR1)
        raise(SIGUSR2);
    else if (number == SIGUSR2)
        raise(SIGALRM);
    else
        wait_here();
}

static void *
send_first(void *thread)
{
    pthread_kill(*(pthread_t *)thread, SIGUSR1);
    return NULL;
}

static void
be_in_handlers(const char *unused)
{
    const struct sigaction action = {.sa_handler = handle};
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    pthread_t self = pthread_self();
    pthread_t sender;
    for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
        sigaction(signals[i], &action, NULL);
    pthread_create(&sender, NULL, send_first, &self);
    pthread_detach(sender);
    poll(&in, 1, -1);
}

static void
wait_once(void *unused, const char *text)
{
    static int done;
    if (done++ == 0)
        wait_here();
}

static void
be_in_jemalloc(const char *unused)
{
    void (*print)(void (*)(void *, const char *), void *, const char *) = NULL;
    *(void **)&print = dlsym(RTLD_DEFAULT, "malloc_stats_print");
    print(wait_once, NULL, NULL);
}

static void
be_in_loader(const char *library)
{
    dlopen(library, RTLD_NOW);
}

static void
be_in_fork(const char *unused)
{
    pthread_atfork(wait_here, NULL, NULL);
    if (fork() == 0)
        _exit(0);
}

static void
wait_on(void *stack)
{
    static ucontext_t here;
    static ucontext_t there;
    getcontext(&there);
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = STACK;
    there.uc_link = &here;
    makecontext(&there, wait_here, 0);
    swapcontext(&here, &there);
}

static void
be_on_coroutine(const char *unused)
{
    wait_on(mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

static void *
wait_for_ever(void *unused)
{
    while (poll(NULL, 0, -1) < 0)
        ;
    return unused;
}

static void
be_beside_a_coroutine(const char *unused)
{
    pthread_t other;
    pthread_create(&other, NULL, wait_for_ever, NULL);
    pthread_detach(other);
    be_on_coroutine(NULL);
}

static void
be_on_nested(const char *unused)
{
    char stack[STACK];
    wait_on(stack);
}

static void
be_beside_a_copy(const char *unused)
{
    if (dlmopen(LM_ID_NEWLM, "libm.so.6", RTLD_NOW) != NULL)
        wait_here();
}

static const struct {
    const char *name;
    void (*go)(const char *argument);
} places[] = {
    {"stale", be_stale},      {"handlers", be_in_handlers}, {"jemalloc", be_in_jemalloc},
    {"loader", be_in_loader}, {"fork", be_in_fork},         {"coroutine", be_on_coroutine},
    {"nested", be_on_nested}, {"copy", be_beside_a_copy},   {"beside", be_beside_a_coroutine},
};

int
main(int argc, char **argv)
{
    free(malloc(10));
    for (size_t i = 0; argc > 1 && i < sizeof(places) / sizeof(*places); i++)
        if (strcmp(places[i].name, argv[1]) == 0)
            places[i].go(argv[2]);
    puts("over");
    return 0;
}
