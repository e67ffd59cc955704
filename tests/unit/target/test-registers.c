/* SPDX-License-Identifier: Apache-2.0 */
/* The way back is tried on ourselves: the kernel has to take the frame. */
#include "target/registers.h"

#include "target/loaded.h"
#include "target/remote-code.h"

#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void
test_search(void)
{
#if defined(__x86_64__)
    static const guint8 code[] = {0x90, 0x48, 0xc7, 0xc0, 0x0f, 0,    0,    0,    0x0f, 0x05, 0x48, 0x89,
                                  0x43, 0x10, 0x5b, 0x5b, 0x48, 0x89, 0x43, 0x08, 0x5b, 0xc3, 0x0f, 0x05};
    RemoteCode found = {0};
    remote_code_search(code, sizeof(code), 0x1000, &found);
    g_assert_cmphex(found.back, ==, 0x1001);
    g_assert_cmphex(found.store, ==, 0x1010); /* not the one before, after which %rbx is another */
    g_assert_cmpint(found.offset, ==, 8);
    g_assert_cmpint(found.base, ==, 3);
    g_assert_cmpint(found.popped, ==, 1);
    g_assert_cmphex(found.system, ==, 0);
    g_assert_false(remote_code_is_complete(&found));
    static const guint8 rest[] = {0x0f, 0x05, 0xc3};
    remote_code_search(rest, sizeof(rest), 0x2000, &found);
    g_assert_cmphex(found.system, ==, 0x2000);
    g_assert_true(remote_code_is_complete(&found));
    /* musl's: mov %rax,0x18(%r13); mov %r12,%rax; add $8,%rsp; pop %rbx; pop %rbp; pop %r12; pop %r13; ret */
    static const guint8 longer[] = {0x49, 0x89, 0x45, 0x18, 0x4c, 0x89, 0xe0, 0x48, 0x83,
                                    0xc4, 0x08, 0x5b, 0x5d, 0x41, 0x5c, 0x41, 0x5d, 0xc3};
    RemoteCode other = {0};
    registers_find_store(longer, sizeof(longer), 0x4000, &other);
    g_assert_cmphex(other.store, ==, 0x4000);
    g_assert_cmpint(other.offset, ==, 0x18);
    g_assert_cmpint(other.base, ==, 13);
    g_assert_cmpint(other.popped, ==, 5);
    remote_code_search(code, sizeof(code), 0x3000, &found);
    g_assert_cmphex(found.back, ==, 0x1001); /* found values are kept */
#else
    g_test_skip("patterns of x86-64");
#endif
}

static void
test_our_own_library(void)
{
    RemoteCode code;
    g_autoptr(GError) error = NULL;
    g_autoptr(AddressSpace) space = address_space_new(getpid(), &error);
    g_assert_no_error(error);
    g_autoptr(GArray) objects = loaded_objects(space);
    g_assert_true(remote_code_find(space, objects, &code, &error));
    g_assert_true(remote_code_is_complete(&code));
}

/* A child that waits in a system call, stopped. */
static pid_t
stopped_child(void)
{
    pid_t child = fork();
    int status;
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        _exit(7);
    }
    g_assert_cmpint(waitpid(child, &status, 0), ==, child);
    g_assert_true(WIFSTOPPED(status));
    return child;
}

static long
square(long number)
{
    return number * number;
}

/* A call in the child, whose return is not traced: it ends normally. */
static void
test_way_back(void)
{
    pid_t child = stopped_child();
    RemoteCode code;
    Registers saved;
    int status;
    g_autoptr(AddressSpace) space = address_space_new(child, NULL);
    g_autoptr(GArray) objects = loaded_objects(space);
    g_assert_true(remote_code_find(space, objects, &code, NULL));
    g_assert_true(registers_read(child, &saved));
    ReturnPath path = registers_return_path(&saved, registers_sp(&saved.general) - registers_red_zone, &code);
    g_assert_cmphex(path.bottom + path.bytes->len, <=, registers_sp(&saved.general) - registers_red_zone);
    int memory = address_space_open(child);
    g_assert_true(address_space_write(memory, path.bottom, path.bytes->data, path.bytes->len));
    close(memory);
    const guint64 arguments[REGISTERS_ARGUMENTS] = {12};
    GeneralRegisters general = registers_call(&saved, &path, &code, (guint64)(guintptr)square, arguments);
    g_assert_true(registers_write_general(child, &general));
    g_assert_cmpint(ptrace(PTRACE_SYSCALL, child, NULL, NULL), ==, 0);
    g_assert_cmpint(waitpid(child, &status, 0), ==, child);
    g_assert_true(registers_read_general(child, &general));
    g_assert_cmphex(registers_sp(&general), ==, path.frame);
    guint64 result = registers_result(&general);
    if (path.result != 0)
        g_assert_true(remote_read(child, path.result, &result, sizeof(result)));
    g_assert_cmpuint(result, ==, 144);
    g_assert_cmpint(ptrace(PTRACE_DETACH, child, NULL, NULL), ==, 0);
    g_assert_cmpint(waitpid(child, &status, 0), ==, child);
    g_assert_true(WIFEXITED(status));
    g_assert_cmpint(WEXITSTATUS(status), ==, 7);
    g_byte_array_unref(path.bytes);
    registers_clear(&saved);
}

static void
test_ended_by_a_stop(void)
{
    g_assert_true(registers_stop_ends(SYS_epoll_pwait));
    g_assert_true(registers_stop_ends(SYS_connect));
    g_assert_false(registers_stop_ends(SYS_nanosleep));
    g_assert_false(registers_stop_ends(SYS_futex));
}

static void
test_cut_short_by_a_stop(void)
{
    const guint64 plain[REGISTERS_ARGUMENTS] = {3, 4096, 8};
    const guint64 receives_all[REGISTERS_ARGUMENTS] = {3, 4096, 8, MSG_WAITALL};
    const guint64 message_of_all[REGISTERS_ARGUMENTS] = {3, 4096, MSG_WAITALL};
    const guint64 receives_one[REGISTERS_ARGUMENTS] = {3, 4096, 8, MSG_WAITFORONE};
    g_assert_true(registers_stop_cuts_short(SYS_write, plain));
    g_assert_true(registers_stop_cuts_short(SYS_close, plain));
    g_assert_true(registers_stop_cuts_short(SYS_recvfrom, receives_all));
    g_assert_true(registers_stop_cuts_short(SYS_recvmsg, message_of_all));
    g_assert_true(registers_stop_cuts_short(SYS_recvmmsg, plain));
    g_assert_false(registers_stop_cuts_short(SYS_recvmmsg, receives_one));
    g_assert_false(registers_stop_cuts_short(SYS_recvfrom, plain));
    g_assert_false(registers_stop_cuts_short(SYS_read, plain));
    g_assert_false(registers_stop_cuts_short(SYS_futex, message_of_all));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/registers/search", test_search);
    g_test_add_func("/registers/our-own-library", test_our_own_library);
    g_test_add_func("/registers/way-back", test_way_back);
    g_test_add_func("/registers/ended-by-a-stop", test_ended_by_a_stop);
    g_test_add_func("/registers/cut-short-by-a-stop", test_cut_short_by_a_stop);
    return g_test_run();
}
