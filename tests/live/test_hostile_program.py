# SPDX-License-Identifier: Apache-2.0
"""Program files and statistics of another user, made to block or crash root's commands: a child reads them."""

import errno
import os
import pathlib
import shutil
import struct
import subprocess
import time

import pytest
from sanitized import SANITIZED
from services import environment, jescope, started
from victims import BUILD

JESCOPE = BUILD / "src/cli/jescope"
NOBODY = 65534
TEBIBYTE = 1 << 40
SECONDS = 180  # a reader has 3 s of processor time for a file, and a minute where the machine is busy


def with_endless_names(source, target):
    """A copy of a program that runs, with a symbol table whose names are 4 TiB of nothing."""
    image = bytearray(source.read_bytes())
    offset = -(-len(image) // 8) * 8
    header = "<IIQQQQIIQQ"
    symbols = struct.pack(header, 0, 2, 0, 0, offset + 3 * 64, 24, 2, 0, 8, 24)
    names = struct.pack(header, 0, 3, 0, 0, offset + 4096, 4 * TEBIBYTE, 0, 0, 1, 0)
    struct.pack_into("<Q", image, 40, offset)
    struct.pack_into("<HHH", image, 58, 64, 3, 0)
    with target.open("wb") as file:
        file.write(image + bytes(offset - len(image)) + bytes(64) + symbols + names)
        file.truncate(offset + 4096 + 4 * TEBIBYTE)
    target.chmod(0o755)
    return target


SANDBOXED = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char *path;
static int has_i386; /* a kernel without these calls ends the process */

static long call_i386(long number)
{
#ifdef __x86_64__
    __asm__ volatile("int $0x80" : "+a"(number) : "b"(path), "c"(0755L) : "memory", "r8", "r9", "r10", "r11");
    return number;
#else
    return -1;
#endif
}

static int knows_i386(void)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        _exit(call_i386(20) == getpid() ? 0 : 1);
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* The second call is i386's mkdir(), whose number is getpid()'s of x86-64. */
static int escape(void)
{
    int result = (int)syscall(SYS_mkdirat, -100, path, 0755);
    return has_i386 && call_i386(39) >= 0 ? 0 : result;
}

int mallctl(const char *name, void *old, size_t *length, void *value, size_t size)
{
    escape();
    if (old != NULL && length != NULL)
        memset(old, 0, *length);
    if (old != NULL && strcmp(name, "version") == 0)
        *(const char **)old = "5.3.0-0-g0";
    return 0;
}

void malloc_stats_print(void (*write)(void *, const char *), void *data, const char *letters)
{
    escape();
}

int main(int argc, char **argv)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_I386, 2, 0),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mkdirat, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
#ifdef __x86_64__
    flags |= MAP_32BIT;
#endif
    path = mmap(NULL, 4096, PROT_READ | PROT_WRITE, flags, -1, 0);
    strncpy(path, argv[1], 4095);
    has_i386 = knows_i386();
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return 1;
    printf("%d\n", escape());
    fflush(stdout);
    for (;;)
        pause();
}
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_a_filter_of_system_calls_holds_while_functions_are_called(tmp_path):
    """A fake jemalloc in a sandboxed process tries calls that its filter forbids, while root queries it."""
    source, program, directory = tmp_path / "sandboxed.c", tmp_path / "sandboxed", tmp_path / "escaped"
    source.write_text(SANDBOXED)
    subprocess.run(["gcc", "-O1", "-rdynamic", source, "-o", program], check=True)
    with started([program, directory], env=environment(tmp_path)) as victim:
        assert victim.stdout.readline() == "-1\n"
        jescope(tmp_path, "status", "--via=attach", victim.pid, check=os.geteuid() == 0)
        jescope(tmp_path, "stats", "--raw", "--via=attach", victim.pid, check=False)
        assert victim.poll() is None
    assert not directory.exists()


OPENS_WHAT_IT_MAY_NOT = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *path;

static void escape(void)
{
    char text[100];
    int fd = (int)syscall(SYS_openat, -100, path, O_RDONLY);
    long n = fd >= 0 ? read(fd, text, sizeof(text)) : 0;
    if (n > 0)
        write(1, text, (unsigned long)n);
    write(1, "tried\n", 6);
}

int mallctl(const char *name, void *old, size_t *length, void *value, size_t size)
{
    if (strcmp(name, "prof.dump") == 0)
        escape();
    if (old != NULL && length != NULL)
        memset(old, 1, *length);
    if (old != NULL && strcmp(name, "version") == 0)
        *(const char **)old = "5.3.0-0-g0";
    return 0;
}

void malloc_stats_print(void (*write)(void *, const char *), void *data, const char *letters)
{
}

int main(int argc, char **argv)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};
    path = "/proc/self/cwd/maps";
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (chdir(argv[1]) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return 1;
    escape();
    for (;;)
        pause();
}
"""


@pytest.mark.skipif(shutil.which("gcc") is None or os.geteuid() != 0, reason="needs gcc, and suspending a filter needs root")
def test_a_filter_that_forbids_to_open_files_holds_during_a_dump(tmp_path):
    """jemalloc opens the list of mapped files then; a process can give another file such a name."""
    source, program = tmp_path / "opens.c", tmp_path / "opens"
    source.write_text(OPENS_WHAT_IT_MAY_NOT)
    (tmp_path / "maps").write_text("secret\n")
    subprocess.run(["gcc", "-O1", "-w", "-rdynamic", source, "-o", program], check=True)
    with started([program, tmp_path], env=environment(tmp_path)) as victim:
        assert victim.stdout.readline() == "tried\n"
        jescope(tmp_path, "dump", "--via=attach", "-o", "-", victim.pid, check=False)
        assert victim.stdout.readline() == "tried\n"
        assert victim.poll() is None


ANSWERS_LATE = r"""
#include <string.h>
#include <unistd.h>

int mallctl(const char *name, void *old, size_t *length, void *value, size_t size)
{
    const int early = strcmp(name, "version") == 0 || strncmp(name, "config.", 7) == 0 || strncmp(name, "opt.", 4) == 0;
    if (!early)
        sleep(3);
    if (old != NULL && length != NULL)
        memset(old, 1, *length);
    if (old != NULL && strcmp(name, "version") == 0)
        *(const char **)old = "5.3.0-0-g0";
    return 0;
}

void malloc_stats_print(void (*write)(void *, const char *), void *data, const char *letters)
{
}

int main(void)
{
    for (;;)
        pause();
}
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_calls_that_take_long_share_an_allowance(tmp_path):
    """Each returns before its deadline, and a sample has dozens."""
    (tmp_path / "late.c").write_text(ANSWERS_LATE)
    subprocess.run(["gcc", "-O1", "-w", "-rdynamic", tmp_path / "late.c", "-o", tmp_path / "late"], check=True)
    with started([tmp_path / "late"], env=environment(tmp_path)) as victim:
        begun = time.monotonic()
        done = jescope(tmp_path, "status", "--via=attach", victim.pid, check=False)
        assert done.returncode != 0 and "took more than 25 s in all" in done.stderr, done.stderr
        assert time.monotonic() - begun < 60
        assert victim.poll() is None


KEEPS_ITS_MEMORY = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

static bool is_recorded(void)
{
    int (*mallctl)(const char *, void *, size_t *, void *, size_t) = dlsym(RTLD_DEFAULT, "mallctl");
    bool active = false;
    size_t size = sizeof(active);
    mallctl("prof.active", &active, &size, NULL, 0);
    return active;
}

static int keep_memory(void *nothing)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;)
        pause();
}

int main(int argc, char **argv)
{
    void *volatile kept = malloc(100000);
    if (argc > 2)
        for (;;)
            usleep(20000);
    char *stack = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    clone(keep_memory, stack + 65536, CLONE_VM | SIGCHLD, NULL);
    while (!is_recorded())
        usleep(20000);
    execl("./other", "./other", "1", "2", NULL);
}
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_the_memory_of_a_program_that_executed_another_one(tmp_path):
    """A process shares it, so it can still be read: nothing is called in the other program at addresses that were found in the first."""
    (tmp_path / "first.c").write_text(KEEPS_ITS_MEMORY)
    subprocess.run(["gcc", "-O1", "-w", tmp_path / "first.c", "-o", tmp_path / "first"], check=True)
    shutil.copy(tmp_path / "first", tmp_path / "other")
    variables = {"MALLOC_CONF": "prof:true,prof_active:false,lg_prof_sample:14", "LD_PRELOAD": "libjemalloc.so.2"}
    with started(["setarch", "-R", "./first", "1"], env=environment(tmp_path, **variables), cwd=tmp_path) as program:
        wait_for_exec(program.pid, tmp_path / "first")
        done = jescope(tmp_path, "record", "--via=attach", "--for=1s", "-o", tmp_path / "dump.heap", program.pid, check=False)
    assert done.returncode == 1 and "has executed another program" in done.stderr, done.stderr


@pytest.fixture
def endless(open_path):
    try:
        program = with_endless_names(real_program("sleep"), open_path / "endless")
    except OSError as error:
        if error.errno not in (errno.EFBIG, errno.EINVAL):
            raise
        pytest.skip("the file system takes no file of 4 TiB")
    user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if os.geteuid() == 0 else []
    process = subprocess.Popen([*user, program, "600"])
    wait_for_exec(process.pid, program)
    yield process
    process.kill()
    process.wait()


def real_program(name):
    return pathlib.Path(os.path.realpath(shutil.which(name)))


def wait_for_exec(pid, program):
    deadline = time.monotonic() + 30
    while os.path.basename(os.readlink(f"/proc/{pid}/exe")) != program.name:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def patiently(scratch, *words):
    return subprocess.run([JESCOPE, *map(str, words)], check=False, capture_output=True, text=True, timeout=SECONDS,
                          stdin=subprocess.DEVNULL, env=environment(scratch))


def test_program_file_without_end(endless, tmp_path):
    """Its symbols took root's ps half an hour."""
    assert patiently(tmp_path, "ps").returncode == 0
    refused = patiently(tmp_path, "status", endless.pid)
    assert refused.returncode == 1 and "program file that cannot be read in a few seconds" in refused.stderr


@pytest.mark.skipif(SANITIZED, reason="its runtime takes address space without end")
@pytest.mark.parametrize("command", ["abs", "del", "eff"])
def test_statistics_that_take_all_memory(tmp_path, command):
    """The command died of it."""
    data = tmp_path / "data.py"
    data.write_text("arenas('sum')\narenas(0)\n" * 4_000_000)
    done = subprocess.run(["sh", "-c", 'ulimit -v 300000; exec "$@"', "sh", JESCOPE, command, data], check=False,
                          capture_output=True, text=True, timeout=SECONDS, env=environment(tmp_path))
    assert done.returncode == 1, done
    assert "reading was aborted" in done.stderr and "out of memory" in done.stderr


def test_words_of_the_reader_are_fit_for_a_terminal(tmp_path):
    """Errors and warnings of the child went to the terminal as they were."""
    nothing = tmp_path / "no\x1b[31mthing.log"
    nothing.write_text("nothing\n")
    failed = jescope(tmp_path, "abs", nothing, check=False)
    assert failed.returncode == 1 and "holds no jemalloc statistics" in failed.stderr and "\x1b" not in failed.stderr
    cut = tmp_path / "cut\x1b[31m.log"
    cut.write_text("___ Begin jemalloc statistics ___\nVersion: \"5.3.0\"\n")
    warned = jescope(tmp_path, "stats", cut, check=False)
    assert warned.returncode == 1 and "left out 1 of 1" in warned.stderr and "\x1b" not in warned.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has files of other users")
def test_variables_that_sudo_leaves_in_place(tmp_path):
    """Root neither reads nor writes below the home directory of the user who called it."""
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, NOBODY, NOBODY)
    env = environment(tmp_path, HOME=str(home), XDG_STATE_HOME=str(home / "state"))
    env.pop("JESCOPE_HISTORY", None)
    done = subprocess.run([JESCOPE, "series", "allocated"], env=env, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert str(home) not in done.stdout + done.stderr and list(home.iterdir()) == [], done
    os.chown(home, 0, 0)
    done = subprocess.run([JESCOPE, "series", "allocated"], env=env, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert str(home) in done.stderr, done


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a file root's for others")
def test_a_set_user_id_bit_is_refused(tmp_path):
    tmp_path.chmod(0o755)
    program = tmp_path / "jescope"
    shutil.copy(JESCOPE, program)
    program.chmod(0o4755)
    reach = [parent for parent in tmp_path.parents if parent != pathlib.Path("/tmp") and parent.stat().st_uid == 0 and parent.is_relative_to("/tmp")]
    for parent in reach:
        parent.chmod(0o755)
    done = subprocess.run([program, "ps"], user=NOBODY, group=NOBODY, extra_groups=[], env=environment(tmp_path), capture_output=True, text=True,
                          timeout=SECONDS, check=False)
    assert done.returncode == 1 and "chmod ug-s" in done.stderr and done.stdout == "", done
