/* SPDX-License-Identifier: Apache-2.0 */
#include "confine/file-waits.h"

#include <fcntl.h>
#include <glib.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 1024, LATE_S = 2, DEADLINE_S = 120 };

static int ends[2]; /* of a pipe into which nothing is written */

static gpointer
answer_late(gpointer data)
{
    const int faults = GPOINTER_TO_INT(data);
    struct uffd_msg message;
    for (;;) {
        struct pollfd ready = {.fd = faults, .events = POLLIN};
        poll(&ready, 1, -1);
        if (read(faults, &message, sizeof(message)) != sizeof(message))
            continue;
        g_usleep(LATE_S * G_USEC_PER_SEC);
        struct uffdio_zeropage zero = {.range = {message.arg.pagefault.address & ~(guint64)(PAGE - 1), PAGE}};
        ioctl(faults, UFFDIO_ZEROPAGE, &zero);
    }
    return NULL;
}

/* Each page comes late, as those of a mapped file may. */
static void
read_late_pages(void)
{
    struct uffdio_api api = {.api = UFFD_API};
    const int faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
    volatile char *pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct uffdio_register range = {.range = {(guintptr)pages, PAGES * PAGE}, .mode = UFFDIO_REGISTER_MODE_MISSING};
    if (faults < 0 || ioctl(faults, UFFDIO_API, &api) != 0 || ioctl(faults, UFFDIO_REGISTER, &range) != 0)
        return;
    g_thread_unref(g_thread_new("late", answer_late, GINT_TO_POINTER(faults)));
    for (guint i = 0; i < PAGES; i++)
        (void)pages[i * PAGE];
}

static void
read_late_pages_stopped(void)
{
    raise(SIGSTOP);
    read_late_pages();
}

static void
compute(void)
{
    for (;;)
        g_get_monotonic_time();
}

static void
read_pipe(void)
{
    char byte;
    (void)!read(ends[0], &byte, 1);
}

typedef struct {
    pid_t pid;
    FileWaits *waits;
} Child;

static Child
begin(void (*work)(void))
{
    const pid_t self = getpid();
    const pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == self)
            work();
        _exit(0);
    }
    return (Child){pid, file_waits_new(pid, ends, G_N_ELEMENTS(ends))};
}

static void
end(Child *child)
{
    kill(child->pid, SIGKILL);
    waitpid(child->pid, NULL, 0);
    file_waits_free(child->waits);
}

/* Each answer comes in time, but not all together; whoever computes, is stopped or reads a pipe may do so. */
static void
test_late_answers(void)
{
    g_assert_no_errno(pipe(ends));
    Child late = begin(read_late_pages);
    Child others[] = {begin(compute), begin(read_pipe), begin(read_late_pages_stopped)};
    const gint64 until = g_get_monotonic_time() + DEADLINE_S * G_USEC_PER_SEC;
    gboolean may_go_on = TRUE;
    while (may_go_on && g_get_monotonic_time() < until && waitpid(late.pid, NULL, WNOHANG) == 0) {
        poll(NULL, 0, file_waits_due_ms(late.waits));
        may_go_on = file_waits_look(late.waits);
        for (gsize i = 0; i < G_N_ELEMENTS(others); i++)
            g_assert_true(file_waits_look(others[i].waits));
    }
    if (may_go_on && kill(late.pid, 0) != 0)
        g_test_skip("there is no userfaultfd(2)");
    else
        g_assert_false(may_go_on);
    end(&late);
    for (gsize i = 0; i < G_N_ELEMENTS(others); i++)
        end(&others[i]);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (geteuid() == 0)
        g_test_add_func("/file-waits/late-answers", test_late_answers);
    return g_test_run();
}
