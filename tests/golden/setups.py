# SPDX-License-Identifier: Apache-2.0
"""The processes that golden cases speak of. Each setup is a context manager over (scratch directory, environment) that yields
what stands for @NAME@ in its case; everything it started has ended when it is left."""

import contextlib
import os
import pathlib
import subprocess
import sys
import time

BUILD = pathlib.Path(os.environ["JESCOPE_BUILD"])
SOURCE = pathlib.Path(os.environ["JESCOPE_SOURCE"])
JESCOPE = BUILD / "src/cli/jescope"
AGENT = BUILD / "src/agent/libjescope-agent.so"
DEADLINE = 30


def wait_for(condition, what):
    end = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < end, f"not in {DEADLINE} s: {what}"
        time.sleep(0.01)


@contextlib.contextmanager
def started(command, environment, **options):
    process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@contextlib.contextmanager
def nothing(scratch, environment):
    yield {}


@contextlib.contextmanager
def without_jemalloc(scratch, environment):
    with started([BUILD / "tests/victims/victim-plain"], environment) as victim:
        yield {"PID": victim.pid}


@contextlib.contextmanager
def without_agent(scratch, environment):
    with started([BUILD / "tests/victims/victim"], environment) as victim:
        wait_for(lambda: "jemalloc" in pathlib.Path(f"/proc/{victim.pid}/maps").read_text(), "jemalloc is mapped")
        yield {"PID": victim.pid}


@contextlib.contextmanager
def two_of_a_name(scratch, environment):
    name = f"golden-{os.getpid()}"
    program = scratch / name
    program.symlink_to("/bin/sleep")
    with started([program, "1000"], environment) as first, started([program, "1000"], environment) as second:
        low, high = sorted((first.pid, second.pid))
        for pid in (low, high):
            wait_for(lambda: pathlib.Path(f"/proc/{pid}/comm").read_text().strip() == name, f"{pid} is called {name}")
        yield {"PID": low, "PID2": high, "NAME": name}


def _listens(scratch, pid):
    return any(path.name.startswith(f"{pid}.") for path in (scratch / "agents").glob("*.sock"))


@contextlib.contextmanager
def victim(scratch, environment, program="victim", **variables):
    """With the agent in it, as `jescope run` would have started it."""
    extended = dict(environment, LD_PRELOAD=str(AGENT), MALLOC_CONF="prof:true,prof_active:false")
    extended.update(variables)
    with started([BUILD / "tests/victims" / program], extended) as process:
        wait_for(lambda: _listens(scratch, process.pid), "the agent listens")
        yield {"PID": process.pid}


def prof_off(scratch, environment):
    return victim(scratch, environment, MALLOC_CONF="prof:false")


def prof_not_built(scratch, environment):
    return victim(scratch, environment, program="victim-standin", STANDIN_PROF="none")


@contextlib.contextmanager
def leased(scratch, environment):
    with victim(scratch, environment) as names:
        subprocess.run([JESCOPE, "enable", "--for", "1d", str(names["PID"])], env=environment, check=True, timeout=DEADLINE,
                       stdout=subprocess.DEVNULL)
        yield names


@contextlib.contextmanager
def fake_agent(scratch, environment, behaviour):
    """A process that listens like an agent, but is none."""
    path = scratch / "fake.sock"
    command = [sys.executable, SOURCE / "tests/golden/fake_agent.py", path, behaviour]
    with started(command, environment) as process:
        assert process.stdout.readline() == b"ready\n"
        yield {"PID": process.pid, "SOCKET": path}


def dies_on_dump(scratch, environment):
    return fake_agent(scratch, environment, "die-on-dump")


def other_version(scratch, environment):
    return fake_agent(scratch, environment, "other-version")


def talks_nonsense(scratch, environment):
    return fake_agent(scratch, environment, "nonsense")


@contextlib.contextmanager
def existing_file(scratch, environment):
    with victim(scratch, environment) as names:
        (scratch / "there.heap").write_text("precious\n")
        yield names
        assert (scratch / "there.heap").read_text() == "precious\n"


@contextlib.contextmanager
def not_a_dump(scratch, environment):
    (scratch / "notes.txt").write_text("to do:\n")
    yield {}


DUMP = """heap_v2/524288
  t*: 2: 1048576 [0: 0]
@ 0x401136 0x401200
  t*: 1: 524288 [0: 0]
@ 0x401140 0x401200
  t*: 1: 524288 [0: 0]

MAPPED_LIBRARIES:
00400000-00401000 r--p 00000000 00:00 0    /nonexistent/program
"""


@contextlib.contextmanager
def cut_dump(scratch, environment):
    (scratch / "cut.heap").write_text(DUMP[: DUMP.index("524288 [0: 0]\n\n")])
    yield {}


@contextlib.contextmanager
def broken_dump(scratch, environment):
    (scratch / "broken.heap").write_text(DUMP.replace("@ 0x401140", "@ 0x40zz40"))
    yield {}


NAMED_DUMP = """--- symbol
0x0000000000001000 malloc
0x0000000000002000 insert--make_node
0x0000000000003000 main
0x0000000000004000 recurse
---
--- heap
heap profile: 3: {total} [0: 0] @ heapprofile
1: {insert} [0: 0] @ 0x1000 0x2001 0x3001
2: 4194304 [0: 0] @ 0x1000 0x4001 0x4001 0x3001

MAPPED_LIBRARIES:
"""


@contextlib.contextmanager
def named_dumps(scratch, environment):
    """a.heap, b.heap, c.heap: one stack grows by a MiB an hour, the other stays."""
    for hour, name in enumerate("abc"):
        insert = (hour + 1) << 20
        path = scratch / f"{name}.heap"
        path.write_text(NAMED_DUMP.format(insert=insert, total=insert + 4194304))
        os.utime(path, (1700000000 + 3600 * hour,) * 2)
    yield {}
