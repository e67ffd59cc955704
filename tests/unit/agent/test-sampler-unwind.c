/* SPDX-License-Identifier: Apache-2.0 */
/* The sampler's unwinder in a program that reloads plug-ins, and where a table is wrong. x86-64. */
#include "agent/sampler-unwind.h"

#include <dlfcn.h>
#include <glib.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FRAMES = 32, PAGE = 4096, STACK = 1 << 20 };

typedef void (*Plug)(void *frame, void (*function)(void *argument), void *argument);

typedef struct {
    UnwindCache *cache;
    uintptr_t frames[FRAMES];
    size_t n;
} Capture;

/* What plug() may take for its frame: above this thread's stack, behind a page that cannot be read. */
static char *elsewhere;

static void
capture(void *data)
{
    Capture *to = data;
    UnwindRegisters registers;
    UNWIND_HERE(&registers);
    to->n = unwind_stack(to->cache, &registers, (uintptr_t)__builtin_return_address(0), to->frames, FRAMES);
}

/* The address of the function; the stack below it is in TO. */
static Plug
call_plug(const char *version, Capture *to)
{
    g_autofree char *path = g_strdup_printf("%s/libplug-%s.so", g_getenv("JESCOPE_PLUGS"), version);
    void *library = dlopen(path, RTLD_NOW);
    g_assert_nonnull(library);
    Plug plug;
    void *symbol = dlsym(library, "plug");
    memcpy(&plug, &symbol, sizeof(plug));
    for (int i = 0; i < 3; i++)
        plug(elsewhere, capture, to);
    g_assert_cmpint(dlclose(library), ==, 0);
    return plug;
}

static gboolean
was_touched(void)
{
    unsigned char resident = 0;
    g_assert_cmpint(mincore(elsewhere, PAGE, &resident), ==, 0);
    return (resident & 1) != 0;
}

static void *
reload(void *unused)
{
    Capture before = {.cache = g_new0(UnwindCache, 1)};
    Capture after = {.cache = before.cache};
    const Plug old = call_plug("old", &before);
    const Plug new = call_plug("new", &after);
    /* plug(), call_plug(), this function and the thread's first ones. */
    g_assert_cmpuint(before.n, >, 3);
    if (old != new)
        g_test_skip("the new version is at another address");
    else
        g_assert_cmpuint(after.n, ==, before.n);
    g_assert_false(was_touched());
    g_free(before.cache);
    return NULL;
}

static void *
call_wrong(void *unused)
{
    Capture to = {.cache = g_new0(UnwindCache, 1)};
    call_plug("wrong", &to);
    g_assert_cmpuint(to.n, ==, 1);
    g_assert_false(was_touched());
    g_free(to.cache);
    return NULL;
}

static void
run_below_elsewhere(void *(*function)(void *))
{
    pthread_t thread;
    pthread_attr_t attributes;
    char *block = mmap(NULL, STACK + 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    g_assert_true(block != MAP_FAILED && mprotect(block + STACK, PAGE, PROT_NONE) == 0);
    elsewhere = block + STACK + PAGE;
    pthread_attr_init(&attributes);
    g_assert_cmpint(pthread_attr_setstack(&attributes, block, STACK), ==, 0);
    g_assert_cmpint(pthread_create(&thread, &attributes, function, NULL), ==, 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    munmap(block, STACK + 2 * PAGE);
}

static void
test_reload(void)
{
    run_below_elsewhere(reload);
}

static void
test_wrong_table(void)
{
    run_below_elsewhere(call_wrong);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (unwind_is_possible()) {
        g_test_add_func("/agent/sampler-unwind/plug-in-is-reloaded", test_reload);
        g_test_add_func("/agent/sampler-unwind/wrong-table-leads-off-the-stack", test_wrong_table);
    }
    return g_test_run();
}
