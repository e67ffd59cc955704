# SPDX-License-Identifier: Apache-2.0
"""The agent's basics over a raw socket: hello, controls, a dump, statistics, a lease, and what happens to nonsense."""

import array
import contextlib
import os
import pathlib
import signal
import socket
import struct
import subprocess
import sys
import time

import pytest

AGENT = pathlib.Path(os.environ["JESCOPE_BUILD"]) / "src/agent/libjescope-agent.so"
JEMALLOC = "libjemalloc.so.2"
DEADLINE = 120

MAGIC = 0x4F43534A
HELLO, CTL, DUMP, STATS, LEASE = 1, 2, 3, 4, 5
OK, UNKNOWN_OP, BAD_MESSAGE, BAD_VERSION, NOT_ALLOWED = range(5)
_, CONTROL_FAILED, BAD_DESCRIPTOR, BUSY, NO_LEASE = range(5, 10)
NONE, BOOL, UNSIGNED, SIZE, SSIZE, U64, STRING = range(7)
READ, WRITE = 1, 2
SERVES_MALLOC, CONFIG_PROF, OPT_PROF, _, PROF_ACTIVE, LEASED = (1 << i for i in range(6))


def wait_for(condition):
    """The first true value of condition(), asked for until the deadline."""
    end = time.monotonic() + DEADLINE
    while True:
        value = condition()
        if value or time.monotonic() > end:
            return value
        time.sleep(0.01)


class Client:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(DEADLINE)
        self.socket.connect(str(path))
        self.sequence = 0

    def send(self, op, body=b"", fd=None, version=1):
        self.sequence += 1
        message = struct.pack("=IHHII", MAGIC, version, op, self.sequence, 16 + len(body)) + body
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))] if fd is not None else []
        self.socket.sendmsg([message], rights)
        reply = self.socket.recv(4096)
        magic, _, reply_op, sequence, size, status, error = struct.unpack_from("=IHHIIIi", reply)
        assert (magic, reply_op, sequence, size) == (MAGIC, op, self.sequence, len(reply))
        return status, error, reply[24:]

    def hello(self):
        status, _, body = self.send(HELLO, struct.pack("=HHI", 1, 1, 0))
        assert status == OK
        version, _, flags, pid = struct.unpack_from("=HHIi", body)
        texts = body[72:]
        cut = lambda a, n: texts[a : a + n].split(b"\0")[0].decode()
        return {"version": version, "flags": flags, "pid": pid, "name": cut(0, 16), "jemalloc": cut(32, 64),
                "prefix": cut(96, 32), "found_in": cut(128, 256)}

    def ctl(self, name, kind, flags=READ, value=0):
        status, error, body = self.send(CTL, struct.pack("=IIQ128s", kind, flags, value, name.encode()))
        if status != OK:
            return status, error
        _, truncated, number = struct.unpack_from("=IIQ", body)
        return OK, body[16:].split(b"\0")[0].decode() if kind == STRING else number

    def output(self, op, body):
        fd = os.memfd_create("output")
        try:
            status, error, body = self.send(op, body, fd)
            if status != OK:
                return status, b""
            (size,) = struct.unpack_from("=Q", body)
            data = os.pread(fd, 1 << 26, 0)
            assert len(data) == size
            return status, data
        finally:
            os.close(fd)

    def lease(self, action, flags=0, lease=0, ms=0, active=1):
        status, error, body = self.send(LEASE, struct.pack("=IIQQII", action, flags, lease, ms, active, 0))
        return status, struct.unpack_from("=QQBB", body)[0] if body else 0


PROGRAM = "import sys; keep = [bytes(5000) for _ in range(1000)]; print('up', flush=True); sys.stdin.read()"


class Target:
    def __init__(self, tmp_path, program=PROGRAM, conf="prof:true,prof_active:false,lg_prof_sample:12",
                 preload=(JEMALLOC, str(AGENT)), preexec_fn=None, **env):
        self.directory = tmp_path / "sockets"
        environ = {"PATH": os.environ["PATH"], "LD_PRELOAD": ":".join(preload), "MALLOC_CONF": conf,
                   "JESCOPE_SOCKET_DIR": str(self.directory), "JESCOPE_DEBUG": "1", **env}
        self.log = open(tmp_path / "stderr", "w+")
        self.process = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.log, env=environ, preexec_fn=preexec_fn)
        assert self.process.stdout.readline() == b"up\n"

    def sockets(self):
        return sorted(self.directory.glob(f"{self.process.pid}.*.sock")) if self.directory.exists() else []

    def client(self):
        assert wait_for(self.sockets), self.said()
        return Client(self.sockets()[0])

    def said(self):
        return pathlib.Path(self.log.name).read_text()

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        self.log.close()

    def thread_names(self):
        return [p.read_text().strip() for p in pathlib.Path(f"/proc/{self.process.pid}/task").glob("*/comm")]


@pytest.fixture
def start(tmp_path):
    targets = []

    def _start(**kwargs):
        targets.append(Target(tmp_path, **kwargs))
        return targets[-1]

    yield _start
    for target in targets:
        target.end()


def test_says_who_it_is(start):
    target = start()
    hello = target.client().hello()
    assert hello["pid"] == target.process.pid and hello["version"] == 1
    assert hello["flags"] & SERVES_MALLOC and hello["flags"] & OPT_PROF and not hello["flags"] & PROF_ACTIVE
    assert hello["prefix"] == "" and hello["jemalloc"][0].isdigit() and "libjemalloc" in hello["found_in"]
    assert hello["name"].startswith("python3")


def test_reads_and_writes_controls(start):
    client = start().client()
    assert client.ctl("config.stats", BOOL) == (OK, 1)
    assert client.ctl("version", STRING)[1].count(".") == 2
    assert client.ctl("epoch", U64, READ | WRITE, 1)[0] == OK
    assert client.ctl("stats.allocated", SIZE)[1] > 1000000
    assert client.ctl("stats.arenas.0.small.nmalloc", U64)[0] == OK
    assert client.ctl("no.such", U64) == (CONTROL_FAILED, 2)
    assert client.ctl("stats.allocated", STRING) == (NOT_ALLOWED, 0)
    assert client.ctl("arenas.create", UNSIGNED) == (NOT_ALLOWED, 0)
    assert client.ctl("arena.0.reset", NONE, WRITE) == (NOT_ALLOWED, 0)
    assert client.ctl("arena.0.purge", NONE, WRITE) == (OK, 0)
    assert client.ctl("max_background_threads", SIZE, WRITE, 0) == (NOT_ALLOWED, 0)
    assert client.ctl("prof.active", BOOL, READ | WRITE, 1) == (OK, 0)
    assert client.ctl("prof.active", BOOL) == (OK, 1)
    assert client.hello()["flags"] & PROF_ACTIVE


def test_dumps_and_prints_statistics(start):
    client = start(conf="prof:true,lg_prof_sample:12").client()
    status, dump = client.output(DUMP, bytes(8))
    assert status == OK and dump.startswith(b"heap_v2/4096\n") and b"MAPPED_LIBRARIES:" in dump and dump.count(b"@") > 1
    status, text = client.output(STATS, bytes(32))
    assert status == OK and text.startswith(b"___ Begin jemalloc statistics ___")
    status, json = client.output(STATS, b"J".ljust(32, b"\0"))
    assert status == OK and json.startswith(b'{"jemalloc"')


def test_takes_nothing_but_a_writable_memfd(start, tmp_path):
    client = start().client()
    with open(tmp_path / "file", "w+") as file:
        assert client.send(STATS, bytes(32), file.fileno())[0] == BAD_DESCRIPTOR
    assert client.send(STATS, bytes(32))[0] == BAD_MESSAGE
    assert client.hello()["version"] == 1


def test_a_lease_ends_by_itself(start):
    target = start()
    client = target.client()
    status, lease = client.lease(1, ms=300)
    assert status == OK and lease != 0 and client.ctl("prof.active", BOOL) == (OK, 1)
    client.socket.close()
    client = target.client()
    assert wait_for(lambda: client.ctl("prof.active", BOOL) == (OK, 0))
    assert client.lease(3, lease=lease)[0] == NO_LEASE


def test_a_second_lease_is_told_of_the_first(start):
    client = start().client()
    status, lease = client.lease(1, ms=60000)
    assert status == OK
    assert client.lease(1, ms=60000) == (BUSY, lease)
    assert client.lease(2, lease=lease, ms=90000) == (OK, lease)
    assert client.lease(3, lease=lease) == (OK, 0)
    assert client.ctl("prof.active", BOOL) == (OK, 0)


def test_lives_on_after_nonsense(start):
    client = start().client()
    assert client.send(77)[0] == UNKNOWN_OP
    assert client.send(CTL, b"short")[0] == BAD_MESSAGE
    assert client.send(CTL, bytes(144), version=9)[0] == BAD_VERSION
    client.socket.send(b"x" * 5000)
    assert struct.unpack_from("=I", client.socket.recv(4096), 16)[0] == BAD_MESSAGE
    client.sequence = 0
    assert client.hello()["version"] == 1


def test_leaves_the_profiler_alone_where_it_is_off(start):
    """jescope's own sampler answers for it."""
    client = start(conf="prof:false").client()
    assert not client.hello()["flags"] & OPT_PROF
    assert client.ctl("prof.active", BOOL) == (OK, 0)
    assert client.ctl("thread.prof.active", BOOL)[0] == CONTROL_FAILED
    assert client.output(DUMP, bytes(8))[0] == OK
    assert client.ctl("stats.allocated", SIZE)[0] == OK


def test_no_jemalloc_no_thread_no_socket(start):
    target = start(preload=(str(AGENT),))
    assert wait_for(lambda: "jescope" not in target.thread_names())
    assert target.sockets() == []


def test_off_means_off(start):
    target = start(JESCOPE="off")
    assert "jescope" not in target.thread_names() and target.sockets() == []


def test_removes_its_socket_at_exit(start):
    target = start()
    target.client()
    target.process.stdin.close()
    target.process.wait(DEADLINE)
    assert target.sockets() == []


def test_sigterm_still_ends_the_program(start):
    target = start()
    target.client()
    target.process.send_signal(signal.SIGTERM)
    assert target.process.wait(DEADLINE) == -signal.SIGTERM


def test_a_full_house_puts_out_the_longest_idle(start):
    target = start()
    first = target.client()
    first.hello()
    others = [target.client() for _ in range(15)]
    for client in others:
        client.hello()
    target.client().hello()
    with pytest.raises((ConnectionError, AssertionError, struct.error)):
        first.hello()
    assert others[-1].hello()["pid"] == target.process.pid


def test_a_client_that_does_not_read_harms_nobody(start):
    target = start()
    deaf = target.client()
    deaf.socket.setblocking(False)
    hello = struct.pack("=IHHIIHHI", MAGIC, 1, HELLO, 1, 24, 1, 1, 0)

    def is_put_out():
        try:
            deaf.socket.send(hello)
        except BlockingIOError:
            return False
        except ConnectionError:
            return True

    assert wait_for(is_put_out)
    assert target.client().hello()["pid"] == target.process.pid


def test_a_child_has_its_own(start):
    target = start(program="import os, sys, time; print('up', flush=True); sys.stdin.readline(); pid = os.fork();\n"
                           "if pid == 0: time.sleep(60)\n"
                           "sys.stdin.read(); os.kill(pid, 9); os.waitpid(pid, 0)")
    parent = target.client()
    target.process.stdin.write(b"\n")
    target.process.stdin.flush()

    def pids():
        found = set()
        for path in target.directory.glob("*.sock"):
            with contextlib.suppress(ConnectionRefusedError):  # it is there before it listens
                found.add(Client(path).hello()["pid"])
        return found

    assert wait_for(lambda: len(pids()) == 2)
    assert parent.hello()["pid"] in pids()


def test_a_directory_open_to_others_is_not_used(start, tmp_path):
    (tmp_path / "sockets").mkdir(mode=0o755)
    target = start()
    assert wait_for(lambda: "socket directory must be owned by the user with mode 0700" in target.said())
    assert target.sockets() == []


def test_a_long_directory_is_used_all_the_same(start, tmp_path):
    directory = tmp_path / ("d" * 200)
    target = start(JESCOPE_SOCKET_DIR=str(directory))
    target.directory = directory
    assert wait_for(target.sockets)
    descriptor = os.open(directory, os.O_PATH)
    try:
        client = Client(f"/proc/self/fd/{descriptor}/{target.sockets()[0].name}")
        assert client.hello()["pid"] == target.process.pid
    finally:
        os.close(descriptor)
