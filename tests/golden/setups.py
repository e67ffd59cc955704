# SPDX-License-Identifier: Apache-2.0
"""The processes that golden cases speak of. Each setup is a context manager over (scratch directory, environment) that yields
what stands for @NAME@ in its case; everything it started has ended when it is left."""

import contextlib
import os
import pathlib
import pwd
import re
import subprocess
import sys
import time

BUILD = pathlib.Path(os.environ["JESCOPE_BUILD"])
SOURCE = pathlib.Path(os.environ["JESCOPE_SOURCE"])
JESCOPE = BUILD / "src/cli/jescope"
AGENT = BUILD / "src/agent/libjescope-agent.so"
DEADLINE = 120


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
def overview(scratch, environment):
    yield {"OVERVIEW": subprocess.run([JESCOPE, "--help"], capture_output=True, text=True, check=True).stdout.strip()}


@contextlib.contextmanager
def formats(scratch, environment):
    """The names and suffixes of formats, as docs/formats.md lists them."""
    table = (SOURCE / "docs/formats.md").read_text().partition("| format | suffix | for |\n")[2].partition("\n\n")[0]
    rows = [re.findall(r"`([^`]+)`", row.rpartition("|")[0].rpartition("|")[0]) for row in table.splitlines()[1:]]
    yield {"FORMATS": ", ".join(row[0] for row in rows), "SUFFIXES": ", ".join(suffix for row in rows for suffix in row[1:])}


@contextlib.contextmanager
def without_jemalloc(scratch, environment):
    with started([BUILD / "tests/victims/victim-plain"], environment) as victim:
        yield {"PID": victim.pid}


@contextlib.contextmanager
def without_agent(scratch, environment):
    with started([BUILD / "tests/victims/victim"], environment) as victim:
        wait_for(lambda: "jemalloc" in pathlib.Path(f"/proc/{victim.pid}/maps").read_text(), "jemalloc is mapped")
        yield {"PID": victim.pid}


def _megabytes(pid):
    pages = int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1])
    return f"{pages * os.sysconf('SC_PAGESIZE') / (1 << 20):6.0f} MiB"


@contextlib.contextmanager
def two_of_a_name(scratch, environment):
    """Text in columns is given with its blanks."""
    name = f"golden-{os.getpid()}"
    program = scratch / name
    program.symlink_to("/bin/sleep")
    with started([program, "1000"], environment) as first, started([program, "1000"], environment) as second:
        low, high = sorted((first.pid, second.pid))
        for pid in (low, high):
            wait_for(lambda: f"({name}) S" in pathlib.Path(f"/proc/{pid}/stat").read_text(), f"{name} is loaded and sleeps")
        yield {"PID": f"{low:7d}", "PID2": f"{high:7d}", "PARENT": f"{os.getpid():7d}", "NAME": name,
               "PROGRAM": f"{program} 1000"[:28] + "...", "RSS": re.compile("|".join({_megabytes(low), _megabytes(high)})),
               "USER": f"{pwd.getpwuid(os.geteuid()).pw_name:8.8}"}


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
    return victim(scratch, environment, program="victim-standin", STANDIN_PROF="off")


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
    """A process that listens like an agent, but is not one."""
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


COUNTED_DUMP = """--- symbol
binary=/usr/bin/shop
0x1000 keep_order
0x2000 handle_request
0x3000 main
---
--- heap
heap_v2/524288
  t*: {live}: {live_bytes} [{all}: {all_bytes}]
@ 0x1000 0x3001
  t*: {kept}: {kept_bytes} [{kept}: {kept_bytes}]
@ 0x2000 0x3001
  t*: 300: 4915200 [{requests}: {request_bytes}]

MAPPED_LIBRARIES:
"""


@contextlib.contextmanager
def counted_dumps(scratch, environment):
    """a.heap, b.heap, c.heap with prof_accum:true: 24 samples are added to 400, of which none is freed, which the sampling error of 400 hides; the
    other stack allocates and frees 200 an hour."""
    for hour, name in enumerate("abc"):
        kept, requests = 400 + 12 * hour, 300 + 200 * hour
        numbers = {"live": kept + 300, "all": kept + requests, "kept": kept, "requests": requests}
        numbers |= {f"{what}_bytes": numbers[key] * 16384 for what, key in (("live", "live"), ("all", "all"), ("kept", "kept"), ("request", "requests"))}
        path = scratch / f"{name}.heap"
        path.write_text(COUNTED_DUMP.format(**numbers))
        os.utime(path, (1700000000 + 3600 * hour,) * 2)
    yield {}


@contextlib.contextmanager
def wrapped_dumps(scratch, environment):
    """a.heap to e.heap: one function leaks through fourteen helpers, each of which is changed by no more than sampling explains."""
    helpers = [f"field_{letter}" for letter in "abcdefghijklmn"]
    names = [*helpers, "session_store", "load_config", "main"]
    address = {name: 0x1000 * (number + 1) for number, name in enumerate(names)}
    symbols = "".join(f"0x{at:x} {name}\n" for name, at in address.items())

    def stack(objects, *functions):
        calls = " ".join(f"0x{address[name] + (number > 0):x}" for number, name in enumerate(functions))
        return f"@ {calls}\n  t*: {objects}: {objects * 16384} [0: 0]\n"

    for hour, name in enumerate("abcde"):
        objects = 3 + hour
        stacks = "".join(stack(objects, helper, "session_store", "main") for helper in helpers) + stack(20, "load_config", "main")
        live = objects * len(helpers) + 20
        path = scratch / f"{name}.heap"
        path.write_text(f"--- symbol\nbinary=/usr/bin/shop\n{symbols}---\n--- heap\nheap_v2/524288\n"
                        f"  t*: {live}: {live * 16384} [0: 0]\n{stacks}\nMAPPED_LIBRARIES:\n")
        os.utime(path, (1700000000 + 3600 * hour,) * 2)
    yield {}


SAMPLED_DUMP = """--- symbol
binary=/usr/bin/shop
0x1000 insert_order
0x2000 handle_request
0x3000 main
---
--- heap
heap_v2/1
#sampler jescope 1 since=1700000000000000 window={window}000000 dropped=1 dropped_bytes=64
  t*: 2: 3072 [6: 5120]
@ 0x1000 0x3001
  t*: 2: 3072 [2: 3072]
#live 7f0000001000 1024 2000000 7
#live 7f0000002000 2048 8000000 7
@ 0x2000 0x3001
  t*: 0: 0 [4: 2048]
#died 512 4 {lifetime}000 {squares:x}

MAPPED_LIBRARIES:
00400000-00500000 r-xp 00000000 fe:00 7 /usr/bin/shop
"""


@contextlib.contextmanager
def holed_dumps(scratch, environment):
    """h.heap of jescope's sampler: sessions alone in their slabs of four, a cache in full ones; i.heap: fewer sessions."""
    for name, sessions in (("h", 30), ("i", 24)):
        live = [f"#live {0x100000 + 0x10000 * i:x} 4096 1000000 7 3 4\n" for i in range(sessions)]
        full = [f"#live {0x900000 + 0x10000 * i:x} 4096 1000000 7 0 4\n" for i in range(8)]
        (scratch / f"{name}.heap").write_text(
            "--- symbol\nbinary=/usr/bin/shop\n0x1000 session_store\n0x2000 cache_insert\n0x3000 main\n---\n--- heap\n"
            "heap_v2/1\n#sampler jescope 1 since=1700000000000000 window=10000000\n  t*: 1: 4096 [1: 4096]\n"
            f"@ 0x1000 0x3001\n  t*: {sessions}: {sessions * 4096} [0: 0]\n{''.join(live)}"
            f"@ 0x2000 0x3001\n  t*: 8: 32768 [0: 0]\n{''.join(full)}"
            "\nMAPPED_LIBRARIES:\n00400000-00500000 r-xp 00000000 fe:00 7 /usr/bin/shop\n"
            f"jescope_class=1 size=4096 regions=4 slab=16384 slabs={sessions + 2} live={sessions + 8} nonfull={sessions}\n"
            "jescope_class=1 size=64 regions=64 slab=4096 slabs=10 live=340 nonfull=9\n"
        )
        os.utime(scratch / f"{name}.heap", (1700000010,) * 2)
    yield {}


@contextlib.contextmanager
def sampled_dumps(scratch, environment):
    """Of jescope's sampler: s.heap after 10 s, t.heap after 20 s; a.heap is jemalloc's."""
    for name, window, lifetime in (("s", 10, 2000), ("t", 20, 4000)):
        squares = lifetime * lifetime * 10**6 // 4
        (scratch / f"{name}.heap").write_text(SAMPLED_DUMP.format(window=window, lifetime=lifetime, squares=squares))
        os.utime(scratch / f"{name}.heap", (1700000000 + window,) * 2)
    with named_dumps(scratch, environment):
        yield {}


CAPTURED = """heap_v2/524288
  t*: {objects}: {bytes} [0: 0]
  t0: {objects}: {bytes} [0: 0]
{stacks}
MAPPED_LIBRARIES:
00001000-00002000 r-xp 00000000 00:00 0 {path}
jescope_capture=1 time={time} pid=1 start=9 {facts}
"""

STACK = """@ 0x1001 0x1002
  t*: {objects}: {bytes} [0: 0]
  t0: {objects}: {bytes} [0: 0]
"""


def _captured(scratch, name, objects, facts, time=1700000000):
    bytes_ = objects * 4096
    stacks = STACK.format(objects=objects, bytes=bytes_) if objects else ""
    text = CAPTURED.format(objects=objects, bytes=bytes_, stacks=stacks, facts=facts, time=time * 1000000, path="/app")
    (scratch / name).write_text(text)


@contextlib.contextmanager
def captured_dumps(scratch, environment):
    """Dumps that jescope has taken: off.heap and on.heap without samples, one to three.heap of recordings with gaps,
    first to third.heap of a program of constant size whose sampling had just been switched on, early to late.heap of one that grows by less
    than the errors of its samples."""
    _captured(scratch, "off.heap", 0, "flags=4")
    _captured(scratch, "on.heap", 0, "flags=3")
    for i, name in enumerate(("one", "two", "three")):
        end = 1700000005 + 20 * i
        _captured(scratch, f"{name}.heap", 1000 * (i + 1), f"flags=16 allocated={(1 + 2 * i) << 30} since={end - 5}000000 "
                  f"until={end}000000", end)
    for i, name in enumerate(("first", "second", "third")):
        now = 1700000001 + 10 * i
        _captured(scratch, f"{name}.heap", 1000 * (i + 1), f"flags=17 allocated={1 << 30} since=1700000000000000", now)
    for i, name in enumerate(("early", "middle", "late")):
        _captured(scratch, f"{name}.heap", 1000 + 4 * i, f"flags=19 allocated={(512 + 14 * i) << 20}", 1700000001 + 10 * i)
    yield {}
