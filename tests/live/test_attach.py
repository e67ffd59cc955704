# SPDX-License-Identifier: Apache-2.0
"""Commands on jemalloc processes that were started without jescope."""

import contextlib
import ctypes
import json
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import time

import pytest

from services import AS_ROOT, DEADLINE, JESCOPE, VICTIMS, environment, jescope, wait_for

READY = "prof:true,prof_active:false,lg_prof_sample:12"
NOBODY = 65534
KILLS = 60


def preloaded(conf=READY):
    return dict(LD_PRELOAD="libjemalloc.so.2", MALLOC_CONF=conf)


class Program:
    """A victim that has said "ready"; its stdin is open, what it says afterwards is in says()."""

    def __init__(self, tmp_path, *words, conf=READY, **popen):
        self.scratch = tmp_path
        command = [VICTIMS / words[0], *words[1:]] if not str(words[0]).startswith("/") else words
        popen.setdefault("env", environment(tmp_path, **preloaded(conf)))
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, **popen)
        assert self.process.stdout.readline() == "ready\n", self.process.stderr.read()
        self.pid = self.process.pid

    def ask(self, *words, **options):
        """Runs a command on it."""
        return jescope(self.scratch, words[0], self.pid, *words[1:], **options)

    def status(self):
        return json.loads(self.ask("status", "--json").stdout)

    def says(self):
        self.process.stdin.close()
        text = self.process.stdout.read()
        assert self.process.wait(DEADLINE) == 0
        return text

    def state(self):
        return pathlib.Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0]


@pytest.fixture
def program(tmp_path):
    """program("waits", "poll", 3000) starts a victim that ends with the test."""
    started = []

    def start(*words, **options):
        started.append(Program(tmp_path, *words, **options))
        return started[-1]

    yield start
    for one in started:
        with contextlib.suppress(ProcessLookupError):
            os.kill(one.pid, signal.SIGCONT)
        one.process.kill()
        one.process.wait()
        for stream in (one.process.stdin, one.process.stdout, one.process.stderr):
            with contextlib.suppress(BrokenPipeError):
                stream.close()


# What a wait of each kind gives: result and errno. The last of the row: its timeout begins anew (docs/attach.md).
WAITS = {
    "nanosleep": (0, 0, False),
    "clock_nanosleep": (0, 0, False),
    "poll": (0, 0, False),
    "ppoll": (0, 0, False),
    "select": (0, 0, False),
    "pselect": (0, 0, False),
    "epoll_wait": (1, 0, False),
    "epoll_wait_timeout": (0, 0, True),
    "epoll_pwait": (0, 0, True),
    "futex": (-1, 110, False),
    "condition": (-1, 110, False),
    "semaphore": (-1, 110, False),
    "read": (1, 0, False),
    "recv": (1, 0, False),
    "recv_timeout": (-1, 11, True),
    "accept": (1, 0, False),
    "waitpid": (1, 0, False),
    "msgrcv": (1, 0, False),
    "sigtimedwait": (-1, 11, True),
    "pause": (-1, 4, False),
    "sigsuspend": (-1, 4, False),
}


def test_waits_go_on(program):
    """They end as they would have, and neither earlier nor much later: one that began anew would take twice as long."""
    period = 5000
    start = time.monotonic()
    waiting = {kind: program("waits", kind, period) for kind in WAITS}
    asked = dict.fromkeys(WAITS, 0)
    while time.monotonic() - start < 0.6 * period / 1000:
        for kind, victim in waiting.items():
            if victim.state() == "S":
                victim.status()
                asked[kind] += 1
    ended = {kind: list(map(int, victim.process.stdout.readline().split()[1:])) for kind, victim in waiting.items()}
    for kind, (result, code, took) in ended.items():
        assert asked[kind] > 0, kind
        assert (result, code) == WAITS[kind][:2], kind
        assert took >= period - 2, kind
        assert WAITS[kind][2] or took < 1.5 * period, kind


@pytest.mark.parametrize("how", ["sleep", "spin"])
def test_registers(program, how):
    busy = program("registers", how)
    for _ in range(20):
        busy.status()
    words = busy.says().split()
    assert int(words[1]) > 0 and words[3] == words[5] == "0", words


def test_all_commands(tmp_path, program):
    victim = program("counts")
    before = sorted(os.listdir(f"/proc/{victim.pid}/fd"))
    maps = pathlib.Path(f"/proc/{victim.pid}/maps").read_text()
    first = victim.status()
    assert first["via"] == "attach" and first["jemalloc"]["version"].startswith("5.")
    assert first["jemalloc"]["serves_malloc"] and first["profiling"]["enabled"] and not first["profiling"]["active"]
    assert 0 < first["memory"]["allocated"] <= first["memory"]["resident"]
    victim.ask("enable")
    assert victim.status()["profiling"]["active"]
    name = victim.ask("dump").stdout.strip()
    text = (tmp_path / name).read_text()
    assert text.startswith("heap_v2/4096\n") and "\nMAPPED_LIBRARIES:\n" in text and text.endswith("\n")
    victim.ask("disable")
    victim.ask("reset")
    assert not victim.status()["profiling"]["active"]
    victim.ask("purge")
    raw = victim.ask("stats", "--raw").stdout
    assert raw.startswith("___ Begin jemalloc statistics ___\n") and raw.endswith("--- End jemalloc statistics ---\n")
    assert json.loads(victim.ask("stats", "--json").stdout)["jemalloc"]["version"] == first["jemalloc"]["version"]
    assert "allocated" in victim.ask("stats").stdout
    assert victim.ask("report").returncode == 0
    assert sorted(os.listdir(f"/proc/{victim.pid}/fd")) == before
    named = [line for line in pathlib.Path(f"/proc/{victim.pid}/maps").read_text().splitlines() if line.split()[5:]]
    assert named == [line for line in maps.splitlines() if line.split()[5:]] and "memfd" not in " ".join(named)
    assert victim.says() == "signals 0 mask 0\n"
    assert victim.process.stderr.read() == ""


def test_no_way_but_the_one_asked_for(program):
    victim = program("counts")
    done = victim.ask("status", "--via", "agent", check=False)
    assert done.returncode == 1 and f"jescope attach {victim.pid}" in done.stderr
    assert json.loads(victim.ask("status", "--json", "--via", "attach").stdout)["via"] == "attach"


@pytest.mark.parametrize("variant", ["victim", "victim-static", "victim-je", "victim-rjem", "victim-fixed-rjem",
                                     "victim-shared-rjem", "victim-hidden"])
def test_every_kind_of_jemalloc(tmp_path, variant):
    if not (VICTIMS / variant).exists():
        pytest.skip(f"{variant} was not built: it needs libjemalloc-dev and binutils")
    prefix = {"victim-je": "je_", "victim-hidden": None}.get(variant, "_rjem_" if "rjem" in variant else "")
    conf = {"MALLOC_CONF": READY, f"{(prefix or '').upper()}MALLOC_CONF": READY}
    victim = subprocess.Popen([VICTIMS / variant], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              env=environment(tmp_path, **conf))
    try:
        victim.stdout.readline()
        told = json.loads(jescope(tmp_path, "status", "--json", victim.pid).stdout)
        assert told["via"] == "attach" and told["jemalloc"]["version"].startswith("5.")
        assert prefix is None or told["jemalloc"]["prefix"] == prefix
        name = jescope(tmp_path, "dump", victim.pid).stdout.strip()
        assert (tmp_path / name).read_text().startswith("heap_v2/4096\n")
        raw = jescope(tmp_path, "stats", "--raw", victim.pid).stdout
        assert raw.endswith("--- End jemalloc statistics ---\n")
    finally:
        victim.kill()
        victim.wait()
        victim.stdin.close()
        victim.stdout.close()


def test_without_dynamic_linker(tmp_path, program):
    if not (VICTIMS / "counts-static").exists():
        pytest.skip("counts-static was not built: it needs libjemalloc-dev and binutils")
    victim = program("counts-static", env=environment(tmp_path))
    for _ in range(3):
        told = victim.status()["jemalloc"]
        assert told["serves_malloc"] and told["found_in"] == str(VICTIMS / "counts-static")
    assert victim.ask("stats", "--raw").stdout.endswith("--- End jemalloc statistics ---\n")
    assert victim.says() == "signals 0 mask 0\n"


@pytest.mark.parametrize("variant", ["victim-rjem", "victim-fixed-rjem", "counts-static"])
def test_stripped_with_a_debug_file(tmp_path, own_mounts, variant):
    """The debug file is found by its build id, where the process has its files."""
    if not (VICTIMS / variant).exists():
        pytest.skip(f"{variant} was not built: it needs libjemalloc-dev and binutils")
    bare = tmp_path / variant
    shutil.copy(VICTIMS / variant, bare)
    notes = subprocess.run(["readelf", "-n", bare], capture_output=True, text=True, check=True).stdout
    if "Build ID: " not in notes:
        pytest.skip("the compiler gives programs no build id")
    build_id = notes.partition("Build ID: ")[2].split()[0]
    subprocess.run(["objcopy", "--only-keep-debug", bare, tmp_path / "debug"], check=True, timeout=DEADLINE)
    subprocess.run(["strip", bare], check=True, timeout=DEADLINE)

    def look(with_debug_file):
        folder = f"/usr/lib/debug/.build-id/{build_id[:2]}"
        script = f"mkdir -p {folder} && cp {tmp_path}/debug {folder}/{build_id[2:]}.debug && " if with_debug_file else ""
        victim = subprocess.Popen([*own_mounts, "sh", "-c", f"mkdir -p /usr/lib/debug && mount -t tmpfs none /usr/lib/debug && {script} exec {bare}"],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(tmp_path))
        try:
            victim.stdout.readline()
            return jescope(tmp_path, "status", "--json", victim.pid, check=False)
        finally:
            victim.kill()
            victim.wait()
            victim.stdin.close()
            victim.stdout.close()

    assert "symbols were stripped" in look(False).stderr
    found = look(True)
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)["jemalloc"]["version"].startswith("5.")


@pytest.mark.parametrize("variant, preload, prefix, found, serves", [
    ("victim-static", "libjemalloc.so.2", "", "victim-static", True),
    ("victim-rjem", "libjemalloc.so.2", "", "libjemalloc.so.2", True),
    ("victim-rjem", "", "_rjem_", "victim-rjem", False),
    ("victim-shadow", "", "", "libjemalloc.so.2", False),
])
def test_which_of_several(tmp_path, variant, preload, prefix, found, serves):
    """The one that serves malloc, else a prefixed one; it is said whether it serves malloc."""
    if not (VICTIMS / variant).exists():
        pytest.skip(f"{variant} was not built: it needs libjemalloc-dev and binutils")
    victim = subprocess.Popen([VICTIMS / variant], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              env=environment(tmp_path, LD_PRELOAD=preload))
    try:
        victim.stdout.readline()
        told = json.loads(jescope(tmp_path, "status", "--json", victim.pid).stdout)["jemalloc"]
        assert (told["prefix"], pathlib.Path(told["found_in"]).name, told["serves_malloc"]) == (prefix, found, serves)
    finally:
        victim.kill()
        victim.wait()
        victim.stdin.close()
        victim.stdout.close()


def test_signals_meanwhile(program):
    """None is lost, none comes twice, and the mask is as it was."""
    victim = program("counts", 4)
    sent = 0
    asking = None
    for _ in range(40):
        if asking is None or asking.poll() is not None:
            asking = subprocess.Popen([JESCOPE, "status", str(victim.pid)], stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL)
        for _ in range(20):
            os.kill(victim.pid, signal.SIGRTMIN)
            sent += 1
        time.sleep(0.002)
    asking.wait(DEADLINE)
    assert victim.says() == f"signals {sent} mask 0\n"


def test_threads_that_only_allocate(program):
    """It works or refuses in time; they go on either way."""
    victim = program("counts", 8)
    for _ in range(10):
        done = victim.ask("status", check=False)
        assert done.returncode == 0 or "try again" in done.stderr
    assert victim.says().startswith("signals 0")


def test_killed_in_the_middle(program):
    """Whenever jescope is killed, the program goes on as if nothing had been."""
    chance = random.Random(6)
    spinning = program("registers", "spin")
    sleeping = program("registers", "sleep")
    waiting = program("counts", 2)
    for victim in (spinning, sleeping, waiting):
        victim.ask("enable")
        for _ in range(KILLS):
            asking = subprocess.Popen([JESCOPE, "dump", "-o", "-", str(victim.pid)], stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL)
            time.sleep(chance.uniform(0, 0.02))
            asking.kill()
            asking.wait()
            assert victim.process.poll() is None
        assert victim.status()["profiling"]["active"]
    for victim in (spinning, sleeping):
        words = victim.says().split()
        # Nobody was left to put errno back where a kill came between.
        assert int(words[1]) > 0 and words[3] == "0" and int(words[5]) <= KILLS, words
    assert waiting.says() == "signals 0 mask 0\n"


def test_ends_meanwhile(program):
    chance = random.Random(7)
    for _ in range(15):
        victim = program("counts", 2)
        asking = subprocess.Popen([JESCOPE, "status", str(victim.pid)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(chance.uniform(0, 0.01))
        victim.process.kill()
        out, err = asking.communicate(timeout=DEADLINE)
        assert asking.returncode == 0 or err.startswith("jescope: "), err


def test_stopped(program):
    victim = program("counts")
    os.kill(victim.pid, signal.SIGSTOP)
    wait_for(lambda: victim.state() == "T", "it is stopped")
    assert victim.status()["via"] == "attach"
    wait_for(lambda: victim.state() == "T", "it is stopped again")
    time.sleep(0.05)
    assert victim.state() == "T"
    os.kill(victim.pid, signal.SIGCONT)
    assert victim.says() == "signals 0 mask 0\n"


PTRACE_SEIZE = 0x4206


def test_traced_already(program):
    """It is said by whom."""
    victim = program("counts")
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long] * 4
    if libc.ptrace(PTRACE_SEIZE, victim.pid, 0, 0) != 0:
        pytest.skip("this machine does not let a program trace another")
    done = victim.ask("status", check=False)
    assert done.returncode == 1
    assert f"({os.getpid()}) is tracing it already" in done.stderr


def test_zombie(tmp_path):
    gone = subprocess.Popen(["true"])
    wait_for(lambda: " Z " in pathlib.Path(f"/proc/{gone.pid}/stat").read_text(), "it has ended")
    done = jescope(tmp_path, "status", "--via", "attach", gone.pid, check=False)
    gone.wait()
    assert done.returncode == 1 and "has ended (a zombie)" in done.stderr


def test_without_jemalloc(tmp_path):
    with subprocess.Popen(["sleep", "1000"]) as sleeper:
        done = jescope(tmp_path, "status", sleeper.pid, check=False)
        sleeper.kill()
    assert done.returncode == 1 and "does not use jemalloc" in done.stderr


# mov $29, %eax; int $0x80 (pause); jmp back
PAUSE_32 = bytes([0xb8, 29, 0, 0, 0, 0xcd, 0x80, 0xeb, 0xf7])


def test_32_bit(tmp_path):
    base = 0x08048000
    head = b"\x7fELF\x01\x01\x01" + bytes(9)
    head += struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, base + 84, 52, 0, 0, 52, 32, 1, 0, 0, 0)
    head += struct.pack("<IIIIIIII", 1, 0, base, base, 84 + len(PAUSE_32), 84 + len(PAUSE_32), 5, 4096)
    path = tmp_path / "small"
    path.write_bytes(head + PAUSE_32)
    path.chmod(0o755)
    try:
        small = subprocess.Popen([path])
    except OSError:
        pytest.skip("this kernel does not run 32-bit programs")
    try:
        done = jescope(tmp_path, "status", "--via", "attach", small.pid, check=False)
        assert done.returncode == 1 and "32-bit" in done.stderr
    finally:
        small.kill()
        small.wait()


def test_vfork(tmp_path):
    """Its only thread waits for a child in its own memory; nothing is done to either, and that is said in time."""
    source = tmp_path / "parent.c"
    source.write_text("""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
    free(malloc(10));
    puts("ready");
    fflush(stdout);
    if (vfork() == 0) {
        char byte;
        while (read(0, &byte, 1) > 0);
        _exit(0);
    }
    puts("over");
    return 0;
}
""")
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    subprocess.run([compiler, "-w", source, "-o", tmp_path / "parent"], check=True, timeout=DEADLINE)
    parent = Program(tmp_path, str(tmp_path / "parent"))
    try:
        wait_for(lambda: parent.state() == "D", "it waits for its child")
        done = parent.ask("status", check=False)
        assert done.returncode == 1 and "try again" in done.stderr
        assert parent.says() == "over\n"
    finally:
        parent.process.kill()
        parent.process.wait()


@pytest.mark.skipif(not AS_ROOT, reason="namespaces of one's own need root")
@pytest.mark.parametrize("kind", [["--mount"], ["--pid", "--fork", "--mount-proc"], ["--user", "--map-root-user"], ["--net", "--uts", "--ipc"]])
def test_other_namespaces(tmp_path, kind):
    command = ["unshare", *kind]
    if subprocess.run([*command, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip(f"this machine does not permit unshare {' '.join(kind)}")
    outer = subprocess.Popen([*command, "--", VICTIMS / "counts"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                             env=environment(tmp_path, **preloaded()))
    try:
        assert outer.stdout.readline() == "ready\n"
        children = pathlib.Path(f"/proc/{outer.pid}/task/{outer.pid}/children").read_text().split()
        pid = int(children[0]) if children else outer.pid
        told = json.loads(jescope(tmp_path, "status", "--json", pid).stdout)
        assert told["via"] == "attach"
        name = jescope(tmp_path, "dump", pid).stdout.strip()
        assert (tmp_path / name).read_text().startswith("heap_v2/4096\n")
        outer.stdin.close()
        assert outer.stdout.read() == "signals 0 mask 0\n"
    finally:
        outer.kill()
        outer.wait()
        outer.stdout.close()


@pytest.mark.skipif(not AS_ROOT, reason="suspending a filter needs root")
def test_filtered_by_seccomp(tmp_path, program):
    """Root suspends the filter for as long as a call takes."""
    victim = program("filtered")
    assert victim.status()["via"] == "attach"
    name = victim.ask("dump").stdout.strip()
    assert (tmp_path / name).read_text().startswith("heap_v2/4096\n")
    victim.process.stdin.write("x")
    victim.process.stdin.flush()
    assert victim.process.stdout.readline() == "alive\n"
    assert victim.says() == ""


def as_nobody(*words):
    return ["/usr/bin/setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *map(str, words)]


@pytest.fixture
def nobody():
    if not AS_ROOT:
        pytest.skip("taking another user's place needs root")
    if subprocess.run(as_nobody(JESCOPE, "--version"), capture_output=True, check=False).returncode != 0:
        pytest.skip("the build directory is closed to other users")

    def run(*words):
        return subprocess.run(as_nobody(JESCOPE, *words), capture_output=True, text=True, timeout=DEADLINE, cwd="/",
                              env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"})
    return run


def test_filter_that_cannot_be_suspended(tmp_path, program, nobody):
    """Nothing but the program's own system calls is made; a dump, which needs another, is refused."""
    victim = program(*as_nobody(VICTIMS / "filtered"), cwd="/")
    for _ in range(5):
        done = nobody("status", "--json", victim.pid)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["via"] == "attach"
    done = nobody("dump", "-o", "-", victim.pid)
    assert done.returncode == 1 and "seccomp" in done.stderr
    assert nobody("stats", "--raw", victim.pid).stdout.endswith("--- End jemalloc statistics ---\n")
    assert victim.says() == ""


def test_not_ours(program, nobody):
    victim = program("counts")
    done = nobody("status", "--via", "attach", victim.pid)
    assert done.returncode == 1 and "run jescope as root" in done.stderr
    assert victim.says() == "signals 0 mask 0\n"


def test_deleted_executable(tmp_path, program):
    copy = tmp_path / "counts"
    shutil.copy(VICTIMS / "counts", copy)
    victim = program(str(copy))
    copy.unlink()
    assert victim.status()["via"] == "attach"


def test_replaced_library(tmp_path):
    """An upgrade puts another file in its place while the old one runs on."""
    library = next(pathlib.Path("/usr/lib").glob("*/libjemalloc.so.2"))
    copy = tmp_path / "libjemalloc.so.2"
    shutil.copy(library.resolve(), copy)
    victim = Program(tmp_path, "counts", env=environment(tmp_path, LD_PRELOAD=str(copy), MALLOC_CONF=READY))
    try:
        copy.unlink()
        copy.write_bytes(b"something else")
        told = victim.status()
        assert told["jemalloc"]["found_in"] == str(copy) and told["jemalloc"]["serves_malloc"]
    finally:
        victim.says()


def test_record_restores(tmp_path, program):
    victim = program("counts", 1)
    done = victim.ask("record", "--for", "300ms")
    assert "kill -9" in done.stderr
    assert (tmp_path / done.stdout.strip()).read_text().startswith("heap_v2/")
    assert not victim.status()["profiling"]["active"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_enable_for_stays_and_restores(tmp_path, program, number):
    victim = program("counts")
    staying = subprocess.Popen([JESCOPE, "enable", "--for", "1h", str(victim.pid)], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env=environment(tmp_path))
    assert "profiling is on for 1 h" in staying.stdout.readline()
    assert victim.status()["profiling"]["active"]
    staying.send_signal(number)
    assert staying.wait(DEADLINE) == 0 and "kill -9" in staying.stderr.read()
    staying.stdout.close()
    staying.stderr.close()
    assert not victim.status()["profiling"]["active"]


def test_ps_lists_without_stopping(tmp_path, program):
    victim = program("counts")

    def switches():
        lines = pathlib.Path(f"/proc/{victim.pid}/status").read_text().splitlines()
        return [line for line in lines if "ctxt_switches" in line]

    wait_for(lambda: victim.state() == "S", "it waits")
    before = switches()
    rows = json.loads(jescope(tmp_path, "ps", "--json").stdout)
    assert next(row for row in rows if row["pid"] == victim.pid)["reach"] == "attach"
    assert switches() == before
