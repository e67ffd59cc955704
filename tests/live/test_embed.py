# SPDX-License-Identifier: Apache-2.0
"""libjescope in a program: its functions, from many threads, through forks, and together with a preloaded agent."""

import errno
import fcntl
import json
import os
import pathlib
import re
import resource
import select
import stat
import subprocess

import pytest
import wire
from groups import MIB, group  # noqa: F401
from sanitized import renders
from victims import (
    AGENT,
    BUILD,
    EVERY_BLOCK,
    agent_threads,
    descriptors,
    eventually,
    program,
    threads,
)

HEADER = (pathlib.Path(wire.SOURCE) / "include/jescope.h").read_text()
CODES = {name: int(value) for name, value in re.findall(r"(JESCOPE_[A-Z_]+) = (\d+)[,\n ]", HEADER)}
IS = {name: 1 << int(bit) for name, bit in re.findall(r"JESCOPE_IS_([A-Z_]+) = 1 << (\d)", HEADER)}
READY = IS["SERVING_MALLOC"] | IS["PROF_BUILT"] | IS["PROF_READY"]
READ_ONLY = 1


class Status:
    def __init__(self, victim):
        words = victim.ask("jescope-status").split(" ")
        assert words[0] == "0", words
        self.flags, self.clients = int(words[1]), int(words[2])
        self.active_since_ns, self.reset_at_ns, self.lease_ms = map(int, words[3:6])
        self.prefix, self.version, self.found_in = words[6].strip("'"), words[7], words[8]
        self.socket = words[9] if len(words) > 9 else ""

    def has(self, *names):
        return all(self.flags & IS[name] for name in names)


def refused(victim, command, code, *, error=0, says):
    """COMMAND fails with CODE and a sentence that has the words SAYS."""
    words = victim.ask(command).split(" ", 2)
    assert (int(words[0]), int(words[1])) == (CODES[code], error), words
    assert re.search(says, words[2]), words[2]
    assert not words[2].endswith(".")


def done(victim, command):
    assert victim.ask(command) == "0"


def http(victim, folder, method, target, *more):
    """(status, content type, headers, body)"""
    path = folder / "reply"
    words = victim.ask(" ".join(["jescope-http", str(path), method, target, *map(str, more)])).split("\t")
    return int(words[0]), words[1], words[2] if len(words) > 2 else "", path.read_bytes()


@pytest.fixture(params=["victim-embedded", "victim-embedded-static"])
def victim(request, start):
    return start(request.param, preload=(), conf=EVERY_BLOCK)


@pytest.fixture
def later(start):
    """Has not started the library's thread."""
    return start("victim-embedded", preload=(), env={"VICTIM_EMBED": "later"})


# The thread


def test_a_client_reaches_it(victim):
    with victim.client() as client:
        assert client.greeting.pid == victim.pid
        assert client.greeting.flags & wire.WIRE_FLAG_SERVES_MALLOC
        assert client.dump().startswith(b"heap_v2/1\n")
        assert Status(victim).clients == 1
    (thread,) = agent_threads(victim.pid)
    assert threads(victim.pid)[thread] == "jescope"


def test_start_and_stop(victim):
    victim.client().close()
    refused(victim, "jescope-start", "JESCOPE_ALREADY_STARTED", says="already running")
    before = descriptors(victim.pid)
    done(victim, "jescope-stop")
    eventually(lambda: list(threads(victim.pid)) == [victim.pid], "the kernel has forgotten the thread")
    assert os.listdir(victim.sockets) == []
    assert descriptors(victim.pid) == before == {}
    refused(victim, "jescope-stop", "JESCOPE_NOT_STARTED", says="was not started")
    done(victim, "jescope-start")
    with victim.client() as client:
        assert client.dump().startswith(b"heap_v2/1\n")


def test_stopping_ends_what_was_for_a_time(victim):
    with victim.client() as client:
        client.take(600_000)
        assert victim.ask("read 1 prof.active") == "1"
        done(victim, "jescope-stop")
        assert victim.ask("read 1 prof.active") == "0"
        with pytest.raises(ConnectionError):
            client.hello()


def test_stopping_leaves_what_was_for_good(victim):
    done(victim, "jescope-enable 0")
    done(victim, "jescope-stop")
    assert victim.ask("read 1 prof.active") == "1"


def test_a_client_may_send_it_away(victim):
    with victim.client() as client:
        client.leave()
    eventually(lambda: list(threads(victim.pid)) == [victim.pid], "the thread has ended")
    refused(victim, "jescope-enable 1000", "JESCOPE_NOT_STARTED", says="jescope_start")
    eventually(lambda: victim.ask("jescope-start") == "0", "it may be started again")
    victim.client().close()
    done(victim, "jescope-stop")


def test_without_a_socket(later):
    done(later, "jescope-start silent")
    status = Status(later)
    assert status.has("STARTED") and not status.has("SERVED_BY_OTHER")
    done(later, "jescope-enable 200")
    eventually(lambda: later.ask("read 1 prof.active") == "0", "the thread keeps time")
    assert os.listdir(later.sockets) == []


def test_the_program_may_say_where_the_socket_goes(later, tmp_path):
    folder = tmp_path / "elsewhere"
    done(later, f"jescope-start {folder}")
    eventually(lambda: Status(later).socket, "it listens")
    later.sockets = folder
    later.client().close()
    assert Status(later).socket == str(later.socket_of())
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_the_environment_keeps_it_out(start):
    for name, value in (("JESCOPE", "off"), ("JESCOPE_ONLY", "somebody-else")):
        victim = start("victim-embedded", preload=(), env={name: value})
        refused(victim, "jescope-start", "JESCOPE_NOT_ALLOWED", says="JESCOPE=off")
        assert list(threads(victim.pid)) == [victim.pid]
        done(victim, "jescope-enable 0")


def test_a_socket_directory_that_cannot_be(start):
    victim = start("victim-embedded", preload=(), env={"JESCOPE_SOCKET_DIR": "relative"})
    refused(victim, "jescope-start", "JESCOPE_INVALID", says="absolute")


@pytest.mark.parametrize("what, says", [("size", "sizeof"), ("flags", "0x40000000"), ("directory", "'relative'"),
                                        ("kept", "65; at most 64")])  # fmt: skip
def test_options_that_cannot_be_meant(later, what, says):
    refused(later, f"jescope-start-odd {what}", "JESCOPE_INVALID", says=says)
    assert list(threads(later.pid)) == [later.pid]


def test_a_program_without_jemalloc(start, tmp_path):
    victim = start("victim-embedded-plain", preload=())
    for command in ("start", "status", "enable 0", "disable", "reset 0", "dump 1", "stats J 1", "stats-write J"):
        refused(victim, f"jescope-{command}", "JESCOPE_NO_JEMALLOC", says="LD_PRELOAD=libjemalloc.so.2")
    assert list(threads(victim.pid)) == [victim.pid]
    assert http(victim, tmp_path, "GET", "/mtev/memory.json")[0::3] == (200, b"{}\n")


def test_jemalloc_that_is_preloaded(start):
    found = [pathlib.Path(name) for name in ("/lib/x86_64-linux-gnu/libjemalloc.so.2",) if os.path.exists(name)]
    if not found:
        pytest.skip("libjemalloc.so.2 is not where Debian has it")
    victim = start("victim-embedded-plain", preload=found)
    victim.client().close()
    assert Status(victim).has("STARTED", "SERVING_MALLOC")


def test_one_socket_where_the_agent_is_preloaded_too(start):
    victim = start("victim-embedded", conf=EVERY_BLOCK, preload=(AGENT,))
    with victim.client() as client:
        assert client.hello().agent_clients == 1
        status = Status(victim)
        assert status.has("STARTED", "SERVED_BY_OTHER") and status.clients == 0 and status.socket == ""
        assert len(os.listdir(victim.sockets)) == 1
        done(victim, "jescope-enable 200")
        assert client.read("prof.active", "bool") == 1
        eventually(lambda: client.read("prof.active", "bool") == 0, "the library keeps time itself")
        done(victim, "jescope-stop")
        client.leave()
    eventually(lambda: list(threads(victim.pid)) == [victim.pid], "both have ended")
    done(victim, "jescope-start")
    with victim.client():
        assert not Status(victim).has("SERVED_BY_OTHER")


def test_an_agent_that_is_loaded_later_keeps_out(victim):
    victim.client().close()
    before = threads(victim.pid)
    victim.ask(f"dlopen {AGENT}")
    with victim.client() as client:
        assert client.hello().agent_clients == 1
    assert threads(victim.pid) == before
    assert len(os.listdir(victim.sockets)) == 1


# Direct control


@pytest.fixture(params=["started", "not started"])
def either(request, start):
    env = {"VICTIM_EMBED": "later"} if request.param == "not started" else {}
    return start("victim-embedded", preload=(), conf=EVERY_BLOCK, env=env)


def test_status(either):
    status = Status(either)
    assert status.flags & READY == READY and not status.has("PROF_ACTIVE") and not status.has("LEASED")
    assert (status.active_since_ns, status.reset_at_ns, status.lease_ms, status.prefix) == (0, 0, 0, "")
    assert status.version.startswith("5.") and "libjemalloc" in status.found_in


def test_enable_and_disable(either):
    done(either, "jescope-enable 0")
    status = Status(either)
    assert status.has("PROF_ACTIVE") and status.active_since_ns > 10**18 and not status.has("LEASED")
    assert either.ask("read 1 prof.active") == "1"
    done(either, "jescope-disable")
    assert either.ask("read 1 prof.active") == "0"


def test_enable_for_a_time(victim):
    done(victim, "jescope-enable 600000")
    status = Status(victim)
    assert status.has("PROF_ACTIVE", "LEASED") and 590_000 < status.lease_ms <= 600_000
    refused(victim, "jescope-enable 1000", "JESCOPE_BUSY", says="already being profiled, for another 10 min")
    done(victim, "jescope-disable")
    done(victim, "jescope-enable 100")
    eventually(lambda: victim.ask("read 1 prof.active") == "0", "it is switched back")
    assert not Status(victim).has("LEASED")


def test_enable_for_a_time_where_only_the_host_table_can_be_had(start):
    """The thread then looks up by itself."""
    command = [program("forbid"), "close_range", "unshare", "--", program("victim-embedded")]
    victim = start("victim-embedded", preload=(), command=command)
    victim.client().close()
    done(victim, "jescope-enable 100")
    eventually(lambda: victim.ask("read 1 prof.active") == "0", "it is switched back")
    done(victim, "jescope-stop")
    assert descriptors(victim.pid) == {}


def test_enable_for_a_time_needs_the_thread(later):
    refused(later, "jescope-enable 1000", "JESCOPE_NOT_STARTED", says="call jescope_start")
    refused(later, "jescope-enable 2592000001", "JESCOPE_INVALID", says="30 days")
    assert later.ask("read 1 prof.active") == "0"


def test_a_lease_of_a_client_is_seen(victim):
    with victim.client() as client:
        client.take(600_000)
        refused(victim, "jescope-enable 1000", "JESCOPE_BUSY", says="already being profiled, .*end that")
        done(victim, "jescope-disable")
        assert not client.hello().flags & wire.WIRE_FLAG_LEASED


def test_reset(either):
    done(either, "jescope-reset 0")
    assert Status(either).reset_at_ns > 10**18
    done(either, "jescope-reset 4096")
    done(either, "jescope-enable 0")
    refused(either, "jescope-reset 5000", "JESCOPE_INVALID", says="power of two")


def test_dump_to_a_file_at_its_position(either, tmp_path):
    done(either, "jescope-enable 0")
    either.ask("hold 50 100")
    path = tmp_path / "dump"
    path.write_text("before ")
    done(either, f"jescope-dump {path}")
    assert path.read_text().startswith("before heap_v2/1\n")
    assert "\n@ 0x" in path.read_text() and "\nMAPPED_LIBRARIES:\n" in path.read_text()


def test_dump_to_where_it_cannot_go(either, tmp_path):
    refused(either, "jescope-dump 77", "JESCOPE_SYSTEM", error=9, says="descriptor 77: Bad file descriptor")
    refused(either, "jescope-dump /dev/full", "JESCOPE_SYSTEM", error=28, says="No space left")
    os.mkfifo(tmp_path / "fifo")
    reader = os.open(tmp_path / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 4096)
    either.tell(f"jescope-stats J {tmp_path}/fifo")
    eventually(lambda: select.select([reader], [], [], 0)[0], "it writes")
    os.close(reader)
    assert either.answer().startswith(f"{CODES['JESCOPE_SYSTEM']} 32 cannot write"), "SIGPIPE would have ended it"


def test_a_dump_that_does_not_fit_is_refused(start, tmp_path, group):  # noqa: F811
    """It is charged to the program's own group. How large it may be is not known with prof_accum: 32 MiB are asked for."""
    victim = start("victim-embedded", preload=(), conf="prof:true,prof_accum:true")
    group.take(victim.pid)
    group.limit(group.usage() + 8 * MIB)
    refused(victim, f"jescope-dump {tmp_path}/dump", "JESCOPE_SYSTEM", error=errno.ENOMEM,
            says=r"may take 32\.0 MiB, and the memory control group of this process.* has \d+\.\d MiB left of \d+\.\d MiB")
    done(victim, f"jescope-dump-flags 1 {tmp_path}/forced")
    assert (tmp_path / "forced").read_bytes().startswith(b"heap_v2/")
    refused(victim, f"jescope-dump-flags 0 {tmp_path}/dump", "JESCOPE_SYSTEM", error=errno.ENOMEM, says="MiB left")
    refused(victim, f"jescope-dump-flags 2 {tmp_path}/dump", "JESCOPE_INVALID", says="flags 0x2 have bits that are not in JescopeDumpFlag")
    status, _, _, body = http(victim, tmp_path, "GET", "/api/v1/targets/self/dumps/now")
    assert status == 507 and json.loads(body)["error"]["code"] == "no_headroom"
    status, _, _, body = http(victim, tmp_path, "GET", "/api/v1/targets/self/dumps/now?force=true")
    assert status == 200 and body.startswith(b"heap_v2/")
    status, _, _, body = http(victim, tmp_path, "GET", "/api/v1/targets/self/dumps/now?max-output=4KiB")
    assert status == 507 and json.loads(body)["error"]["code"] == "too_large"
    group.limit(group.usage() + 64 * MIB)
    done(victim, f"jescope-dump {tmp_path}/dump")


def test_a_limit_on_file_sizes_kills_nobody(either):
    resource.prlimit(either.pid, resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
    refused(either, "jescope-stats J 1", "JESCOPE_SYSTEM", error=27, says="File too large")
    resource.prlimit(either.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert Status(either).flags


def test_stats(either, tmp_path):
    done(either, f"jescope-stats J {tmp_path}/json")
    assert json.loads((tmp_path / "json").read_text())["jemalloc"]["version"].startswith("5.")
    done(either, f"jescope-stats - {tmp_path}/text")
    assert (tmp_path / "text").read_text().startswith("___ Begin jemalloc statistics ___")
    code, size = map(int, either.ask("jescope-stats-write J").split())
    assert code == 0 and size > 10_000
    refused(either, f"jescope-stats {'a' * 40} 1", "JESCOPE_INVALID", says="maximum is 31")


def test_jemalloc_that_was_started_without_profiling(start, tmp_path):
    """jescope's own sampler takes the place of its profiler."""
    victim = start("victim-embedded", preload=(), conf="prof:false")
    status = Status(victim)
    assert status.has("PROF_BUILT") and status.has("PROF_READY")
    done(victim, "jescope-enable 0")
    assert Status(victim).has("PROF_ACTIVE")
    victim.ask("hold 2000 10000")
    done(victim, f"jescope-dump {tmp_path}/dump")
    assert b"#sampler jescope 1 " in (tmp_path / "dump").read_bytes()
    done(victim, "jescope-disable")
    assert not Status(victim).has("PROF_ACTIVE")


def allocated(victim):
    victim.ask("allocated")
    return int(victim.ask("allocated"))


def test_nothing_is_allocated_from_the_heap_under_study(either, tmp_path):
    commands = ["status", "enable 0", f"dump {tmp_path}/dump", f"stats J {tmp_path}/stats", "stats-write J", "disable"]
    for command in commands:
        either.ask(f"jescope-{command}")
    for target in ("/mtev/memory.json", "/mtev/heap_profile?trigger_dump=true", "/memory-profiler/state"):
        http(either, tmp_path, "GET", target)
    before = allocated(either)
    for _ in range(50):
        for command in commands:
            either.ask(f"jescope-{command}")
        http(either, tmp_path, "GET", "/mtev/memory.json")
        http(either, tmp_path, "GET", "/memory-profiler/state")
    assert allocated(either) == before
    assert descriptors(either.pid) == {}


def test_many_threads_at_once(victim):
    assert victim.ask("jescope-crowd 100", deadline=120) == "0"
    victim.client().close()


@pytest.mark.parametrize("started", ["", "later"])
def test_forks_while_threads_call(start, started):
    victim = start("victim-embedded", preload=(), env={"VICTIM_EMBED": started})
    assert victim.ask("jescope-fork 100", deadline=120) == "0"


def test_a_child_has_a_thread_of_its_own_and_none_after_a_stop(victim):
    victim.client().close()
    child = int(victim.ask("fork"))
    with victim.client(child) as client:
        assert client.greeting.pid == child
    victim.ask("reap")
    done(victim, "jescope-stop")
    child = int(victim.ask("fork"))
    assert list(threads(child)) == [child]
    victim.ask("reap")


# HTTP


def wait_for_run(victim, folder, run):
    def has_ended():
        state = json.loads(http(victim, folder, "GET", "/memory-profiler/state")[3])
        return not state["jemalloc"]["profiling_active"]

    eventually(has_ended, f"run {run} has ended")


def test_statistics_by_http(victim, tmp_path):
    status, kind, _, body = http(victim, tmp_path, "GET", "/mtev/memory.json")
    assert (status, kind) == (200, "application/json")
    assert json.loads(body)["jemalloc"]["version"].startswith("5.")


def test_a_recording_by_http_ends_in_a_dump(victim, tmp_path):
    status, _, _, body = http(victim, tmp_path, "GET", "/memory-profiler/start?duration=1secs")
    run = json.loads(body)["id"]
    victim.ask("hold 20 100")
    assert status == 200 and victim.ask("read 1 prof.active") == "1"
    wait_for_run(victim, tmp_path, run)
    status, _, _, body = http(victim, tmp_path, "GET", f"/memory-profiler/download/raw?id={run}")
    assert status == 200 and body.startswith(b"heap_v2/1\n") and b"\n@ 0x" in body
    assert descriptors(victim.pid) == {}, "kept without descriptors"
    assert http(victim, tmp_path, "GET", "/memory-profiler/download/raw?id=17")[0] == 400


def test_a_recording_is_a_file_until_the_program_ends(start, tmp_path):
    victim = start("victim-embedded", preload=(), conf=EVERY_BLOCK, env={"TMPDIR": str(tmp_path)})
    assert http(victim, tmp_path, "GET", "/memory-profiler/start?duration=1hrs")[0] == 200
    done(victim, "jescope-disable")
    run = json.loads(http(victim, tmp_path, "GET", "/memory-profiler/start?duration=1secs")[3])["id"]  # a new one
    done(victim, "jescope-disable")
    done(victim, "jescope-enable 0")
    wait_for_run(victim, tmp_path, run)  # it ends all the same
    state = json.loads(http(victim, tmp_path, "GET", "/memory-profiler/state")[3])["memory_profiler"]
    folder = pathlib.Path(state["tmp_dir"])
    assert folder.parent == tmp_path and stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert (folder / "profile.dump").read_bytes() == http(victim, tmp_path, "GET", "/memory-profiler/download/raw")[3]
    victim.tell("exit 0")
    eventually(lambda: not folder.exists(), "the directory is removed at exit()")


def test_a_recording_that_is_stopped(victim, tmp_path):
    assert http(victim, tmp_path, "GET", "/memory-profiler/start?duration=10mins")[0] == 200
    refused(victim, "jescope-enable 1000", "JESCOPE_BUSY", says="already being profiled, for another 10 min")
    assert http(victim, tmp_path, "GET", "/memory-profiler/stop")[0] == 200
    assert victim.ask("read 1 prof.active") == "0"
    assert http(victim, tmp_path, "GET", "/memory-profiler/download/raw")[3].startswith(b"heap_v2/")


def test_a_recording_survives_no_stop(victim, tmp_path):
    assert http(victim, tmp_path, "GET", "/memory-profiler/start?duration=10mins")[0] == 200
    done(victim, "jescope-stop")
    assert victim.ask("read 1 prof.active") == "0"
    assert http(victim, tmp_path, "GET", "/memory-profiler/download/raw")[0] == 400


def test_a_child_has_none_of_its_parents_dumps(victim, tmp_path):
    assert http(victim, tmp_path, "GET", "/memory-profiler/start?duration=10mins")[0] == 200
    assert http(victim, tmp_path, "GET", "/memory-profiler/stop")[0] == 200
    child = int(victim.ask("daemonise"))
    victim.others.add(child)
    assert http(victim, tmp_path, "GET", "/memory-profiler/download/raw")[0] == 400
    victim.pid = child
    assert http(victim, tmp_path, "GET", "/memory-profiler/start?duration=10mins")[0] == 200
    assert http(victim, tmp_path, "GET", "/memory-profiler/stop")[0] == 200
    assert http(victim, tmp_path, "GET", "/memory-profiler/download/raw")[3].startswith(b"heap_v2/")


def test_a_recording_needs_the_thread(later, tmp_path):
    status, _, _, body = http(later, tmp_path, "GET", "/memory-profiler/start?duration=1secs")
    assert status >= 400 and b"jescope_start" in body


def test_read_only(victim, tmp_path):
    assert http(victim, tmp_path, "GET", "/mtev/memory.json", READ_ONLY)[0] == 200
    for target in ("/memory-profiler/start?duration=1secs", "/mtev/heap_profile?active=true"):
        assert http(victim, tmp_path, "GET", target, READ_ONLY)[0] == 403
    assert victim.ask("read 1 prof.active") == "0"


def test_a_unique_id_is_of_this_process_or_of_none(victim, tmp_path):
    """Another process may have had its address, and a client goes on with that one."""
    unique = json.loads(http(victim, tmp_path, "GET", "/api/v1/targets/self")[3])["unique"]
    pid, start = map(int, unique.split("."))
    assert pid == victim.pid and http(victim, tmp_path, "GET", f"/api/v1/targets/{unique}/profiling")[0] == 200
    before = victim.ask("read 1 prof.active")
    for other in (f"{pid}.{start - 1}", f"{pid + 1}.{start}"):
        status, _, _, body = http(victim, tmp_path, "PUT", f"/api/v1/targets/{other}/profiling?active={'false' if before == '1' else 'true'}")
        assert status == 410 and json.loads(body)["error"]["code"] == "gone"
    assert victim.ask("read 1 prof.active") == before


def test_paths_that_are_none(victim, tmp_path):
    assert http(victim, tmp_path, "GET", "/nothing/here")[0] == 404
    assert http(victim, tmp_path, "GET", "/mtev/%6demory.json")[0] == 200
    assert http(victim, tmp_path, "GET", "/mtev/%zz")[0] == 400
    assert http(victim, tmp_path, "GET", "/mtev/%00")[0] == 400
    assert http(victim, tmp_path, "GET", "/" + "a" * 3900)[0] == 404
    refused(victim, f"jescope-http {tmp_path}/reply GET relative", "JESCOPE_INVALID", says="begins with '/'")
    refused(victim, f"jescope-http {tmp_path}/reply GET /x 64", "JESCOPE_INVALID", says="flags 0x40")


def record_with(start, program_path, tmp_path):
    env = {"VICTIM_PROGRAM": str(program_path), "VICTIM_EMBED": "later"}
    victim = start("victim-embedded", preload=(), conf=EVERY_BLOCK, env=env)
    done(victim, "jescope-start")
    assert http(victim, tmp_path, "GET", "/memory-profiler/start?duration=10mins")[0] == 200
    victim.ask("hold 100 1000")
    assert http(victim, tmp_path, "GET", "/memory-profiler/stop")[0] == 200
    return victim


@renders
def test_a_symbolized_report_is_made_by_a_child(start, tmp_path):
    victim = record_with(start, BUILD / "src/cli/jescope", tmp_path)
    status, _, _, body = http(victim, tmp_path, "GET", "/memory-profiler/download/text")
    assert status == 200 and b"run_hold" in body
    assert descriptors(victim.pid) == {}


@renders
def test_reports_tell_what_they_cover(start, tmp_path):
    """As reports of jescope serve do: since when is sampled, and how much of what the program holds that explains."""
    victim = record_with(start, BUILD / "src/cli/jescope", tmp_path)
    status, _, _, body = http(victim, tmp_path, "GET", "/api/v1/targets/self/dumps/now?format=text")
    assert status == 200 and b"explains " in body, body
    status, _, _, body = http(victim, tmp_path, "GET", "/api/v1/targets/self/dumps/latest?format=json")
    assert status == 200 and json.loads(body)["notes"], body


@renders
def test_names_are_stored(start, tmp_path):
    victim = record_with(start, BUILD / "src/cli/jescope", tmp_path)
    status, _, _, body = http(victim, tmp_path, "POST", "/api/v1/targets/self/dumps?symbolize=true")
    assert status == 201, body
    taken = json.loads(body)
    body = http(victim, tmp_path, "GET", f"/api/v1/targets/self/dumps/{taken['id']}")[3]
    assert body.startswith(b"--- symbol") and b"run_hold" in body and len(body) == taken["bytes"]
    number = json.loads(http(victim, tmp_path, "POST", "/api/v1/targets/self/recordings?for=10m&symbolize=true")[3])["id"]
    victim.ask("hold 100 1000")
    assert http(victim, tmp_path, "DELETE", f"/api/v1/targets/self/recordings/{number}")[0] == 200
    for _ in range(2):
        body = http(victim, tmp_path, "GET", f"/api/v1/targets/self/recordings/{number}/result")[3]
        assert body.startswith(b"--- symbol") and b"run_hold" in body
    status, _, _, body = http(victim, tmp_path, "POST", "/api/v1/targets/self/dumps?max-output=4KiB&force=true")
    assert status == 507 and json.loads(body)["error"]["code"] == "too_large", body
    assert descriptors(victim.pid) == {}


def test_few_reports_are_made_at_once(start, tmp_path):
    """However many the program's clients ask for: each is a process with up to 4 GiB."""
    program_path = tmp_path / "reporter"
    program_path.write_text(f"#!/bin/sh\ncd {tmp_path} && : > running.$$ && ls | grep -c ^running >> counts; sleep 1; rm running.$$\n")
    program_path.chmod(0o755)
    victim = record_with(start, program_path, tmp_path)
    crowded = int(victim.ask("jescope-reports 8", deadline=120))
    counts = [int(line) for line in (tmp_path / "counts").read_text().split()]
    assert len(counts) == 8 - crowded and max(counts) <= 2
    # A report that is over makes room.
    assert int(victim.ask("jescope-reports 1", deadline=120)) == 0


def test_a_report_without_jescope_says_so(start, tmp_path):
    victim = record_with(start, "/nowhere/jescope", tmp_path)
    status, _, _, body = http(victim, tmp_path, "GET", "/memory-profiler/download/text")
    assert status >= 400 and b"/nowhere/jescope" in body


# What is installed


def test_versions_names_and_initializers(tmp_path):
    """In C and C++, without a warning: macros of the header, names of codes, initial values of the structs."""
    version = subprocess.run([BUILD / "src/cli/jescope", "--version"], capture_output=True, text=True, check=True).stdout
    (tmp_path / "use.c").write_text("""
#include <jescope.h>
#include <stdio.h>
#include <string.h>
#if JESCOPE_VERSION_NUMBER < JESCOPE_VERSION_ENCODE(0, 1, 0) || JESCOPE_VERSION_NUMBER >= JESCOPE_VERSION_ENCODE(1, 0, 0)
#error version
#endif
int main(void)
{
    JescopeOptions options = JESCOPE_OPTIONS_INIT;
    JescopeStatus status = JESCOPE_STATUS_INIT;
    JescopeRequest request = JESCOPE_REQUEST_INIT;
    static JescopeReply reply = JESCOPE_REPLY_INIT;
    if (options.size != sizeof options || status.size != sizeof status || request.size != sizeof request ||
        reply.size != sizeof reply || reply.descriptor != -1 || strcmp(jescope_version(), JESCOPE_VERSION_STRING) != 0)
        return 1;
    printf("%d.%d.%d %s", JESCOPE_VERSION_MAJOR, JESCOPE_VERSION_MINOR, JESCOPE_VERSION_PATCH, JESCOPE_VERSION_STRING);
    for (int code = -1; code < 12; code++)
        printf(" %s", jescope_code_name(code));
    return 0;
}
""")
    source = pathlib.Path(wire.SOURCE) / "include"
    library = BUILD / "src/embed"
    for compiler in (["cc"], ["c++", "-x", "c++", "-std=c++11"]):
        subprocess.run([*compiler, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I", source, tmp_path / "use.c", "-o", tmp_path / "use",
                        "-L", library, "-ljescope", f"-Wl,-rpath,{library}"], check=True)
        words = subprocess.run([tmp_path / "use"], capture_output=True, text=True, check=True).stdout.split()
        assert words[0] == words[1] and words[1] in version
        names = sorted((number, name) for name, number in CODES.items() if name in {*words})
        assert words[2] == words[-1] == "unknown" and words[3:-1] == [name for _, name in names] and len(names) == 11


def test_the_header_is_clean_c_and_cplusplus(tmp_path):
    (tmp_path / "use.c").write_text("#include <jescope.h>\nint main(void) { return jescope_start(NULL, NULL); }\n")
    include = ["-I", str(pathlib.Path(wire.SOURCE) / "include")]
    strict = ["-Wall", "-Wextra", "-Wpedantic", "-pedantic-errors", "-Werror", "-fsyntax-only"]
    for compiler in (["cc", "-std=c99"], ["cc", "-std=c17"], ["c++", "-x", "c++", "-std=c++11"],
                     ["c++", "-x", "c++", "-std=c++20", "-Wold-style-cast"]):  # fmt: skip
        source = (tmp_path / "use.c").read_text().replace("(void)", "()" if "c++" in compiler else "(void)")
        source = source.replace("NULL", "nullptr") if "c++" in compiler else source
        (tmp_path / "one.c").write_text(source)
        subprocess.run([*compiler, *strict, *include, tmp_path / "one.c"], check=True)


def test_a_static_archive_brings_no_names_but_the_public(tmp_path):
    out = subprocess.run(["nm", "--defined-only", "-g", BUILD / "src/embed/libjescope.a"], check=True,
                         capture_output=True, text=True).stdout  # fmt: skip
    names = [line.split()[-1] for line in out.splitlines() if len(line.split()) == 3]
    assert names and all(name.startswith("jescope_") for name in names)
    exports = (pathlib.Path(wire.SOURCE) / "src/embed/exports.list").read_text().splitlines()
    assert sorted(names) == sorted(line for line in exports if line.startswith("jescope_"))


def test_symbols_are_versioned_and_the_soname_is_0():
    library = BUILD / "src/embed/libjescope.so.0"
    out = subprocess.run(["readelf", "-dW", "--dyn-syms", library], check=True, capture_output=True, text=True).stdout
    assert "[libjescope.so.0]" in out and "NODELETE" in out
    assert "jescope_start@@JESCOPE_0" in out
