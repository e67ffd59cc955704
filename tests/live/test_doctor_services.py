# SPDX-License-Identifier: Apache-2.0
"""The doctor, of Debian's redis-server, python3 and pg_test_fsync that were brought into the state of each cause: the cause first, and its bytes.

All with JESCOPE_PROOF, as `make soak` runs them.
"""

import contextlib
import dataclasses
import json
import os
import pathlib
import socket
import threading

import pytest
from services import BUILD, JESCOPE, PYTHON, environment, jescope, redis, redis_program, started, wait_for

MIB = 1 << 20
FACTOR = 1.5

PROOF = "JESCOPE_PROOF" in os.environ
pytestmark = pytest.mark.skipif(not PROOF, reason="services are brought into their states with JESCOPE_PROOF alone")


def first_of(scratch, pid, watch="4s"):
    done = jescope(scratch, "doctor", "--json", f"--for={watch}", pid, check=False)
    assert done.returncode in (0, 4), done.stderr
    document = json.loads(done.stdout)
    return document["findings"][0] if document["findings"] else {"cause": "healthy", "document": document}


# ---- an interpreter ----

IN_THREADS = """
import threading
def in_threads(count, body, stack=256 << 10):
    threading.stack_size(stack)
    done, rest = threading.Barrier(count + 1), threading.Event()
    def run(number):
        kept = body(number)
        done.wait()
        rest.wait()
    for number in range(count):
        threading.Thread(target=run, args=(number,), daemon=True).start()
    done.wait()
"""

MAPPED = """
import mmap
kept = mmap.mmap(-1, 80 << 20, flags=mmap.{flags} | mmap.MAP_ANONYMOUS)
kept[:] = b"x" * len(kept)
"""

FILE = """
import mmap, os
with open({path!r}, "wb") as file:
    file.write(b"x" * (120 << 20))
file = open({path!r}, "rb")
kept = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
assert sum(kept[at] for at in range(0, len(kept), 4096)) > 0
os.unlink({path!r})
"""

MEMFD = """
import os
kept = os.memfd_create("kept")
for _ in range(80):
    os.write(kept, b"x" * (1 << 20))
"""

PIPES = """
import fcntl, os
kept = []
for _ in range(80):
    reader, writer = os.pipe()
    fcntl.fcntl(writer, 1031, 1 << 20)
    os.set_blocking(writer, False)
    try:
        while os.write(writer, b"x" * 65536):
            pass
    except BlockingIOError:
        kept += [reader, writer]
"""

STACKS = IN_THREADS + """
import json, sys
sys.setrecursionlimit(1 << 20)
in_threads(8, lambda number: json.loads("[" * 60000 + "]" * 60000) and None, stack=256 << 20)
"""

FORKED = """
import os, signal
kept = bytearray(b"x" * (60 << 20))
reader, writer = os.pipe()
for _ in range(2):
    if os.fork() == 0:
        kept[::4096] = b"y" * len(kept[::4096])
        os.write(writer, b"!")
        import ctypes
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
        signal.pause()
for _ in range(2):
    os.read(reader, 1)
"""

SBRK = """
import ctypes
libc = ctypes.CDLL(None)
libc.sbrk.restype = ctypes.c_void_p
ctypes.memset(libc.sbrk(ctypes.c_long(80 << 20)), 1, 80 << 20)
"""

CACHES = IN_THREADS + """
def work(number):
    for size in (256, 384, 512):
        blocks = [bytes(b"x" * (size * 1000)) for _ in range(12)]
        del blocks
in_threads(8, work)
"""

ARENAS = IN_THREADS + """
def work(number):
    kept = [bytes(size) for size in range(1024, 14000, 900) for _ in range(2)]
    return kept + [bytes(size) for size in range(64, 1024, 64)]
in_threads(96, work)
"""

METADATA = IN_THREADS + """
in_threads(700, lambda number: bytes(100))
"""

RETAINED = """
import ctypes
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
kept = [libc.malloc(ctypes.c_size_t((20 + i) << 20)) for i in range(40)]
for block in kept:
    libc.free(ctypes.c_void_p(block))
"""

LOADED = """
kept = [bytes([number % 251]) * 900 for number in range(100000)]
"""

CHURN = """
import threading
def churn():
    while True:
        [[number] for number in range(2000)]
threading.Thread(target=churn, daemon=True).start()
"""

BURST = """
kept = [b"x" * 50000 for _ in range(4000)]
del kept
"""

UNLOADED = """
import ctypes, threading, time, _ctypes
streams = []
def compress():
    while True:
        library = ctypes.CDLL("libbz2.so.1.0")
        streams.append(ctypes.create_string_buffer(256))
        assert library.BZ2_bzCompressInit(streams[-1], 1, 0, 0) == 0
        time.sleep(0.05)
        _ctypes.dlclose(library._handle)
        time.sleep(0.05)
threading.Thread(target=compress, daemon=True).start()
"""

HUGE = """
import mmap
kept = mmap.mmap(-1, 130 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
kept.madvise(14)
for at in range(0, len(kept), 256 << 10):
    kept[at] = 1
"""


@dataclasses.dataclass
class State:
    cause: str
    code: str
    mib: float = 0  # that it holds; 0: not compared
    conf: str = ""


INTERPRETERS = {
    "mapped": State("non-jemalloc-anon-mmap", MAPPED.format(flags="MAP_PRIVATE"), 80),
    "shared": State("shared-memory", MAPPED.format(flags="MAP_SHARED"), 80),
    "file": State("file-mappings", FILE, 120),
    "memfd": State("tmpfs-files", MEMFD, 80),
    "pipes": State("kernel-memory", PIPES, 80),
    "stacks": State("thread-stacks", STACKS),
    "forked": State("fork-copy-on-write", FORKED, 120),
    "sbrk": State("other-allocator", SBRK, 80),
    "caches": State("thread-cache-hoard", CACHES, conf="lg_tcache_max:20"),
    "arenas": State("many-arenas", ARENAS, conf="narenas:96,tcache:false"),
    "metadata": State("metadata-overhead", METADATA, conf="lg_tcache_max:23"),
    "retained": State("retained-address-space", RETAINED, conf="dirty_decay_ms:0,muzzy_decay_ms:0"),
    "loaded": State("startup-memory", LOADED, 96),
    "churn": State("allocation-churn", CHURN),
    "burst": State("burst-returned", BURST, 200, conf="dirty_decay_ms:0,muzzy_decay_ms:0"),
    "huge": State("thp-inflation", HUGE),
    "unloaded": State("leak-in-unloaded-code", UNLOADED),
    "idle": State("healthy", ""),
}
HUGE_PAGES = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled")


@pytest.mark.parametrize("sampled", [True, False] if PROOF else [False], ids=lambda sampled: "profiled" if sampled else "inactive")
@pytest.mark.parametrize("name", INTERPRETERS if PROOF else ["idle"])
def test_interpreter(tmp_path, name, sampled):
    state = INTERPRETERS[name]
    if name == "huge" and (not HUGE_PAGES.exists() or "[never]" in HUGE_PAGES.read_text()):
        pytest.skip("transparent huge pages are switched off on this machine")
    path = BUILD / f"doctor-services-{os.getpid()}"
    code = state.code.format(path=str(path)) if name == "file" else state.code
    code += "\nimport os, sys\nprint(os.getpid(), flush=True)\nsys.stdin.read()\n"
    command = [JESCOPE, "run", *(["--active"] if sampled else []), "--", PYTHON, "-c", code]
    with started(command, env=environment(tmp_path, PYTHONMALLOC="malloc", MALLOC_CONF=state.conf), cwd=tmp_path) as runner:
        pid = int(runner.stdout.readline())
        wait_for(lambda: list((tmp_path / "agents").glob(f"{pid}.*.sock")), "the agent listens")
        first = first_of(tmp_path, pid)
    assert first["cause"] == state.cause, first
    assert state.mib == 0 or state.mib / FACTOR <= first["bytes"] / MIB <= state.mib * FACTOR, first


# ---- a database ----


@contextlib.contextmanager
def database(scratch, conf=""):
    if redis_program(scratch) is None:
        pytest.skip("redis-server is not installed (Debian: redis-tools)")
    with redis(scratch, "--active", MALLOC_CONF=conf) as server:
        yield server


def fill(server, keys, size):
    assert server.ask("EVAL", f"for i = 1, {keys} do redis.call('SET', 'key' .. i, string.rep('v', {size})) end return 'ok'", 0) == "$2\r\nok\r\n"


@contextlib.contextmanager
def beside(work):
    """WORK(number), again and again, while the body runs."""
    stop = threading.Event()

    def run():
        number = 0
        while not stop.is_set():
            work(number)
            number += 1

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def test_database_at_its_limit(tmp_path):
    """It evicts as much as it takes in."""
    with database(tmp_path) as server:
        server.ask("CONFIG", "SET", "maxmemory", "100mb")
        server.ask("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
        fill(server, 120000, 1000)
        with beside(lambda number: server.ask("SET", f"more{number}", "v" * 1000)):
            first = first_of(tmp_path, server.pid, "8s")
    assert first["cause"] == "bounded-cache", first


def test_database_with_holes(tmp_path):
    with database(tmp_path) as server:
        fill(server, 400000, 200)
        gone = "for i = 1, 400000 do if i % 16 ~= 0 then redis.call('DEL', 'key' .. i) end end return 'ok'"
        assert server.ask("EVAL", gone, 0) == "$2\r\nok\r\n"
        first = first_of(tmp_path, server.pid)
    assert first["cause"] == "fragmentation-small-classes", first


def test_database_that_keeps_its_pages(tmp_path):
    with database(tmp_path, "dirty_decay_ms:-1") as server:
        fill(server, 30000, 4000)
        gone = "for i = 1, 30000 do redis.call('DEL', 'key' .. i) end return 'ok'"  # FLUSHALL has jemalloc return them
        assert server.ask("EVAL", gone, 0) == "$2\r\nok\r\n"
        first = first_of(tmp_path, server.pid)
    assert first["cause"] == "dirty-pages" and first["bytes"] > 60 * MIB, first


def test_database_with_room_for_more(tmp_path):
    """A value that is appended to gets as much room again."""
    with database(tmp_path) as server:
        appended = "local more = string.rep('w', 100000) for i = 1, 100 do redis.call('SET', 'key' .. i, string.rep('v', 600000)) redis.call('APPEND', 'key' .. i, more) end return 'ok'"
        assert server.ask("EVAL", appended, 0) == "$2\r\nok\r\n"
        first = first_of(tmp_path, server.pid)
    assert first["cause"] == "oversized-capacity" and 150 / FACTOR <= first["bytes"] / MIB <= 150 * FACTOR, first


def test_database_with_ever_more_clients(tmp_path):
    """Each has sent half of a command."""
    with database(tmp_path) as server, contextlib.ExitStack() as clients:

        def connect(number):
            client = clients.enter_context(socket.socket(socket.AF_UNIX))
            client.connect(str(server.path))
            client.sendall(b"*2\r\n$3\r\nGET\r\n$60000\r\n" + b"k" * 50000)
            threading.Event().wait(0.03)

        with beside(connect):
            first = first_of(tmp_path, server.pid, "10s")
    assert first["cause"] == "growth-with-load", first


# ---- a program that comes with a database ----


def test_static_data(tmp_path):
    """pg_test_fsync writes a buffer of 16 MiB that is a variable of its own."""
    programs = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/pg_test_fsync"))
    if not programs:
        pytest.skip("pg_test_fsync is not installed (Debian: postgresql)")
    written = tmp_path / "written"
    with started([JESCOPE, "run", "--", programs[-1], "-s", "600", "-f", written], env=environment(tmp_path), cwd=tmp_path) as runner:
        wait_for(lambda: list((tmp_path / "agents").glob("*.sock")), "the agent listens")
        wait_for(written.exists, "the buffer is written")
        pid = int(next((tmp_path / "agents").glob("*.sock")).name.partition(".")[0])
        first = first_of(tmp_path, pid)
        assert runner.poll() is None
    assert first["cause"] == "program-data" and 16 / FACTOR <= first["bytes"] / MIB <= 16 * FACTOR, first
