# SPDX-License-Identifier: Apache-2.0
"""`jescope ledger`: every line of it against a program that knows what it holds."""

import json
import os
import re

import loaded
import pytest
from load import Http
from services import JESCOPE, PYTHON, environment, free_port, jescope, started, wait_for

MIB = 1 << 20
# Held in each way, in MiB; all of it written to.
PROGRAM = """
import ctypes, mmap, os, socket, sys, tempfile, threading
MIB = 1 << 20

def fill(pages):
    for at in range(0, len(pages), 4096):
        pages[at] = 1
    return pages

live = [b"x" * 20000 for _ in range(40 * MIB // 20000)]
malloc = ctypes.CDLL(None).malloc
malloc.argtypes, malloc.restype = [ctypes.c_size_t], ctypes.c_void_p
untouched = malloc(48 * MIB)
direct = fill(mmap.mmap(-1, 24 * MIB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
shared = fill(mmap.mmap(-1, 10 * MIB))
memory = os.memfd_create("held")
os.write(memory, b"y" * (12 * MIB))
file = tempfile.TemporaryFile(dir=sys.argv[1])
file.write(b"z" * (6 * MIB))
file.flush()
mapped = mmap.mmap(file.fileno(), 6 * MIB, prot=mmap.PROT_READ)
sum(mapped[at] for at in range(0, len(mapped), 4096))
pair = socket.socketpair()
pair[0].setblocking(False)
sent = 0
try:
    while True:
        sent += pair[0].send(bytes(4096))
except BlockingIOError:
    pass
waiting = os.pipe()
os.write(waiting[1], bytes(60000))
for _ in range(8):
    threading.Thread(target=threading.Event().wait, daemon=True).start()
print(os.getpid(), sent, flush=True)
sys.stdin.read()
"""


def ledger(scratch, pid):
    document = json.loads(jescope(scratch, "ledger", "--json", pid).stdout)
    lines = {line["line"]: line for line in document["lines"]}
    for level in ("rss", "group"):
        if document[level] is not None:
            assert sum(line["bytes"] for line in lines.values() if line["level"] == level) == document[level]
    return document, lines


@pytest.fixture(scope="module", params=["jemalloc", "glibc"])
def program(request, tmp_path_factory):
    """The program, its pid and the bytes in its sockets; with jemalloc and the agent, and with neither."""
    scratch = tmp_path_factory.mktemp("ledger")
    words = [PYTHON, "-c", PROGRAM, scratch]
    if request.param == "jemalloc":
        words = [JESCOPE, "run", "--", *words]
    with started(words, env=environment(scratch, PYTHONMALLOC="malloc")) as process:
        pid, sent = process.stdout.readline().split()
        yield request.param, scratch, int(pid), int(sent)


def mib(lines, name):
    return lines[name]["bytes"] / MIB


def test_lines(program):
    allocator, scratch, pid, sent = program
    document, lines = ledger(scratch, pid)
    assert abs(lines["unexplained"]["bytes"]) <= document["tolerance"]
    assert mib(lines, "shared-memory") == pytest.approx(10, abs=1)
    assert mib(lines, "file-mappings") >= 6
    assert mib(lines, "tmpfs-files") >= 12
    assert sent <= lines["sockets"]["bytes"] <= 16 * sent + MIB
    assert 60000 <= lines["pipes"]["bytes"] <= 65536
    assert lines["kernel-stacks"]["bytes"] >= 9 * 16384 and lines["page-tables"]["bytes"] > 0
    assert 0 < lines["stacks"]["bytes"] < 4 * MIB
    assert 0 < mib(lines, "text") and 0 < mib(lines, "static-data")
    if allocator == "jemalloc":
        assert document["method"] == "flag" and document["notice"] is None
        assert 88 <= mib(lines, "live") <= 110
        assert -56 <= mib(lines, "untouched") <= -40
        assert mib(lines, "other-anonymous") == pytest.approx(24, abs=2)
        assert mib(lines, "other-allocators") < 2
    else:
        assert document["method"] == "nothing" and "statistics" in document["notice"]
        assert "live" not in lines
        assert mib(lines, "other-allocators") + mib(lines, "other-anonymous") == pytest.approx(24 + 40, abs=16)
        assert mib(lines, "other-allocators") >= 36


def test_text(program):
    _, scratch, pid, _ = program
    text = jescope(scratch, "ledger", pid).stdout
    assert text.startswith(f"python3 ({pid})\n") or f"({pid})\n" in text.splitlines(True)[0]
    for words in ("Resident set, ", "unexplained", "Outside of the resident set", "socket buffers", "Read within"):
        assert words in text
    assert "swapped out" not in text or "swapped out" in jescope(scratch, "ledger", "--all", pid).stdout


def test_short_form(program):
    """In status: what is largest beside jemalloc's own memory, and what nothing explains."""
    allocator, scratch, pid, _ = program
    if allocator != "jemalloc":
        assert jescope(scratch, "status", pid, check=False).stdout == ""
        return

    def status():
        """A machine that is busy may not read the mappings within the limit."""
        shown = jescope(scratch, "status", pid).stdout
        return "rest of RSS" in shown and shown
    shown = wait_for(status, "status has the mappings")
    rows = {line[2:14].strip(): line[15:] for line in shown.splitlines()[1:]}
    parts = re.findall(r"([\d.]+) MiB ([^,;]+)", rows["rest of RSS"])
    assert 2 <= len(parts) <= 3 and [float(size) for size, _ in parts] == sorted((float(size) for size, _ in parts), reverse=True)
    found = {title: float(size) for size, title in parts}
    assert found["other anonymous mappings"] == pytest.approx(24, abs=2)
    assert found["shared memory, mapped" if "shared memory, mapped" in found else "program text"] > 0
    number, unit = re.fullmatch(r"-?([\d.]+) (\w+)", rows["unexplained"]).groups()
    assert unit in ("B", "KiB") or float(number) <= 4


def test_nothing_to_account_for(tmp_path):
    result = jescope(tmp_path, "ledger", "2147483646", check=False)
    assert result.returncode == 1 and "no process with pid 2147483646" in result.stderr


def test_children(tmp_path):
    """What a child copies after a fork is not shared any more, and is its own."""
    forks = """
import os, sys
held = bytearray(b"x" * (32 << 20))
reading, writing = os.pipe()
child = os.fork()
if child == 0:
    for at in range(0, len(held) // 2, 4096):
        held[at] = 1
    os.write(writing, b"1")
    sys.stdin.read()
    os._exit(0)
os.read(reading, 1)
print("ready", flush=True)
sys.stdin.read()
"""
    with started([PYTHON, "-c", forks], env=environment(tmp_path)) as process:
        process.stdout.readline()
        _, lines = ledger(tmp_path, process.pid)
        assert 15 <= mib(lines, "children") <= 24
        assert 15 <= mib(lines, "shared-with-children") <= 24
        assert mib(lines, "shared-with-others") >= 7


NODE = """
const bodies = Object.fromEntries({names}.map((name, at) => [name, Buffer.from({bodies}[at], "latin1")]));
const kept = Array.from({{length: 300}}, () => Buffer.alloc(200000, 1));
require("http").createServer((request, response) => response.end(bodies[request.url.slice(1)])).listen({port}, "127.0.0.1");
"""


class Node(loaded.Server):
    """A heap of its own beside jemalloc's, and code compiled at run time."""

    name, program, kind = "node", "node", "http"

    def __init__(self, folder):
        super().__init__(folder)
        port = free_port()
        self.address = f"127.0.0.1:{port}"
        names = [f"file{number}" for number in range(Http.NAMES)]
        script = self.folder / "server.js"
        script.write_text(NODE.format(names=json.dumps(names), bodies=json.dumps([Http.body_of(name).decode("latin1") for name in names]), port=port))
        self.command = [loaded.need("node"), script]


@pytest.mark.parametrize("kind", [*loaded.SERVERS, Node], ids=lambda kind: kind.name)
def test_servers_at_work(tmp_path, kind):
    """Of Debian's servers with jemalloc in front, under load, next to nothing stays unexplained."""
    if "JESCOPE_PROOF" not in os.environ:
        pytest.skip("servers are put under load with JESCOPE_PROOF alone")
    if loaded.need(kind.program) is None:
        pytest.skip(f"{kind.name} is not installed")
    with loaded.running(kind, tmp_path) as server, loaded.under_load(server) as load:
        document, lines = ledger(tmp_path, server.pid)
        server.assert_runs()
    assert load.failures == []
    assert document["tolerance"] == max(document["rss"] // 100, 4 * MIB) and lines["live"]["bytes"] > 0
    assert abs(lines["unexplained"]["bytes"]) <= document["tolerance"], lines
