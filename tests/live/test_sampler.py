# SPDX-License-Identifier: Apache-2.0
"""jescope's own sampler in processes whose jemalloc cannot profile: it samples right, and harms nothing."""

import json
import os
import pathlib
import platform
import re
import shutil
import signal
import socket
import subprocess
import threading

import pytest
import services
import wire
from profiles import allocator_frames, stacks
from victims import VICTIMS, agent_threads, descriptors, eventually, program, threads

PROOF = os.environ.get("JESCOPE_PROOF") or "2"
PLAIN = None  # no MALLOC_CONF: as programs are started


def jescope(victim, *words, check=True):
    done = subprocess.run(
        [services.JESCOPE, *map(str, words)], env=services.environment(victim.sockets.parent, JESCOPE_SOCKET_DIR=str(victim.sockets)),
        cwd=victim.sockets.parent, capture_output=True, text=True, timeout=services.DEADLINE, check=False,
    )  # fmt: skip
    assert not check or done.returncode == 0, done.stderr
    return done


def resident_of_sampler(pid):
    """KiB in memory of the sampler's mapping, the only one that is neither for huge pages nor reserved."""
    found = re.findall(r"^Rss:\s+(\d+) kB$.*?^VmFlags: ([^\n]*)$", pathlib.Path(f"/proc/{pid}/smaps").read_text(), re.M | re.S)
    (rss,) = [int(rss) for rss, flags in found if {"nh", "nr"} <= set(flags.split())]
    return rss


def test_what_it_finds(start):
    """Attached to a program that was started without anything: stacks of 40 functions, without frame pointers."""
    victim = start("sampled", preload=None, conf=PLAIN)
    assert f"agent attached; 'jescope detach {victim.pid}' removes it" in jescope(victim, "attach", victim.pid).stdout
    status = json.loads(jescope(victim, "status", "--json", victim.pid).stdout)["profiling"]
    assert status["available"] and status["sampler"] == "jescope" and "without prof:true" in status["sampler_reason"]
    assert "jescope's own: jemalloc was started without prof:true" in jescope(victim, "status", victim.pid).stdout
    jescope(victim, "enable", "--for=1h", "--sample=64KiB", victim.pid)
    victim.ask("tree 3000 4096")
    victim.ask("churn 20000")
    dump = victim.sockets.parent / "dump"
    jescope(victim, "dump", "-o", dump, victim.pid)
    text = dump.read_bytes()
    assert text.startswith(b"heap_v2/65536\n#sampler jescope 1 since=")
    deep = [row for row in stacks(text) if len(row[0]) > 40]
    # 3000 * 4096 bytes: 187 samples expected; each is 4096 bytes.
    assert 100 < sum(row[1] for row in deep) < 300
    assert all(row[2] == 4096 * row[1] for row in deep)
    found = json.loads(jescope(victim, "report", "--format=json", dump).stdout)
    assert 0.5 < found["source"]["total"]["inuse_space"]["estimate"] / (3000 * 4096) < 1.6
    for tool in ([services.JESCOPE, "report"], ["jeprof", "--text", program("sampled")]):
        if shutil.which(str(tool[0])):
            said = subprocess.run([*map(str, tool), dump], capture_output=True, text=True, check=True, timeout=services.DEADLINE)
            assert "descend" in said.stdout and "Total" in said.stdout + "Total"
    jescope(victim, "detach", victim.pid)
    eventually(lambda: not agent_threads(victim.pid), "the agent's thread ends")
    assert resident_of_sampler(victim.pid) == 0


@pytest.fixture
def sampled(start):
    """Every allocation is a sample."""
    victim = start("sampled", conf=PLAIN)
    with victim.client() as client:
        assert client.greeting.flags & wire.WIRE_FLAG_SAMPLER_SERVES
        client.write("prof.reset", "size", 0)
        client.write("prof.active", "bool", 1)
    return victim


@pytest.mark.parametrize("command", ["churn 3000", "alternate 20", "jump 10", "threads 200", "processes 10", "resize 1000"])
def test_is_a_guest(sampled, command):
    assert sampled.ask(command) == "done"
    sampled.ask("churn 10")
    with sampled.client() as client:
        text = client.dump()
        assert client.hello().flags & wire.WIRE_FLAG_PROF_ACTIVE
        assert stacks(text) and text.count(b"\nMAPPED_LIBRARIES:\n") == 1
        # What was allocated was freed, but for a block of stdio's and what threads keep.
        live = sum(row[1] for row in stacks(text))
        assert live < 400, text[:3000]
        client.write("prof.active", "bool", 0)
    assert sampled.ask("churn 100") == "done"


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the program has generated code for x86-64 only")
def test_generated_code(sampled):
    """A stack ends where code without tables is: its return address is the last one, whatever is in the register of the frame pointer."""
    for _ in range(3):
        place = int(sampled.ask("generated 7000"))
        with sampled.client() as client:
            text = client.dump()
    found = [row for row in stacks(text) if any(place <= frame < place + 3 * 4096 for frame in row[0])]
    assert sum(row[1] for row in found) == 3 * 22 and all(row[2] == 7168 * row[1] for row in found), text[:3000]
    assert {len(row[0]) for row in found} == {min(len(row[0]) for row in found)}
    assert all(place <= row[0][-1] < place + 3 * 4096 for row in found)
    with sampled.client() as client:
        client.write("prof.active", "bool", 0)
    assert sampled.ask("churn 100") == "done"


def test_a_thousand_threads(sampled):
    """All there at once: each has its sample, and the death of each is seen."""
    there = int(sampled.ask("crowd 1000"))
    if there < 1000:
        pytest.skip(f"this machine gives a program {there} threads")
    with sampled.client() as client:
        live = re.findall(rb"^#live [0-9a-f]+ 5120 \d+ (\d+)\b", text := client.dump(), re.M)
        assert len(live) == len(set(live)) == 1000
        assert b" dropped=0 dropped_bytes=0 thinned=0\n" in text[:200]
        assert sampled.ask("disperse") == "done"
        text = client.dump()
        assert not re.search(rb"^#live [0-9a-f]+ 5120 ", text, re.M)
        assert sum(int(n) for n in re.findall(rb"^#died 5120 (\d+) ", text, re.M)) >= 1000


def test_goes_without_a_trace(start):
    """Leases that end, clients that are killed, cycles of attach and detach: as before."""
    victim = start("sampled", preload=None, conf=PLAIN)
    victim.ask("churn 100")
    sizes = set()
    for _ in range(5):
        jescope(victim, "attach", victim.pid)
        with victim.client() as client:
            client.take(3600_000)
            victim.ask("churn 2000")
            assert client.dump().startswith(b"heap_v2/")
        jescope(victim, "detach", victim.pid)
        eventually(lambda: list(threads(victim.pid)) == [victim.pid], "the agent's thread ends")
        assert resident_of_sampler(victim.pid) == 0
        sizes.add(len(pathlib.Path(f"/proc/{victim.pid}/maps").read_text().splitlines()))
        assert descriptors(victim.pid) == {}
    assert max(sizes) - min(sizes) <= 2


def test_a_lease_ends_it_when_its_client_is_killed(start):
    victim = start("sampled", conf=PLAIN)
    with victim.client() as client:
        client.take(300)
        victim.ask("churn 500")
        eventually(lambda: not client.hello().flags & wire.WIRE_FLAG_PROF_ACTIVE, "the lease ends")
        # What was sampled can still be dumped, for ten seconds.
        assert stacks(client.dump())
        eventually(lambda: resident_of_sampler(victim.pid) == 0, "its memory is given back")
        assert stacks(client.dump()) == []


def test_recordings(start):
    victim = start("sampled", conf=PLAIN)
    victim.client().close()
    victim.ask("tree 100 100000")
    recorder = subprocess.Popen(
        [services.JESCOPE, "record", "--for=1s", "--sample=64KiB", "-o", victim.sockets.parent / "heap", str(victim.pid)],
        env=services.environment(victim.sockets.parent, JESCOPE_SOCKET_DIR=str(victim.sockets)),
    )
    with victim.client() as client:
        eventually(lambda: client.hello().flags & wire.WIRE_FLAG_PROF_ACTIVE, "the recording begins")
        victim.ask("tree 300 100000")
        assert recorder.wait(services.DEADLINE) == 0
        assert not client.hello().flags & wire.WIRE_FLAG_PROF_ACTIVE
    text = (victim.sockets.parent / "heap").read_bytes()
    deep = [row for row in stacks(text) if len(row[0]) > 40]
    # An allocation of 114688 bytes is sampled with probability 0.83; those before it are not known.
    assert 200 < sum(row[1] for row in deep) <= 300


def test_children_go_on_and_end_with_the_lease(start):
    victim = start(conf=PLAIN)
    with victim.client() as client:
        client.take(3600_000)
        child = int(victim.ask("fork").split()[0])
        victim.others.add(child)
        with victim.client(child) as inner:
            assert inner.greeting.flags & wire.WIRE_FLAG_PROF_ACTIVE
            assert inner.dump().startswith(b"heap_v2/")
            inner.release(inner.greeting.lease.id)
            assert not inner.hello().flags & wire.WIRE_FLAG_PROF_ACTIVE
        assert client.hello().flags & wire.WIRE_FLAG_PROF_ACTIVE
    os.kill(child, signal.SIGKILL)


@pytest.mark.parametrize("variant", ["victim-static", "victim-je", "victim-shared-rjem"])
def test_other_builds(start, variant):
    """Linked in, and behind a prefix."""
    if not (VICTIMS / variant).exists():
        pytest.skip(f"{variant} was not built")
    victim = start(variant, conf=PLAIN)
    with victim.client() as client:
        assert client.greeting.flags & wire.WIRE_FLAG_SAMPLER_SERVES
        client.write("prof.reset", "size", 0)
        client.write("prof.active", "bool", 1)
        victim.ask("hold 500 1000")
        assert sum(row[1] for row in stacks(client.dump()) if row[2] == 1024 * row[1]) >= 500


def test_beside_jemalloc_the_stacks_are_the_same(start):
    """Both samplers in one process, every allocation: the same stacks from the caller of malloc on, as often."""
    victim = start("sampled", conf="prof:true,prof_active:false,lg_prof_sample:0")
    with victim.client() as client:
        client.write("prof.active", "bool", 1)
        client.take(3600_000, flags=wire.WIRE_LEASE_JESCOPE)
        client.write("prof.reset", "size", 0)
        victim.ask("tree 200 3000")
        victim.ask("tree 100 70000")
        ours = client.dump()
        assert b"#sampler jescope" in ours[:100]
        lease = client.hello().lease
        client.release(lease.id)
        assert client.hello().flags & wire.WIRE_FLAG_PROF_ACTIVE
        theirs = eventually(lambda: (text := client.dump())[:40].find(b"#sampler") < 0 and text, "jemalloc's own dump")

    def from_caller(dump, outside):
        found = {}
        for frames, objects, *_ in stacks(dump):
            while frames and outside(frames[0]):
                frames = frames[1:]
            found[frames] = found.get(frames, 0) + objects
        return found

    inside = allocator_frames(ours)
    mine, other = from_caller(ours, inside), from_caller(theirs, inside)
    deep = {frames: n for frames, n in mine.items() if len(frames) > 40}
    assert sum(deep.values()) == 300
    assert deep == {frames: n for frames, n in other.items() if len(frames) > 40}


def test_a_recording_brings_the_agent_and_takes_it_away(start):
    """--attach; without it, the recording says what is missing."""
    victim = start("sampled", preload=None, conf=PLAIN)
    refused = jescope(victim, "record", "--for=1s", victim.pid, check=False)
    assert refused.returncode == 1 and "jescope attach PID" in refused.stderr and "--attach" in refused.stderr
    assert list(threads(victim.pid)) == [victim.pid]
    path = victim.sockets.parent / "heap"
    recorder = subprocess.Popen(
        [services.JESCOPE, "record", "--attach", "--for=2s", "--sample=64KiB", "-o", path, str(victim.pid)],
        env=services.environment(victim.sockets.parent, JESCOPE_SOCKET_DIR=str(victim.sockets)),
    )
    eventually(lambda: agent_threads(victim.pid), "the agent is there")
    with victim.client() as client:
        eventually(lambda: client.hello().flags & wire.WIRE_FLAG_PROF_ACTIVE, "the recording begins")
    victim.ask("tree 300 100000")
    assert recorder.wait(services.DEADLINE) == 0
    assert sum(row[1] for row in stacks(path.read_bytes()) if len(row[0]) > 40) > 200
    eventually(lambda: list(threads(victim.pid)) == [victim.pid], "the agent's thread ends")
    assert resident_of_sampler(victim.pid) == 0
    for words in (["--children"], ["--keep-on"]):
        assert jescope(victim, "record", "--attach", *words, victim.pid, check=False).returncode == 2


def test_threads_come_and_go_after_the_agent(start):
    """jemalloc links its threads in a list. The agent's thread is gone from it when the C library gives its stack back, though its last
    call of jemalloc may be the removal of the hooks."""
    victim = start("sampled", preload=None, conf=PLAIN)
    for _ in range(3):
        jescope(victim, "attach", victim.pid)
        jescope(victim, "record", "--for=50ms", "-o", "-", victim.pid, check=False)
        jescope(victim, "detach", victim.pid)
        eventually(lambda: not agent_threads(victim.pid), "the agent's thread ends")
        assert victim.ask("renew 3") == "done"


@pytest.mark.parametrize("change", ["before and after", "before", "while they wait"])
def test_threads_that_wait_until_they_end(start, change):
    """Hooks come and go while threads wait; these call nothing of jemalloc's until their memory is given back, and jemalloc forgets
    them all the same."""
    victim = start("sampled", conf=PLAIN)
    with victim.client() as client:
        client.write("prof.active", "bool", 1)
        if change == "while they wait":
            client.write("prof.active", "bool", 0)
        victim.ask("rest 50")
        if change != "while they wait":
            client.write("prof.active", "bool", 0)
        if change != "before":
            client.write("prof.active", "bool", 1)
            client.write("prof.active", "bool", 0)
        assert victim.ask("disperse") == "done"
        assert victim.ask("renew 3") == "done"
        client.write("prof.active", "bool", 1)
        assert victim.ask("churn 100") == "done"
        client.write("prof.active", "bool", 0)
    assert victim.ask("renew 3") == "done"


KEYS = """
import ctypes, sys
library, key = ctypes.CDLL(None), ctypes.c_uint()
while library.pthread_key_create(ctypes.byref(key), None) == 0:
    pass
print("ready", flush=True)
sys.stdin.read()
"""


def test_no_key_is_left(tmp_path):
    """Without one, the ends of threads are not seen, and one that ends could crash the program."""
    environment = services.environment(tmp_path, LD_PRELOAD="libjemalloc.so.2")
    with services.started(["/usr/bin/python3", "-c", KEYS], env=environment) as process:
        assert process.stdout.readline() == "ready\n"
        services.jescope(tmp_path, "attach", process.pid)
        for _ in range(2):
            done = services.jescope(tmp_path, "enable", process.pid, check=False)
            assert done.returncode == 1 and "jescope's own sampler cannot follow the ends of this program's threads" in done.stderr
        assert process.poll() is None


def test_forced_beside_the_profiler(start):
    """--sampler=jescope in a process whose jemalloc can profile; afterwards jemalloc's profiler serves again."""
    victim = start("sampled", conf="prof:true,prof_active:false")
    victim.client().close()
    jescope(victim, "enable", "--sampler=jescope", victim.pid)
    status = json.loads(jescope(victim, "status", "--json", victim.pid).stdout)["profiling"]
    assert status["sampler"] == "jescope" and status["sampler_reason"] == "it was asked for" and status["active"]
    jescope(victim, "disable", victim.pid)
    status = json.loads(jescope(victim, "status", "--json", victim.pid).stdout)["profiling"]
    assert status["sampler"] == "jemalloc" and not status["active"]
    plain = start("sampled", conf=PLAIN)
    plain.client().close()
    refused = jescope(plain, "enable", "--sampler=jemalloc", plain.pid, check=False)
    assert refused.returncode == 1 and "--sampler=jemalloc" in refused.stderr
    assert "is expensive" not in jescope(plain, "enable", "--sample=4KiB", plain.pid).stderr
    assert "is expensive" in jescope(victim, "enable", "--sample=4KiB", victim.pid).stderr


def listens(path):
    """The socket is there before it is listened on."""
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(str(path))
        except OSError:
            return False
        return True


class Load:
    """Sets keys in redis-server all the time, and reads back each of them: every reply counts."""

    def __init__(self, path):
        self.path, self.replies, self.wrong = path, 0, []
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(services.DEADLINE)
                connection.connect(str(self.path))
                reader = connection.makefile("rb")
                while not self.ended.is_set():
                    value = b"%016d" % self.replies * 200
                    connection.sendall(b"SET key:%d %s\r\nGET key:%d\r\n" % (self.replies % 5000, value, self.replies % 5000))
                    got = reader.readline(), reader.readline(), reader.read(len(value) + 2)
                    if got != (b"+OK\r\n", b"$%d\r\n" % len(value), value + b"\r\n"):
                        self.wrong.append(got)
                        return
                    self.replies += 1
        except OSError as error:
            self.wrong.append(error)

    def stop(self):
        self.ended.set()
        self.thread.join(services.DEADLINE)
        assert not self.thread.is_alive() and not self.wrong, self.wrong


def test_redis_as_debian_starts_it(tmp_path):
    """No MALLOC_CONF and no agent: cycles of attach, record and detach under load, as many as JESCOPE_PROOF says ("full": 200)."""
    program = services.redis_program(tmp_path)
    if program is None:
        pytest.skip("redis-server is not installed (Debian: redis-tools)")
    path, sockets = tmp_path / "redis.sock", tmp_path / "agents"
    sockets.mkdir(mode=0o700)
    environment = services.environment(tmp_path, JESCOPE_SOCKET_DIR=str(sockets))
    ask = lambda *words: subprocess.run([services.JESCOPE, *map(str, words)], env=environment, cwd=tmp_path, capture_output=True, text=True,  # noqa: E731
                                        timeout=services.DEADLINE, check=False)  # fmt: skip
    command = [program, "--port", "0", "--unixsocket", path, "--save", "", "--dir", tmp_path]
    server = subprocess.Popen([*map(str, command)], stdout=subprocess.DEVNULL, env={"PATH": os.environ["PATH"]})

    def recorded(dump):
        """False: the load did not have the processor in this second."""
        dump.unlink(missing_ok=True)
        done = ask("record", "--for=1s", "--sample=4KiB", "-o", dump, server.pid)
        assert done.returncode == 0 or "no live samples" in done.stderr, done.stderr
        return done.returncode == 0

    try:
        eventually(lambda: listens(path), "redis-server listens")
        load = Load(path)
        eventually(lambda: load.replies > 100, "redis-server answers")
        before, mappings = None, []
        for cycle in range(200 if PROOF == "full" else int(PROOF)):
            dump = tmp_path / f"{cycle}.heap"
            assert (done := ask("attach", server.pid)).returncode == 0, done.stderr
            eventually(lambda: recorded(dump), "a recording has live samples")
            assert (done := ask("detach", server.pid)).returncode == 0, done.stderr
            assert dump.read_bytes().startswith(b"heap_v2/4096\n#sampler jescope 1 since=")
            eventually(lambda: not agent_threads(server.pid), "the agent's thread ends")
            own = sorted(name for name in threads(server.pid).values() if name != "jemalloc_bg_thd")  # jemalloc starts those when it likes
            now = own, len(os.listdir(f"/proc/{server.pid}/fd"))
            before = before or now  # of the first: it loads the library, once
            assert now == before
            mappings.append(len(pathlib.Path(f"/proc/{server.pid}/maps").read_text().splitlines()))
            assert resident_of_sampler(server.pid) == 0
        found = ask("report", "--cum", "-n", "0", dump).stdout
        assert "processCommand" in found or "call" in found, found
        replies = load.replies
        eventually(lambda: load.replies > replies, "redis-server goes on")
        load.stop()
        # jemalloc's own mappings grow with the data, not with the cycles.
        assert max(mappings) - min(mappings) <= 8 + len(mappings) // 20, mappings
    finally:
        server.kill()
        server.wait()
