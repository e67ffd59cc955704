# SPDX-License-Identifier: Apache-2.0
"""Commands on jemalloc processes that were started without jescope."""

import contextlib
import ctypes
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import tempfile
import time

import pytest

import services
from services import AS_ROOT, DEADLINE, JESCOPE, VICTIMS, environment, jescope, wait_for

READY = "prof:true,prof_active:false,lg_prof_sample:12"
NOBODY = 65534
KILLS = 60


def preloaded(conf=READY):
    return dict(LD_PRELOAD="libjemalloc.so.2", MALLOC_CONF=conf)


class Program:
    """A victim that has said "ready"; its stdin is open, its further output is in says()."""

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


@pytest.mark.parametrize("conf, said", [
    ("prof:true,prof_active:true", "active, probably since the process started (prof_active:true)"),
    ("prof:true,prof_active:false", "ready, not active"),
], ids=["on", "off"])
def test_status_tells_how_sampling_began(program, conf, said):
    """F14: there was no agent to see it, but jemalloc's options tell."""
    assert f" {said}" in program("waits", "poll", 3000, conf=conf).ask("status").stdout


# The result and errno of each kind of wait. The last of the row: its timeout starts again (docs/attach.md).
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
    "connect_timeout": (-1, 11, True),
    "accept": (1, 0, False),
    "waitpid": (1, 0, False),
    "msgrcv": (1, 0, False),
    "sigtimedwait": (-1, 11, True),
    "pause": (-1, 4, False),
    "sigsuspend": (-1, 4, False),
}


def ask_while_they_wait(waiting, until):
    """How often each was asked; not at all where the machine is too slow for all of them."""
    asked = dict.fromkeys(waiting, 0)
    while True:
        for kind, victim in waiting.items():
            if time.monotonic() > until:
                return asked
            if victim.state() == "S":
                victim.status()
                asked[kind] += 1


def test_waits_go_on(program):
    """They end as they would have, and neither earlier nor much later: one that started again would take twice as long."""
    for period in (5000, 20000, 80000):
        start = time.monotonic()
        waiting = {kind: program("waits", kind, period) for kind in WAITS}
        asked = ask_while_they_wait(waiting, start + 0.6 * period / 1000)
        if all(asked.values()):
            break
    ended = {kind: list(map(int, victim.process.stdout.readline().split()[1:])) for kind, victim in waiting.items()}
    for kind, (result, code, took) in ended.items():
        assert asked[kind] > 0, kind
        assert (result, code) == WAITS[kind][:2], kind
        assert took >= period - 2, kind
        assert WAITS[kind][2] or took < 1.5 * period, kind


@pytest.mark.parametrize("kind, whole", [("write", 1 << 20), ("recv_all", 2)])
def test_a_transfer_is_not_cut_short(program, kind, whole):
    """The call would return what was transferred until the stop, which no program expects that has no handlers."""
    victim = program("waits", kind, 3000)
    wait_for(lambda: victim.state() == "S", "it waits")
    done = victim.ask("status", "--json", check=False)
    assert done.returncode != 0 and "waits in a system call such as write" in done.stderr, done.stderr
    assert victim.process.stdout.readline().split()[:3] == ["ended", str(whole), "0"]


@pytest.mark.skipif(tuple(map(int, os.uname().release.split(".")[:2])) < (6, 4), reason="Linux before 6.4 does not tell a tracer")
@pytest.mark.parametrize("command", ["status", "attach"])
def test_dispatch_of_system_calls(program, command):
    """A program that handles system calls by SIGSYS would handle those of the functions that are called."""
    victim = program("waits", "dispatch", 60000)
    wait_for(lambda: victim.state() == "S", "it waits")
    done = victim.ask(command, check=False)
    assert done.returncode == 1 and "handles its system calls itself (PR_SET_SYSCALL_USER_DISPATCH)" in done.stderr, done.stderr


def test_agent_is_loaded_in_every_wait(program):
    waiting = {kind: program("waits", kind, 60000) for kind in WAITS}
    for kind, victim in waiting.items():
        wait_for(lambda victim=victim: victim.state() == "S", "it waits")
        assert "agent attached" in victim.ask("attach").stdout, kind


def test_agent_is_not_loaded_under_a_lock_of_the_c_library(program):
    """The thread waits on a futex, as others that are used, but the library would wait for its lock in the same thread."""
    victim = program("waits", "setresuid", 60000)
    threads = pathlib.Path(f"/proc/{victim.pid}/task")
    wait_for(lambda: victim.state() == "S" and pathlib.Path(f"/proc/{victim.pid}/syscall").read_text().startswith("202 "), "it waits")
    assert len(list(threads.iterdir())) == 2
    done = victim.ask("attach", check=False)
    assert done.returncode == 1 and f"thread {victim.pid} may hold a lock of the C library (setresuid in libc.so.6)" in done.stderr
    assert len(list(threads.iterdir())) == 2
    assert victim.status()["reach"] == "attach"


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
    assert first["reach"] == "attach" and first["jemalloc"]["version"].startswith("5.")
    assert first["jemalloc"]["serves_malloc"] and first["profiling"]["available"] and not first["profiling"]["active"]
    assert 0 < first["sample"]["allocated"] <= first["sample"]["resident"]
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
    assert json.loads(victim.ask("stats", "--raw", "--json").stdout)["jemalloc"]["version"] == first["jemalloc"]["version"]
    assert "allocated" in victim.ask("stats").stdout
    assert victim.ask("report", check=False).returncode == 3  # nothing was sampled since the reset
    assert sorted(os.listdir(f"/proc/{victim.pid}/fd")) == before
    named = [line for line in pathlib.Path(f"/proc/{victim.pid}/maps").read_text().splitlines() if line.split()[5:]]
    assert named == [line for line in maps.splitlines() if line.split()[5:]] and "memfd" not in " ".join(named)
    assert victim.says() == "signals 0 mask 0\n"
    assert victim.process.stderr.read() == ""


def test_no_way_but_the_one_asked_for(program):
    victim = program("counts")
    done = victim.ask("status", "--via", "agent", check=False)
    assert done.returncode == 1 and f"jescope attach {victim.pid}" in done.stderr
    assert json.loads(victim.ask("status", "--json", "--via", "attach").stdout)["reach"] == "attach"


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
        assert told["reach"] == "attach" and told["jemalloc"]["version"].startswith("5.")
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


SETPRIV = shutil.which("setpriv") and "setpriv --reuid 65534 --regid 65534 --clear-groups --"


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

    def look(with_debug_file, mode="644", before=""):
        folder = f"/usr/lib/debug/.build-id/{build_id[:2]}"
        script = f"mkdir -p {folder} && cp {tmp_path}/debug {folder}/{build_id[2:]}.debug && chmod {mode} {folder}/{build_id[2:]}.debug && " if with_debug_file else ""
        victim = subprocess.Popen([*own_mounts, "sh", "-c", f"mkdir -p /usr/lib/debug && mount -t tmpfs none /usr/lib/debug && {script} exec {before} {bare}"],
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
    # As any other file that the process names: with the rights of its user, in its root directory.
    if os.geteuid() == 0 and SETPRIV:
        assert "symbols were stripped" in look(True, mode="600", before=SETPRIV).stderr
    found = look(True)
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)["jemalloc"]["version"].startswith("5.")


def test_no_more_background_threads(tmp_path):
    """A call binds the thread it is made in to an arena, and each arena gets a background thread: so it is the main thread, which is."""
    redis = subprocess.Popen([services.redis_program(tmp_path), "--port", "0", "--unixsocket", tmp_path / "s", "--save", ""],
                             env=environment(tmp_path, MALLOC_CONF="background_thread:true"), stdout=subprocess.DEVNULL)

    def background():
        names = [(task / "comm").read_text().strip() for task in pathlib.Path(f"/proc/{redis.pid}/task").iterdir()]
        return names.count("jemalloc_bg_thd")

    try:
        wait_for(lambda: (tmp_path / "s").exists() and background() > 0, "redis listens, and jemalloc has a background thread")
        before = background()
        for _ in range(8):
            jescope(tmp_path, "status", "--via", "attach", redis.pid)
        assert background() == before
    finally:
        redis.kill()
        redis.wait()


@pytest.mark.parametrize("variant", ["musl", "musl-static"])
def test_another_c_library(tmp_path, program, variant):
    """Everything but the agent works."""
    if not (VICTIMS / variant).exists():
        pytest.skip(f"{variant} was not built: it needs musl-gcc")
    victim = program(variant, env=environment(tmp_path))
    assert victim.status()["profiling"]["available"]
    victim.ask("enable")
    assert victim.status()["profiling"]["active"]
    name = victim.ask("dump").stdout.strip()
    assert (tmp_path / name).read_text().startswith("heap_v2/4096\n")
    assert victim.ask("stats", "--raw").stdout.endswith("--- End jemalloc statistics ---\n")
    done = victim.ask("attach", check=False)
    assert done.returncode == 1 and "need no agent" in done.stderr
    # Where errno is, a static program does not tell.
    assert re.fullmatch(r"over 0\n" if variant == "musl" else r"over \d+\n", victim.says())


@pytest.mark.parametrize("variant, preload, prefix, found, serves", [
    ("victim-static", "libjemalloc.so.2", "", "victim-static", True),
    ("victim-rjem", "libjemalloc.so.2", "", "libjemalloc.so.2", True),
    ("victim-rjem", "", "_rjem_", "victim-rjem", False),
    ("victim-shadow", "", "", "libjemalloc.so.2", False),
])
def test_which_of_several(tmp_path, variant, preload, prefix, found, serves):
    """The one that serves malloc, else a prefixed one; status shows whether it serves malloc."""
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


@pytest.mark.parametrize("call", ["pause", "read", "epoll_wait", "epoll_pwait"])
def test_a_handler_ends_a_wait(program, call):
    """A signal that comes while the thread is borrowed, or looked at, ends its system call, as it would have."""
    victim = program("woken", call, conf="prof:true,lg_prof_sample:12")
    for _ in range(40):
        victim.ask("dump", "--via", "attach", "-o", "-", check=False)
    waits, lost = map(int, re.fullmatch(r"(\d+) waits, (\d+) lost\n", victim.says()).groups())
    assert waits > 40 and lost == 0


def test_threads_that_only_allocate(program):
    """It works or refuses in time; they go on either way."""
    victim = program("counts", 8)
    for _ in range(10):
        done = victim.ask("status", check=False)
        assert done.returncode == 0 or re.search(r"thread \d+ is in jemalloc \(.+\).*; try again$", done.stderr), done.stderr
    assert victim.says().startswith("signals 0")


@pytest.mark.parametrize("how", [[], ["signals"]], ids=["calm", "signals"])
def test_busy_with_one_thread(program, how):
    """Every system call is made once, whatever it is in when it is looked at; it would say so itself."""
    busy = program("busy", *how)
    for _ in range(5):
        busy.ask("status", "--via", "attach", check=False)
        busy.ask("attach", check=False)
        busy.ask("detach", check=False)
        assert busy.process.poll() is None, busy.process.stdout.read()
    words = busy.says().split()
    assert words[0] == "asked" and int(words[1]) > 0, words


# Where a thread waits, and why it is refused; None: it is not.
PLACES = {
    "stale": None,
    "handlers": None,
    "jemalloc": r"is in jemalloc \(.*libjemalloc\.so\.2.*\)",
    "loader": r"is in the dynamic loader \(.*ld-linux",
    "fork": r"is in fork \(.*fork in libc\.so\.6\)",
    "coroutine": r"runs on a stack that is not its own",
    "beside": None,
    "nested": r"runs on a stack that is not its own",
}


@pytest.mark.parametrize("place", PLACES)
def test_places(program, place):
    """By unwinding, not by stale words; a thread that waits in the wrong place permanently is refused at once, with the reason."""
    more = [VICTIMS / "libwaits-at-load.so"] if place == "loader" else []
    victim = program("places", place, *more)
    wait_for(lambda: victim.state() == "S", "it waits")
    done = victim.ask("status", check=False)
    if PLACES[place] is None:
        assert done.returncode == 0, done.stderr
    else:
        assert done.returncode == 1
        assert re.search(rf"jemalloc cannot be called in places.* \({victim.pid}\) now: thread {victim.pid} {PLACES[place]}", done.stderr), done.stderr
        assert "a retry will fail" in done.stderr and "try again" not in done.stderr
    assert victim.says().endswith("over\n")


@pytest.mark.parametrize("place, reason", [
    ("stale", r"possibly is in the dynamic loader \(.*ld-linux.*places-bare\+0x[0-9a-f]+ has no unwind table"),
    ("handlers", "runs a signal handler"),
])
def test_places_without_unwind_tables(program, place, reason):
    """Where unwinding ends every word counts."""
    victim = program("places-bare", place)
    wait_for(lambda: victim.state() == "S", "it waits")
    done = victim.ask("status", check=False)
    assert done.returncode == 1 and re.search(reason, done.stderr), done.stderr
    assert victim.says().endswith("over\n")


def test_the_agent_is_loaded_beside_a_second_c_library(program):
    """Into the namespace of the program, not that of dlmopen()."""
    victim = program("places", "copy")
    assert "agent attached" in victim.ask("attach").stdout
    assert victim.status()["reach"] == "agent"
    assert "agent detached" in victim.ask("detach").stdout
    assert victim.says() == "over\n"


@pytest.mark.parametrize("words", [["attach"], ["dump", "-o", "-"], ["status"]], ids=lambda words: words[0])
def test_a_wrapper_of_malloc(program, words):
    """jemalloc and dlopen() call what the program has in place of the C library's functions, and its lock may be held."""
    victim = program("wrapper")
    wait_for(lambda: victim.state() == "S", "it waits")
    done = victim.ask(*words, check=False)
    assert done.returncode == 1
    assert re.search(r"is in code that replaces functions of the C library \(.*malloc in wrapper\)", done.stderr), done.stderr
    assert victim.says() == "over\n"


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
        # errno is not restored if jescope was killed in between.
        assert int(words[1]) > 0 and words[3] == "0" and int(words[5]) <= KILLS, words
    assert waiting.says() == "signals 0 mask 0\n"


ENDED = r"jescope: (no process with pid PID; .*|(counts \(PID\)|process PID) has ended( \(a zombie\))?|.* does not use jemalloc.*)\n"


def test_ends_meanwhile(program):
    chance = random.Random(7)
    for _ in range(15):
        victim = program("counts", 2)
        asking = subprocess.Popen([JESCOPE, "status", str(victim.pid)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(chance.uniform(0, 0.01))
        victim.process.kill()
        out, err = asking.communicate(timeout=DEADLINE)
        answered = asking.returncode == 0 and f"counts ({victim.pid})" in out
        assert answered or re.fullmatch(ENDED, err.replace(str(victim.pid), "PID")), (out, err)


def test_stopped(program):
    victim = program("counts")
    os.kill(victim.pid, signal.SIGSTOP)
    wait_for(lambda: victim.state() == "T", "it is stopped")
    assert victim.status()["reach"] == "attach"
    wait_for(lambda: victim.state() == "T", "it is stopped again")
    time.sleep(0.05)
    assert victim.state() == "T"
    os.kill(victim.pid, signal.SIGCONT)
    assert victim.says() == "signals 0 mask 0\n"


PTRACE_SEIZE = 0x4206


def test_traced_already(program):
    """The error names the tracer."""
    victim = program("counts")
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long] * 4
    if libc.ptrace(PTRACE_SEIZE, victim.pid, 0, 0) != 0:
        pytest.skip("this machine does not let a program trace another")
    done = victim.ask("status", check=False)
    assert done.returncode == 1
    assert f"({os.getpid()}) is already tracing it" in done.stderr


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
    """Its only thread waits for a child in its own memory; neither is changed, and the error comes in time."""
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
        assert done.returncode == 1 and f"thread {parent.pid} waits in vfork for its child" in done.stderr
        assert "try again" not in done.stderr
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
        assert told["reach"] == "attach"
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
    assert victim.status()["reach"] == "attach"
    name = victim.ask("dump").stdout.strip()
    assert (tmp_path / name).read_text().startswith("heap_v2/4096\n")
    victim.process.stdin.write("x")
    victim.process.stdin.flush()
    assert victim.process.stdout.readline() == "alive\n"
    assert victim.says() == ""


def still_lives(victim):
    victim.process.stdin.write("x")
    victim.process.stdin.flush()
    return victim.process.stdout.readline() == "alive\n"


@pytest.mark.skipif(not AS_ROOT, reason="suspending a filter needs root")
def test_filter_of_one_thread(tmp_path, program):
    """Each thread has a filter of its own, and the main thread may have none."""
    victim = program("filtered", "worker")
    assert victim.status()["reach"] == "attach"
    for _ in range(3):
        assert victim.ask("dump", "-o", "-").stdout.startswith("heap_v2/4096\n")
    done = victim.ask("attach", check=False)
    assert done.returncode == 1 and "seccomp filter" in done.stderr
    assert still_lives(victim)


@pytest.mark.skipif(not AS_ROOT, reason="suspending a filter needs root")
def test_filter_that_is_installed_meanwhile(tmp_path, program):
    """One recording begins before the program installs its filter, and ends after it."""
    victim = program("filtered", "late")
    recording = subprocess.Popen([JESCOPE, "record", str(victim.pid), "--for=60s", "--via=attach", "-o", "late.heap"], cwd=tmp_path,
                                 stderr=subprocess.PIPE, text=True, env=environment(tmp_path))
    try:
        wait_for(lambda: victim.status()["profiling"]["active"], "profiling is on")
        assert still_lives(victim)
        recording.send_signal(signal.SIGINT)
        said = recording.communicate(timeout=DEADLINE)[1]
    finally:
        recording.kill()
        recording.wait()
    assert still_lives(victim), said
    assert not victim.status()["profiling"]["active"]


def exits(victim):
    victim.process.stdin.close()
    return victim.process.wait(DEADLINE)


@pytest.mark.parametrize("command, words", [
    ("status", []),
    ("attach", []),
    ("status", ["all"]),
    ("attach", ["all"]),
    ("status", ["all", "stack"]),
    pytest.param("status", ["all", "filtered"], marks=pytest.mark.skipif(not AS_ROOT, reason="suspending a filter needs root")),
], ids=lambda words: words if isinstance(words, str) else "-".join(words))
def test_a_program_that_stops_its_threads(program, command, words):
    """A suspended thread may hold a lock of jemalloc; a call in the thread that has suspended it would never return, nor one
    in a thread that is to be suspended next.

    On a busy machine, no thread may be usable for the two seconds of a command, which is then refused."""
    victim = program("collector", *words)

    def succeeds():
        done = victim.ask(command, *(["--via=attach"] if command == "status" else []), check=False)
        assert "has not finished" not in done.stderr, done.stderr
        assert still_lives(victim)
        return done.returncode == 0

    for _ in range(3):
        wait_for(succeeds, "a thread can be used")
        if command == "attach":
            victim.ask("detach")
    assert exits(victim) == 0


@pytest.mark.parametrize("words", [["dump", "--via=attach", "-o", "-"], ["stats", "--via=attach"], ["purge", "--via=attach"], ["attach"]],
                         ids=lambda words: words[0])
def test_a_thread_that_is_cancelled(program, words):
    """jemalloc opens, writes and closes a file, where a thread that is cancelled ends, with the locks that it holds."""
    victim = program("cancels", "pending")
    wait_for(lambda: "futex" in pathlib.Path(f"/proc/{victim.pid}/wchan").read_text(), "it waits")
    for _ in range(2):
        victim.ask(*words)
    assert victim.says() == "done 1 forked 7\n"


def test_a_thread_that_is_cancelled_meanwhile(program):
    """It ends as it would have, but not before jemalloc has returned."""
    victim = program("cancels", "meanwhile")
    until = time.monotonic() + DEADLINE
    while victim.process.poll() is None and time.monotonic() < until:
        victim.ask("dump", "--via=attach", "-o", "-", check=False)
    assert victim.says() == "done 1 forked 7\n"


def test_extent_hooks(program):
    """A purge calls the program's functions, which wait for a lock that the only thread holds."""
    victim = program("hooks", conf="dirty_decay_ms:-1," + READY)
    wait_for(lambda: victim.state() == "S", "it waits")
    assert victim.status()["reach"] == "attach"
    done = victim.ask("purge", "--via=attach", check=False)
    assert done.returncode == 1 and "functions of the program to release memory (extent hooks)" in done.stderr, done.stderr
    assert "'jescope attach" in done.stderr and done.stderr.count("\n") == 1
    assert victim.says() == "over\n"


def test_a_program_that_closes_all_descriptors(program):
    """A file that it has then by the number of the dump's is neither written to nor closed."""
    victim = program("closes", conf="prof:true,lg_prof_sample:0")
    said = ""
    for _ in range(3):
        said += victim.ask("dump", "--via=attach", "-o", "-", check=False).stderr
        victim.ask("attach", check=False)
        victim.ask("detach", check=False)
    rounds, lost = map(int, re.fullmatch(r"(\d+) rounds, (\d+) lost\n", victim.says()).groups())
    assert rounds > 0 and lost == 0
    assert "closed the descriptor to which jemalloc wrote" in said


def test_a_detached_agent_makes_no_system_call(program):
    """A filter that is installed after it was detached would kill the program for one when it exits, and its children."""
    victim = program("filtered", "late")
    assert "agent attached" in victim.ask("attach").stdout
    victim.ask("detach")
    assert still_lives(victim)
    assert still_lives(victim), "a child was killed"
    assert exits(victim) == 0


def test_a_filter_that_is_installed_while_the_agent_is_loaded(program):
    """The agent's thread notices it, at the latest with a request. Then nothing of the agent runs in the program's threads."""
    victim = program("filtered", "late")
    assert "agent attached" in victim.ask("attach").stdout
    wait_for(lambda: still_lives(victim), "its children end as they should")
    assert victim.status()["reach"] == "agent"
    assert still_lives(victim), "a child was killed"
    assert exits(victim) == 0


@pytest.mark.parametrize("conf", [READY, "abort:true," + READY])
def test_limit_of_file_size(tmp_path, program, conf):
    """A write beyond RLIMIT_FSIZE would end the process."""
    victim = program("counts", conf=conf)
    resource.prlimit(victim.pid, resource.RLIMIT_FSIZE, (10, resource.RLIM_INFINITY))
    done = victim.ask("dump", check=False)
    assert done.returncode == 1 and f"prlimit --pid={victim.pid} --fsize=unlimited" in done.stderr
    assert not list(tmp_path.glob("*.heap"))
    resource.prlimit(victim.pid, resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
    assert victim.ask("dump", "-o", "-").stdout.startswith("heap_v2/4096\n")
    assert victim.says() == "signals 0 mask 0\n"


def test_small_stack_without_guard(tmp_path, program):
    """Memory below a stack that has no guard is the program's data."""
    victim = program("unguarded")
    for _ in range(3):
        assert victim.ask("dump", "-o", "-").stdout.startswith("heap_v2/4096\n")
        assert victim.status()["reach"] == "attach"
    assert victim.says() == "over\n"


def test_forks_while_the_objects_are_listed(program):
    """A child that is forked while an agent is brought in inherits no lock of the loader's."""
    victim = program("forks_while_listed")
    assert "agent attached" in victim.ask("attach").stdout
    children, blocked = map(int, re.fullmatch(r"(\d+) children, (\d+) blocked\n", victim.says()).groups())
    assert children >= 2 and blocked == 0


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
        assert json.loads(done.stdout)["reach"] == "attach"
    done = nobody("dump", "-o", "-", victim.pid)
    assert done.returncode == 1 and "seccomp" in done.stderr
    assert nobody("stats", "--raw", victim.pid).stdout.endswith("--- End jemalloc statistics ---\n")
    assert victim.says() == ""


@pytest.mark.skipif(not AS_ROOT, reason="a file of another user needs root")
def test_another_file_in_place_of_ours(program):
    """A hostile thread exchanges every file that is made in its process for one of root's; that is never written to."""
    folder = pathlib.Path(tempfile.mkdtemp(dir="/var/tmp"))
    precious, sockets = folder / "precious", folder / "sockets"
    precious.write_text("not to be touched")
    sockets.mkdir(mode=0o700)
    os.chown(sockets, NOBODY, NOBODY)
    folder.chmod(0o755)
    precious.chmod(0o600)
    before = os.stat(precious)
    exchanged, noticed = 0, 0
    try:
        for _ in range(300 if os.environ.get("JESCOPE_PROOF") == "full" else 15):
            victim = program(*as_nobody(VICTIMS / "exchange", precious), cwd="/",
                             env={"PATH": "/usr/bin:/bin", "JESCOPE_SOCKET_DIR": str(sockets), **preloaded()})
            for words in (["attach"], ["dump", "--via", "attach", "-o", "-"]):
                done = victim.ask(*words, check=False)
                assert done.returncode in (0, 1), done.stderr
                noticed += "is not the memory file that was created" in done.stderr
                assert precious.read_text() == "not to be touched"
            exchanged += int(victim.says().split()[1])
        assert os.stat(precious).st_mtime_ns == before.st_mtime_ns
        assert exchanged > 0 and noticed > 0
    finally:
        shutil.rmtree(folder)


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
    assert victim.status()["reach"] == "attach"


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


SHARES_ITS_UMASK = """
import ctypes, os, signal, sys
CLONE_FS = 0x200
CLONE = {"x86_64": 56, "aarch64": 220}[os.uname().machine]
asks, asked = os.pipe()
said, says = os.pipe()
if ctypes.CDLL(None).syscall(CLONE, CLONE_FS | signal.SIGCHLD, 0, 0, 0, 0) == 0:
    os.close(asked)
    while os.read(asks, 1):
        os.umask(0o077)
        os.write(says, b"x")
    os._exit(0)
os.close(asks)
program = f"print('ready', flush=True); import os, sys; sys.stdin.readline(); os.write({asked}, b'x'); os.read({said}, 1); print(os.umask(0))"
for descriptor in asked, said:
    os.set_inheritable(descriptor, True)
os.umask(0o022)
os.execve(sys.executable, [sys.executable, "-c", program], dict(os.environ, **eval(sys.argv[1])))
"""


@pytest.mark.parametrize("way", ["preloaded", "attached"])
def test_what_processes_share_stays_shared(tmp_path, program, way):
    """The helper of a sandbox shares its root directory and umask (CLONE_FS) and changes them, also from before an execve()."""
    loads = preloaded() | ({"LD_PRELOAD": f"libjemalloc.so.2:{services.AGENT}"} if way == "preloaded" else {})
    victim = program(services.PYTHON, "-c", SHARES_ITS_UMASK, str(loads), env=environment(tmp_path, PYTHONMALLOC="malloc"))
    if way == "attached":
        assert "agent attached" in victim.ask("attach").stdout
    wait_for(lambda: victim.status()["reach"] == "agent", "the agent listens")
    victim.process.stdin.write("\n")
    assert victim.says().split() == [str(0o077)]


IN_CHROOT = """
import os, sys
os.chroot(sys.argv[1])
os.chdir("/")
kept = [bytes(3000) for _ in range(5000)]
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(not AS_ROOT, reason="chroot needs root")
@pytest.mark.parametrize("way", ["agent", "attach"])
def test_dump_in_a_chroot(tmp_path, way):
    """jemalloc cannot list the mapped files there; the dump has them all the same, and can be reported on later."""
    (tmp_path / "empty").mkdir()
    command = [services.PYTHON, "-c", IN_CHROOT, tmp_path / "empty"]
    if way == "agent":
        command = [JESCOPE, "run", "--active", "--sample=64KiB", "--", *command]
    inside = environment(tmp_path, PYTHONMALLOC="malloc", **({} if way == "agent" else preloaded("prof:true,prof_active:true,lg_prof_sample:16")))
    victim = subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=inside)
    try:
        victim.stdout.readline()
        pid = services.children(victim.pid)[0] if way == "agent" else victim.pid
        jescope(tmp_path, "dump", "--via", way, "-o", tmp_path / "x.heap", pid)
        text = (tmp_path / "x.heap").read_text()
        assert text.count("\nMAPPED_LIBRARIES:\n") == 1 and "libjemalloc.so" in text
        os.kill(pid, signal.SIGKILL)
        victim.wait()
        done = jescope(tmp_path, "report", "-n", "0", tmp_path / "x.heap")
        assert "in use" in done.stdout and "_PyEval_EvalFrameDefault" in done.stdout, done
    finally:
        victim.kill()
        victim.wait()
        victim.stdin.close()
        victim.stdout.close()


def test_record_restores(tmp_path, program):
    victim = program("counts", 1)
    done = victim.ask("record", "--for", "300ms", check=False)
    assert done.returncode in (0, 3), done.stderr  # 3: it may allocate too little to be sampled
    assert (tmp_path / done.stdout.strip()).read_text().startswith("heap_v2/")
    assert not victim.status()["profiling"]["active"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_enable_for_stays_and_restores(tmp_path, program, number):
    victim = program("counts")
    before = victim.status()["profiling"]["sample_bytes"]
    staying = subprocess.Popen([JESCOPE, "enable", "--for", "1h", "--sample", "4KiB", str(victim.pid)], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env=environment(tmp_path))
    assert "profiling is on for 1 h" in staying.stdout.readline()
    assert victim.status()["profiling"]["active"]
    staying.send_signal(number)
    assert staying.wait(DEADLINE) == 0
    staying.stdout.close()
    staying.stderr.close()
    now = victim.status()["profiling"]
    assert not now["active"] and now["sample_bytes"] == before


def keepers(pid):
    found = []
    for entry in os.listdir("/proc"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError, NotADirectoryError):
            words = pathlib.Path(f"/proc/{entry}/cmdline").read_bytes().split(b"\0")
            if words[:3] == [b"jescope", b"--keep-lease", str(pid).encode()]:
                found.append(int(entry))
    return found


@pytest.mark.parametrize("words", [["enable", "--for", "1h"], ["record", "--for", "1h"],
                                   ["enable", "--for", "1h", "--sample", "4KiB"], ["record", "--for", "1h", "--sample", "4KiB"]],
                         ids=["enable", "record", "enable-sample", "record-sample"])
def test_what_is_killed_leaves_nothing_on(tmp_path, program, words):
    """Its keeper outlives it, restores what it has changed and ends."""
    victim = program("counts")
    before = victim.status()["profiling"]["sample_bytes"]
    staying = subprocess.Popen([JESCOPE, *words, str(victim.pid)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env=environment(tmp_path), cwd=tmp_path)
    wait_for(lambda: victim.status()["profiling"]["active"], "profiling is on")
    assert victim.status()["profiling"]["sample_bytes"] == (4096 if "--sample" in words else before)
    (keeper,) = keepers(victim.pid)
    assert os.getsid(keeper) == keeper
    os.kill(keeper, signal.SIGTERM)
    staying.kill()
    staying.wait()
    wait_for(lambda: not victim.status()["profiling"]["active"], "profiling is off again")
    wait_for(lambda: not keepers(victim.pid), "the keeper has ended")
    assert victim.status()["profiling"]["sample_bytes"] == before


def switches(pid):
    """How often its thread has run: it does after each stop."""
    return [line for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() if "_ctxt_switches" in line]


@pytest.mark.skipif(not AS_ROOT, reason="only root can give another user a set-user-ID program of its own")
def test_another_program_is_left_alone(tmp_path, open_path, program):
    """A recording is over once its process executes another program, which neither it nor its keeper stops."""
    other = open_path / "other"
    shutil.copy(os.path.realpath(shutil.which("sleep")), other)
    other.chmod(0o4755)
    victim = program("/bin/sh", "-c", f"echo ready; read line; exec {other} 600", user=NOBODY, group=NOBODY, extra_groups=[])
    recording = subprocess.Popen([JESCOPE, "record", "--for", "1h", str(victim.pid)], stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE, text=True, env=environment(tmp_path), cwd=tmp_path)
    try:
        wait_for(lambda: keepers(victim.pid) and victim.status()["profiling"]["active"], "profiling is on")
        wait_for(lambda: stopped_outside(recording, victim.pid), "jescope is stopped, and does not hold the program")
        print(file=victim.process.stdin, flush=True)
        wait_for(lambda: "nanosleep" in pathlib.Path(f"/proc/{victim.pid}/wchan").read_text(), "the other program sleeps")
        before = switches(victim.pid)
        recording.send_signal(signal.SIGCONT)
        _, said = recording.communicate(timeout=DEADLINE)
    finally:
        recording.kill()
        recording.wait()
    assert f"sh ({victim.pid}) has executed another program" in said
    wait_for(lambda: not keepers(victim.pid), "the keeper has ended")
    assert switches(victim.pid) == before


def stopped_outside(process, pid):
    """Whether it could be stopped while it traces nothing."""
    process.send_signal(signal.SIGSTOP)
    wait_for(lambda: pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T", "it is stopped")
    if "\nTracerPid:\t0\n" in pathlib.Path(f"/proc/{pid}/status").read_text():
        return True
    process.send_signal(signal.SIGCONT)
    return False


def test_a_stopped_jescope_does_not_keep_it_on(tmp_path, program):
    """The lease is renewed; one that is not ends at its deadline."""
    victim = program("counts")
    staying = subprocess.Popen([JESCOPE, "record", "--for", "1h", str(victim.pid)], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, env=environment(tmp_path), cwd=tmp_path)
    try:
        wait_for(lambda: victim.status()["profiling"]["active"], "profiling is on")
        wait_for(lambda: stopped_outside(staying, victim.pid), "it is stopped, and does not hold the program")
        wait_for(lambda: not victim.status()["profiling"]["active"], "profiling is off again")
    finally:
        staying.kill()
        staying.wait()


def test_beside_a_lease_of_the_agent(tmp_path, program):
    """One recording at a time, whichever way it is asked for."""
    victim = program("counts")
    victim.ask("attach")
    victim.ask("enable", "--for", "1h")
    done = victim.ask("record", "--for", "1s", "--via", "attach", check=False)
    assert done.returncode == 1 and "is already being profiled" in done.stderr
    assert "has no agent" not in done.stderr
    victim.ask("disable")
    victim.ask("detach")


def test_ps_lists_without_stopping(tmp_path, program):
    victim = program("counts")

    def switches():
        lines = pathlib.Path(f"/proc/{victim.pid}/status").read_text().splitlines()
        return [line for line in lines if "ctxt_switches" in line]

    wait_for(lambda: victim.state() == "S", "it waits")
    before = switches()
    rows = json.loads(jescope(tmp_path, "ps", "--json").stdout)["processes"]
    assert next(row for row in rows if row["pid"] == victim.pid)["reach"] == "attach"
    assert switches() == before
