/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places from which a program allocates while it is being sampled. One command per line on stdin, one answer per line
 * on stdout; the pid comes first.
 *
 *   churn N         N allocations of mixed sizes by every function of the allocator, all freed again; errno is kept
 *   tree N SIZE     N blocks of SIZE bytes, from a stack of 40 functions, kept
 *   alternate N     N times, from a signal handler on an alternate stack of 8 KiB; also after a stack overflow
 *   jump N          leaves a hook N times by siglongjmp() out of a signal handler; then other threads allocate
 *   threads N       N threads that allocate, also in the destructors of their variables
 *   crowd N         N concurrent threads, each with a block of 5000 bytes; answers with their number
 *   rest N          the same, but each frees its block before it waits, and then calls nothing
 *   disperse        ends them, without freeing the blocks
 *   renew N         N threads that allocate, one after the other, each with a stack so large that the C library frees
 *                   the stacks of all ended threads
 *   processes N     N children by fork, which allocate, and N by vfork, which execute a program
 *   resize N        N blocks that grow and shrink, in place if possible
 *   generated SIZE  blocks of SIZE bytes from code generated as by a JIT compiler: in memory without file and unwind
 *                   tables, with a frame pointer and with other values in its register. Prints where the code is
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { SMALL_STACK = 8 * 1024, THREAD_STACK = 32 * 1024, LARGE_STACK = 64 << 20, BLOCKS = 64, DEPTH = 40 };

static bool fine;
static char alternate_stack[SMALL_STACK] __attribute__((aligned(16)));

static void
expect(bool true_enough, const char *what)
{
    if (!true_enough) {
        fprintf(stderr, "%s\n", what);
        fine = false;
    }
}

/* Prevents the compiler from removing an unused block. */
static void
use(void *block)
{
    __asm__ volatile("" : : "r"(block) : "memory");
}

static void
churn_once(unsigned i)
{
    void *aligned = NULL;
    errno = 1234;
    void *blocks[] = {malloc(16 + i % 3000), calloc(3, 1 + i % 5000), aligned_alloc(64, 64 * (1 + i % 9)),
                      memalign(4096, i % 9000), realloc(NULL, 10 + i % 100)};
    expect(errno == 1234, "errno has changed");
    expect(posix_memalign(&aligned, 256, 100 + i % 20000) == 0, "posix_memalign failed");
    blocks[0] = realloc(blocks[0], 20000 + i % 90000);
    for (size_t j = 0; j < sizeof(blocks) / sizeof(blocks[0]); j++) {
        memset(blocks[j], 0x5a, 8);
        free(blocks[j]);
    }
    free(aligned);
}

static void
churn(unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        churn_once(i * 2654435761u >> 8);
}

__attribute__((noinline)) static void *
descend(unsigned depth, size_t size)
{
    void *block = depth == 0 ? malloc(size) : descend(depth - 1, size);
    __asm__ volatile("" : "+r"(block)); /* no tail call */
    return block;
}

/* ---- signals ---- */

static volatile unsigned handled;

static void
allocate_in_handler(int number)
{
    churn(20);
    handled++;
}

static sigjmp_buf overflowed;

static void
leave_overflow(int number)
{
    churn(20);
    siglongjmp(overflowed, 1);
}

__attribute__((noinline)) static unsigned
overflow(unsigned depth)
{
    volatile char frame[512];
    frame[0] = (char)depth;
    if (depth == UINT32_MAX)
        return 0;
    return overflow(depth + 1) + (unsigned)frame[0];
}

static void
catch_on_alternate_stack(int number, void (*handler)(int))
{
    const stack_t stack = {.ss_sp = alternate_stack, .ss_size = sizeof(alternate_stack)};
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    sigaltstack(&stack, NULL);
    sigaction(number, &action, NULL);
}

static void
alternate(unsigned n)
{
    catch_on_alternate_stack(SIGUSR1, allocate_in_handler);
    handled = 0;
    for (unsigned i = 0; i < n; i++)
        raise(SIGUSR1);
    expect(handled == n, "a handler did not run");
    catch_on_alternate_stack(SIGSEGV, leave_overflow);
    if (sigsetjmp(overflowed, 1) == 0)
        use((void *)(uintptr_t)overflow(0));
    signal(SIGSEGV, SIG_DFL);
}

static sigjmp_buf out_of_hook;
static uintptr_t agent_begin, agent_end;
static volatile sig_atomic_t jumped;

/* Jumps only out of the agent's code: elsewhere, jemalloc itself would break. */
static void
jump_out_of_agent(int number, siginfo_t *info, void *context)
{
    const ucontext_t *interrupted = context;
#if defined(__x86_64__)
    const uintptr_t pc = (uintptr_t)interrupted->uc_mcontext.gregs[REG_RIP];
#else
    const uintptr_t pc = (uintptr_t)interrupted->uc_mcontext.pc;
#endif
    if (pc >= agent_begin && pc < agent_end) {
        jumped = jumped + 1;
        siglongjmp(out_of_hook, 1);
    }
}

static void
find_agent(void)
{
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof(line), maps) != NULL) {
        unsigned long begin;
        unsigned long end;
        char mode[8];
        if (strstr(line, "jescope-agent") != NULL && sscanf(line, "%lx-%lx %7s", &begin, &end, mode) == 3 &&
            mode[2] == 'x') {
            agent_begin = begin;
            agent_end = end;
        }
    }
    fclose(maps);
}

static void *
churn_in_thread(void *n)
{
    churn((unsigned)(uintptr_t)n);
    return NULL;
}

static void
in_threads(unsigned count, size_t stack, void *(*body)(void *), void *argument)
{
    pthread_t *threads = calloc(count, sizeof(*threads));
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, stack);
    for (unsigned i = 0; i < count; i++)
        expect(pthread_create(&threads[i], &attributes, body, argument) == 0, "no thread");
    for (unsigned i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    pthread_attr_destroy(&attributes);
    free(threads);
}

static void
set_timer(unsigned microseconds)
{
    const struct itimerval timer = {.it_interval = {.tv_usec = microseconds}, .it_value = {.tv_usec = microseconds}};
    setitimer(ITIMER_PROF, microseconds != 0 ? &timer : &(struct itimerval){0}, NULL);
}

/* Each jump is in a new thread, since jemalloc no longer calls hooks in a thread that has left one in this way. */
static void *
jump_once(void *unused)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPROF);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    if (sigsetjmp(out_of_hook, 1) == 0)
        for (;;)
            free(descend(DEPTH, 4096));
    return NULL;
}

static void
jump(unsigned n)
{
    struct sigaction action = {.sa_sigaction = jump_out_of_agent, .sa_flags = SA_SIGINFO};
    sigset_t set;
    find_agent();
    sigemptyset(&set);
    sigaddset(&set, SIGPROF);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    sigaction(SIGPROF, &action, NULL);
    jumped = 0;
    for (unsigned i = 0; i < n; i++) {
        set_timer(300);
        in_threads(1, THREAD_STACK, jump_once, NULL);
        set_timer(0);
    }
    expect((unsigned)jumped >= n, "no hook was left");
    in_threads(4, THREAD_STACK, churn_in_thread, (void *)(uintptr_t)2000);
}

/* ---- threads and processes ---- */

static pthread_key_t key;

static void
allocate_at_end(void *block)
{
    free(block);
    churn(50);
}

static void *
allocate_and_end(void *unused)
{
    churn(50);
    pthread_setspecific(key, malloc(1000));
    return NULL;
}

static sem_t arrived, dismissed;
static pthread_t *crowd_threads;
static unsigned crowd_size;

static void *
stay(void *unused)
{
    void *block = descend(1, 5000);
    churn(5);
    sem_post(&arrived);
    while (sem_wait(&dismissed) != 0)
        continue;
    free(block);
    return NULL;
}

/* A thread that does not call the allocator from the start of its wait on. */
static void *
rest(void *unused)
{
    churn(5);
    sem_post(&arrived);
    while (sem_wait(&dismissed) != 0)
        continue;
    return NULL;
}

static void
crowd(unsigned n, void *(*body)(void *))
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, THREAD_STACK);
    sem_init(&arrived, 0, 0);
    sem_init(&dismissed, 0, 0);
    crowd_threads = calloc(n, sizeof(*crowd_threads));
    for (crowd_size = 0; crowd_size < n; crowd_size++)
        if (pthread_create(&crowd_threads[crowd_size], &attributes, body, NULL) != 0)
            break;
    for (unsigned i = 0; i < crowd_size; i++)
        while (sem_wait(&arrived) != 0)
            continue;
    pthread_attr_destroy(&attributes);
}

static void
disperse(void)
{
    for (unsigned i = 0; i < crowd_size; i++)
        sem_post(&dismissed);
    for (unsigned i = 0; i < crowd_size; i++)
        pthread_join(crowd_threads[i], NULL);
    free(crowd_threads);
    crowd_size = 0;
}

static void
fork_one(void)
{
    int status = 1;
    const pid_t child = fork();
    if (child == 0) {
        churn(200);
        _exit(fine ? 0 : 1);
    }
    waitpid(child, &status, 0);
    expect(status == 0, "a child has failed");
}

static void
vfork_one(void)
{
    int status = 1;
    const pid_t child = vfork();
    if (child == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    waitpid(child, &status, 0);
    expect(status == 0, "a child of vfork has failed");
}

static void
processes(unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        fork_one();
        vfork_one();
    }
}

/* ---- generated code ---- */

typedef void *(*Generated)(size_t size);

static uintptr_t generated_at;

#if defined(__x86_64__)
enum { CODE_PAGE = 4096 };

/* push rbp; mov rbp, rsp (or BASE); mov rax, malloc; call rax; pop rbp; ret. Ends at the end of the page. */
static Generated
generate(uint8_t *page, const uintptr_t *base)
{
    static const uint8_t chained[] = {0x55, 0x48, 0x89, 0xe5, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90};
    static const uint8_t from_now_on[] = {0xff, 0xd0, 0x5d, 0xc3};
    const uint8_t loads_base[] = {0x55, 0x48, 0xbd};
    const uint8_t loads_function[] = {0x48, 0xb8};
    const uintptr_t function = (uintptr_t)malloc;
    uint8_t *code =
        page + CODE_PAGE - (sizeof(chained) + sizeof(loads_function) + sizeof(function) + sizeof(from_now_on));
    uint8_t *at = code;
    memcpy(at, chained, sizeof(chained));
    if (base != NULL) {
        memcpy(at, loads_base, sizeof(loads_base));
        memcpy(at + sizeof(loads_base), base, sizeof(*base));
    }
    at += sizeof(chained);
    at = (uint8_t *)memcpy(at, loads_function, sizeof(loads_function)) + sizeof(loads_function);
    at = (uint8_t *)memcpy(at, &function, sizeof(function)) + sizeof(function);
    memcpy(at, from_now_on, sizeof(from_now_on));
    return (Generated)(uintptr_t)code;
}

__attribute__((noinline)) static void
call_generated(Generated code, size_t size)
{
    use(code(size));
    __asm__ volatile("" ::: "memory"); /* no tail call */
}

/* A page that is executable, and readable depending on PROTECTION, between two inaccessible ones. */
static void
allocate_in_generated(const uintptr_t *base, int protection, size_t size)
{
    uint8_t *pages = mmap((void *)generated_at, 3 * CODE_PAGE, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | (generated_at != 0 ? MAP_FIXED : 0), -1, 0);
    generated_at = (uintptr_t)pages;
    mprotect(pages + CODE_PAGE, CODE_PAGE, PROT_READ | PROT_WRITE);
    const Generated code = generate(pages + CODE_PAGE, base);
    expect(mprotect(pages + CODE_PAGE, CODE_PAGE, protection) == 0, "generated code cannot be executed");
    call_generated(code, size);
}

static void
generated(size_t size)
{
    uintptr_t itself[2] = {(uintptr_t)itself, 0};
    const uintptr_t bases[] = {0,
                               1,
                               8,
                               (uintptr_t)itself,
                               (uintptr_t)itself + 1,
                               UINT64_C(0xdeadbeefdeadbeef),
                               UINTPTR_MAX,
                               UINTPTR_MAX - 15,
                               (uintptr_t)use};
    for (unsigned round = 0; round < 2; round++) {
        const int protection = round == 0 ? PROT_READ | PROT_EXEC : PROT_EXEC;
        allocate_in_generated(NULL, protection, size);
        for (size_t i = 0; i < sizeof(bases) / sizeof(bases[0]); i++)
            allocate_in_generated(&bases[i], protection, size);
        allocate_in_generated(&generated_at, protection, size);
    }
}
#else
static void
generated(size_t size)
{
}
#endif

static void
resize(unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        char *block = malloc(16384);
        block[0] = 'x';
        block = realloc(block, 20000 + i % 50000);
        block = realloc(block, 40000 + i % 400000);
        block = realloc(block, 17000);
        expect(block[0] == 'x', "a block has lost its content");
        free(block);
    }
}

static void
run(char *line)
{
    unsigned n = 0;
    unsigned size = 0;
    char name[32] = "";
    sscanf(line, "%31s %u %u", name, &n, &size);
    if (strcmp(name, "churn") == 0)
        churn(n);
    else if (strcmp(name, "tree") == 0)
        for (unsigned i = 0; i < n; i++)
            use(descend(DEPTH, size));
    else if (strcmp(name, "alternate") == 0)
        alternate(n);
    else if (strcmp(name, "jump") == 0)
        jump(n);
    else if (strcmp(name, "threads") == 0)
        in_threads(n, THREAD_STACK, allocate_and_end, NULL);
    else if (strcmp(name, "crowd") == 0)
        crowd(n, stay);
    else if (strcmp(name, "rest") == 0)
        crowd(n, rest);
    else if (strcmp(name, "disperse") == 0)
        disperse();
    else if (strcmp(name, "renew") == 0)
        for (unsigned i = 0; i < n; i++)
            in_threads(1, LARGE_STACK, allocate_and_end, NULL);
    else if (strcmp(name, "processes") == 0)
        processes(n);
    else if (strcmp(name, "generated") == 0)
        generated(n);
    else if (strcmp(name, "resize") == 0)
        resize(n);
    else
        fine = false;
}

int
main(void)
{
    char line[128];
    pthread_key_create(&key, allocate_at_end);
    printf("ok %d errno 0\n", (int)getpid());
    fflush(stdout);
    while (fgets(line, sizeof(line), stdin) != NULL) {
        fine = true;
        run(line);
        if (fine && (strncmp(line, "crowd", 5) == 0 || strncmp(line, "rest", 4) == 0))
            printf("ok %u\n", crowd_size);
        else if (fine && strncmp(line, "generated", 9) == 0)
            printf("ok %lu\n", (unsigned long)generated_at);
        else
            puts(fine ? "ok done" : "failed");
        fflush(stdout);
    }
    return 0;
}
