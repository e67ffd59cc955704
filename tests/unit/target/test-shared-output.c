/* SPDX-License-Identifier: Apache-2.0 */
#include "target/own-room.h"
#include "target/shared-output.h"
#include "target/target.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    MIB = 1 << 20,
    STAT_BLOCK = 512,
    STRANGER = 4100000000, /* users without an account on this machine */
    LOCKER,
    WAIT_MS = 20000,
};

static const OutputPlan small_plan = {.most = 4 * MIB, .first = MIB, .allowed = G_MAXUINT64};
static const OutputWriter writer = {"it (7)", 64 * MIB, FALSE};

static int
memory_file(void)
{
    int fd = memfd_create("jescope-test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    g_assert_cmpint(fd, >=, 0);
    return fd;
}

static guint64
held(int fd)
{
    struct stat st;
    g_assert_cmpint(fstat(fd, &st), ==, 0);
    return (guint64)st.st_blocks * STAT_BLOCK;
}

static gboolean
put(int fd, gsize bytes)
{
    g_autofree char *text = g_malloc(bytes);
    memset(text, 'x', bytes);
    return write(fd, text, bytes) == (ssize_t)bytes;
}

/* Waits until FD holds BYTES. */
static gboolean
comes_to(int fd, guint64 bytes)
{
    for (guint waited = 0; held(fd) != bytes; waited++) {
        if (waited >= WAIT_MS)
            return FALSE;
        g_usleep(1000);
    }
    return TRUE;
}

/* The writer's end of an output that was begun. */
static int
begun(SharedOutput *output, uid_t user)
{
    const int fd = memory_file(), kept = dup(fd);
    g_autoptr(GError) error = NULL;
    g_assert_true(shared_output_begin(output, fd, &small_plan, user, "it (7)", &error));
    g_assert_no_error(error);
    return kept;
}

/* The child allocates the pages ahead of the writer without being asked. */
static void
test_ahead(void)
{
    SharedOutput output;
    const int kept = begun(&output, STRANGER);
    g_assert_cmpuint(held(kept), ==, MIB);
    g_assert_true(put(kept, MIB));
    g_assert_true(comes_to(kept, 2 * MIB));
    g_assert_cmpint(ftruncate(kept, 0), ==, 0); /* as O_TRUNC does */
    g_assert_true(comes_to(kept, MIB));
    g_assert_true(shared_output_discard(&output, "it (7)", NULL));
    g_assert_cmpuint(held(kept), ==, 0);
    g_assert_false(put(kept, 1));
    close(kept);
}

/* What the writer keeps open is empty, though it wrote to it. */
static void
test_taken(void)
{
    SharedOutput output;
    char byte;
    const int kept = begun(&output, STRANGER);
    g_assert_true(put(kept, 9 * MIB));
    g_assert_true(shared_output_watch(&output, &writer, NULL));
    g_assert_cmpuint(own_room_held(STRANGER), >=, 9 * MIB);
    const int own = shared_output_take(&output, 9 * MIB, &writer, NULL);
    g_assert_cmpint(own, >=, 0);
    g_assert_cmpuint(held(kept), ==, 0);
    g_assert_cmpuint(held(own), ==, 9 * MIB);
    g_assert_cmpint(pread(own, &byte, 1, 9 * MIB - 1), ==, 1);
    g_assert_cmpint(byte, ==, 'x');
    g_assert_cmpuint(own_room_held(STRANGER), ==, 0);
    close(own);
    close(kept);
}

/* The bytes of the test's own memory. */
static guint64
own_memory(void)
{
    g_autofree char *text = NULL;
    g_assert_true(g_file_get_contents("/proc/self/status", &text, NULL, NULL));
    const char *line = strstr(text, "RssAnon:");
    g_assert_nonnull(line);
    return g_ascii_strtoull(line + strlen("RssAnon:"), NULL, 10) * 1024;
}

static void
take_large(void)
{
    static const char text[MIB];
    SharedOutput output;
    const int kept = begun(&output, STRANGER);
    for (guint i = 0; i < 4; i++)
        g_assert_cmpint(write(kept, text, MIB), ==, MIB);
    const int own = shared_output_take(&output, 4 * MIB, &writer, NULL);
    g_assert_cmpint(own, >=, 0);
    close(own);
    close(kept);
}

/* Nothing of an output is left in the heap, whose free memory a process keeps. To be done before large allocations. */
static void
test_own_memory(void)
{
    take_large();
    const guint64 before = own_memory();
    take_large();
    take_large();
    g_assert_cmpuint(own_memory(), <, before + MIB);
}

static void
test_restarted(void)
{
    SharedOutput output;
    const int kept = begun(&output, STRANGER);
    g_assert_true(put(kept, MIB));
    g_assert_true(shared_output_restart(&output, "it (7)", NULL));
    g_assert_true(put(kept, 5));
    const int own = shared_output_take(&output, 5, &writer, NULL);
    g_assert_cmpint(own, >=, 0);
    close(own);
    close(kept);
}

/* The message names the writer and what was charged to it. */
static void
test_stopped(void)
{
    const OutputPlan plan = {.most = MIB, .first = MIB, .allowed = MIB};
    SharedOutput output;
    g_autoptr(GError) error = NULL;
    const int fd = memory_file(), kept = dup(fd);
    g_assert_true(shared_output_begin(&output, fd, &plan, STRANGER, "it (7)", NULL));
    g_assert_true(put(kept, 5 * MIB));
    g_assert_false(shared_output_advance(&output, "it (7)", &error));
    g_assert_error(error, TARGET_ERROR, OUTCOME_NO_HEADROOM);
    g_assert_nonnull(strstr(error->message, "it (7)"));
    g_assert_nonnull(strstr(error->message, "1.0\302\240MiB"));
    g_assert_false(put(kept, 1));
    g_assert_false(shared_output_discard(&output, "it (7)", NULL));
    close(kept);
}

/* A writer that keeps pages by a seal pays for further ones itself. */
static void
test_kept(void)
{
    enum { KEEPER = STRANGER - 1 };
    SharedOutput output;
    g_autoptr(GError) error = NULL;
    int kept = begun(&output, KEEPER);
    g_assert_true(put(kept, MIB));
    g_assert_cmpint(fcntl(kept, F_ADD_SEALS, F_SEAL_SHRINK), ==, 0);
    g_assert_cmpint(shared_output_take(&output, MIB, &writer, &error), ==, -1);
    g_assert_error(error, TARGET_ERROR, OUTCOME_PROTOCOL);
    close(kept);
    kept = begun(&output, KEEPER);
    g_assert_cmpuint(held(kept), ==, 0);
    shared_output_discard(&output, "it (7)", NULL);
    close(kept);
    kept = begun(&output, getuid());
    g_assert_cmpuint(held(kept), ==, MIB);
    shared_output_discard(&output, "it (7)", NULL);
    close(kept);
}

/* ---- a writer that holds the lock of the file ---- */

typedef struct {
    int faults; /* a userfaultfd(2); -1: there is none */
    char *page; /* memory that does not come */
    int file;
    GThread *writer;
} Locker;

static gpointer
write_slowly(gpointer data)
{
    const Locker *locker = data;
    return GINT_TO_POINTER(write(locker->file, locker->page, 4096) == 4096);
}

static gboolean
lock_file(Locker *locker, int file)
{
    struct uffdio_api api = {.api = UFFD_API};
    locker->faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
    locker->page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    locker->file = file;
    struct uffdio_register range = {.range = {(guintptr)locker->page, 4096}, .mode = UFFDIO_REGISTER_MODE_MISSING};
    if (locker->faults < 0 || ioctl(locker->faults, UFFDIO_API, &api) != 0 ||
        ioctl(locker->faults, UFFDIO_REGISTER, &range) != 0)
        return FALSE;
    locker->writer = g_thread_new("writer", write_slowly, locker);
    struct pollfd fault = {.fd = locker->faults, .events = POLLIN};
    g_assert_cmpint(poll(&fault, 1, WAIT_MS), ==, 1);
    return TRUE;
}

static void
let_go(Locker *locker)
{
    struct uffdio_zeropage zero = {.range = {(guintptr)locker->page, 4096}};
    g_assert_cmpint(ioctl(locker->faults, UFFDIO_ZEROPAGE, &zero), ==, 0);
    g_thread_join(locker->writer);
    munmap(locker->page, 4096);
    close(locker->faults);
}

/* Its output is given up, the caller goes on with those of others, and the file is empty once the lock is free. Three
 * are the most for one user. */
static void
test_locked(void)
{
    enum { MOST = 3 };
    Locker lockers[MOST];
    SharedOutput output;
    for (guint i = 0; i < MOST; i++) {
        g_autoptr(GError) error = NULL;
        const int kept = begun(&output, LOCKER);
        g_assert_true(put(kept, MIB));
        if (!lock_file(&lockers[i], kept)) {
            g_test_skip("there is no userfaultfd(2)");
            return;
        }
        g_assert_cmpint(shared_output_take(&output, MIB, &writer, &error), ==, -1);
        g_assert_error(error, TARGET_ERROR, OUTCOME_SILENT);
        g_assert_nonnull(strstr(error->message, "it (7) kept its output file locked"));
        g_assert_cmpuint(held(kept), >=, MIB);
    }
    g_autoptr(GError) error = NULL;
    const int fd = memory_file();
    g_assert_false(shared_output_begin(&output, fd, &small_plan, LOCKER, "it (7)", &error));
    g_assert_error(error, TARGET_ERROR, OUTCOME_SILENT);
    shared_output_discard(&output, "it (7)", NULL);
    const int other = begun(&output, STRANGER);
    g_assert_true(put(other, MIB));
    const int own = shared_output_take(&output, MIB, &writer, NULL);
    g_assert_cmpint(own, >=, 0);
    close(own);
    close(other);
    for (guint i = 0; i < MOST; i++) {
        let_go(&lockers[i]);
        g_assert_true(comes_to(lockers[i].file, 0));
        close(lockers[i].file);
    }
}

/* A process whose output is locked by another one can end: no thread of it waits. */
static void
test_end_of_the_process(void)
{
    int ready[2], locked[2];
    char byte = 0;
    Locker locker;
    const int file = memory_file();
    g_assert_true(pipe(ready) == 0 && pipe(locked) == 0);
    const pid_t child = fork();
    if (child == 0) {
        SharedOutput output;
        const gboolean is_begun = shared_output_begin(&output, dup(file), &small_plan, LOCKER + 1, "it (7)", NULL);
        if (!is_begun || write(ready[1], &byte, 1) != 1 || read(locked[0], &byte, 1) != 1)
            _exit(2);
        shared_output_discard(&output, "it (7)", NULL);
        _exit(0);
    }
    g_assert_cmpint(read(ready[0], &byte, 1), ==, 1);
    const gboolean possible = lock_file(&locker, file);
    g_assert_cmpint(write(locked[1], &byte, 1), ==, 1);
    int status = -1;
    for (guint waited = 0; waitpid(child, &status, WNOHANG) == 0; waited++) {
        g_assert_cmpuint(waited, <, WAIT_MS);
        g_usleep(1000);
    }
    g_assert_cmpint(status, ==, 0);
    if (possible)
        let_go(&locker);
    else
        g_test_skip("there is no userfaultfd(2)");
    close(file);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/shared-output/own-memory", test_own_memory);
    g_test_add_func("/shared-output/ahead", test_ahead);
    g_test_add_func("/shared-output/taken", test_taken);
    g_test_add_func("/shared-output/restarted", test_restarted);
    g_test_add_func("/shared-output/stopped", test_stopped);
    g_test_add_func("/shared-output/kept", test_kept);
    g_test_add_func("/shared-output/locked", test_locked);
    g_test_add_func("/shared-output/end-of-the-process", test_end_of_the_process);
    return g_test_run();
}
