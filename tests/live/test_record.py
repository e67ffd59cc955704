# SPDX-License-Identifier: Apache-2.0
"""Recordings, and that the earlier state comes back however they end."""

import contextlib
import json
import os
import pathlib
import pty
import re
import signal
import subprocess
import time

import pytest

from services import (DEADLINE, JESCOPE, PYTHON, VICTIMS, environment, jescope, profiling, redis, redis_program, service,
                      started, wait_for)

LEASE_SECONDS = 10  # of a recording, in cmd-record.c


@pytest.fixture
def python(tmp_path):
    with service(tmp_path, "--sample", "64K") as found:
        yield found


@pytest.fixture
def recording(tmp_path, python):
    """A long one that is under way."""
    process = subprocess.Popen([JESCOPE, "record", "--for", "1h", "-o", "out.heap", str(python.pid)], cwd=tmp_path,
                               env=environment(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: profiling(tmp_path, python.pid)["active"], "the recording has begun")
    yield process
    if process.poll() is None:
        process.kill()
    process.communicate()


def objects(path):
    return int(re.search(r"^  t\*: (\d+): ", path.read_text(), re.M).group(1))


def test_redis_under_load(tmp_path):
    if redis_program(tmp_path) is None:
        pytest.skip("redis-tools is not installed")
    with redis(tmp_path) as server:
        process = subprocess.Popen([JESCOPE, "record", "--for", "2s", str(server.pid)], cwd=tmp_path,
                                   env=environment(tmp_path), stdout=subprocess.PIPE, text=True)
        wait_for(lambda: profiling(tmp_path, server.pid)["active"], "the recording has begun")
        for key in range(300):
            server.ask("SET", f"key{key}", "x" * 60000)
        name = process.communicate(timeout=DEADLINE)[0].strip()
        assert process.returncode == 0 and re.fullmatch(rf"redis-server\.{server.pid}\.\d{{8}}T\d{{6}}\.heap", name)
        assert objects(tmp_path / name) > 0
        assert not profiling(tmp_path, server.pid)["active"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_signal_shortens(tmp_path, python, recording, number):
    for _ in range(4):
        python.allocate()
    recording.send_signal(number)
    stdout, stderr = recording.communicate(timeout=DEADLINE)
    assert (recording.returncode, stdout) == (0, "out.heap\n")
    assert re.fullmatch(r"jescope: interrupted: recorded [\d.]+ m?s of 1 h\n", stderr)
    assert objects(tmp_path / "out.heap") > 0
    now = profiling(tmp_path, python.pid)
    assert not now["active"] and now["lease"] is None


def test_kill_is_survived(tmp_path, python, recording):
    lease = profiling(tmp_path, python.pid)["lease"]
    assert 0 < lease["remaining_seconds"] <= LEASE_SECONDS
    recording.kill()
    recording.wait()
    wait_for(lambda: not profiling(tmp_path, python.pid)["active"], "the agent restores the state by itself")
    assert not (tmp_path / "out.heap").exists()


def test_kill_restores_the_period(tmp_path, python):
    before = profiling(tmp_path, python.pid)["sample_bytes"]
    process = record(tmp_path, python, "--for", "1h", "--sample", "16KiB", "-o", "out.heap")
    assert profiling(tmp_path, python.pid)["sample_bytes"] == 16384 != before
    process.kill()
    process.communicate()
    wait_for(lambda: not profiling(tmp_path, python.pid)["active"], "the agent restores the state by itself")
    assert profiling(tmp_path, python.pid)["sample_bytes"] == before


def test_lease_is_renewed(tmp_path, python, recording):
    """Never less than a lease's length less the time between renewals (and a slow machine)."""
    first = profiling(tmp_path, python.pid)["lease"]["remaining_seconds"]
    wait_for(lambda: profiling(tmp_path, python.pid)["lease"]["remaining_seconds"] < first - 0.5, "time passes")
    wait_for(lambda: profiling(tmp_path, python.pid)["lease"]["remaining_seconds"] > LEASE_SECONDS - 1, "it is renewed")
    assert recording.poll() is None


def test_target_that_ends(tmp_path, python):
    """At once: there is nothing to keep."""
    process = record(tmp_path, python, "--for", "1h", "-o", "out.heap")
    python.kill()
    stdout, stderr = process.communicate(timeout=DEADLINE)
    if process.returncode == 3:
        pytest.skip("the machine is too slow: a dump was taken before the target was ended")
    assert process.returncode == 1 and stdout == ""
    assert re.fullmatch(rf"jescope: the recording was aborted after [\d.]+ .*s: python3 \({python.pid}\) has ended\n", stderr)
    assert not list(tmp_path.glob("*.heap"))


def held(process):
    """The objects in the dump that a recording has already of each process, by pid."""
    found = {}
    for link in pathlib.Path(f"/proc/{process.pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            text = link.read_bytes() if os.readlink(link).startswith("/memfd:") else b""
            total, pid = re.search(rb"^  t\*: (\d+): ", text, re.M), re.search(rb"jescope_capture=1 time=\d+ pid=(\d+)", text)
            if total and pid:
                found[int(pid[1])] = int(total[1])
    return found


def record(scratch, target, *words):
    """One that is under way."""
    process = subprocess.Popen([JESCOPE, "record", *words, str(target.pid)], cwd=scratch, env=environment(scratch),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: profiling(scratch, target.pid)["active"], "the recording has begun")
    return process


def record_allocations(scratch, target, *words):
    """A short one, with its output: the target allocates as long as it lasts, which may be over before one sees that it has begun."""
    process = subprocess.Popen([JESCOPE, "record", *words, str(target.pid)], cwd=scratch, env=environment(scratch),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while process.poll() is None:
        target.allocate(16384)
        time.sleep(0.05)
    return process.returncode, *process.communicate(timeout=DEADLINE)


def test_a_target_that_ends_leaves_what_was_recorded(tmp_path, python):
    process = record(tmp_path, python, "-o", "out.heap")
    for _ in range(4):
        python.allocate(65536)
    wait_for(lambda: held(process).get(python.pid), "an intermediate dump has objects")
    python.kill()
    stdout, stderr = process.communicate(timeout=DEADLINE)
    assert (process.returncode, stdout) == (3, "out.heap\n")
    assert re.fullmatch(rf"jescope: the recording was aborted after [\d.]+ s: python3 \({python.pid}\) has ended; the file "
                        r"holds memory live after [\d.]+ s\n", stderr)
    assert objects(tmp_path / "out.heap") > 0
    assert "in use" in jescope(tmp_path, "report", "out.heap").stdout


def test_disable_ends_it(tmp_path, python, recording):
    python.allocate(65536)
    jescope(tmp_path, "disable", "--keep-samples", python.pid)
    stdout, stderr = recording.communicate(timeout=DEADLINE)
    assert (recording.returncode, stdout) == (3, "out.heap\n")
    assert "another command has ended this recording; the file holds memory live after" in stderr
    assert objects(tmp_path / "out.heap") > 0
    assert not profiling(tmp_path, python.pid)["active"]


def test_without_a_duration_until_interrupted(tmp_path, python):
    process = record(tmp_path, python, "-o", "out.heap")
    python.allocate(65536)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=DEADLINE)
    assert (process.returncode, stdout, stderr) == (0, "out.heap\n", "")
    assert not profiling(tmp_path, python.pid)["active"]


def test_a_bare_number_is_seconds(tmp_path, python):
    assert record_allocations(tmp_path, python, "--for", "2", "-o", "out.heap") == (0, "out.heap\n", "")


def test_every_writes_dumps_while_sampling_stays_on(tmp_path, python):
    """The recipe for growth: no gap between the dumps."""
    said = record_allocations(tmp_path, python, "--every", "1s", "--count", "3", "-o", "out.heap")
    assert said == (0, "out.1.heap\nout.2.heap\nout.3.heap\n", "")
    text = jescope(tmp_path, "growth", "out.1.heap", "out.2.heap", "out.3.heap").stdout
    assert "inuse_space in all: still growing" in text and "sampling was off" not in text
    assert not profiling(tmp_path, python.pid)["active"]


def test_keep_on_leaves_it_on(tmp_path, python):
    code, _, stderr = record_allocations(tmp_path, python, "--for", "1s", "--keep-on", "-o", "one.heap")
    assert "profiling stays on" in stderr and code == 0
    state = profiling(tmp_path, python.pid)
    assert state["active"] and state["lease"] is None
    for name in ("two.heap", "three.heap"):
        python.allocate(65536)
        time.sleep(1)
        jescope(tmp_path, "dump", "-o", name, python.pid)
    assert "sampling was off" not in jescope(tmp_path, "growth", "one.heap", "two.heap", "three.heap").stdout


@pytest.mark.parametrize("via", ["agent", "attach"])
def test_sample_is_for_this_recording(tmp_path, python, via):
    code, _, stderr = record_allocations(tmp_path, python, "--sample", "16KiB", "--via", via, "--for", "1s", "-o", "out.heap")
    assert code == 0, stderr
    assert (tmp_path / "out.heap").read_text().startswith("heap_v2/16384\n")
    assert profiling(tmp_path, python.pid)["sample_bytes"] == 65536


def test_disable_restores_the_period(tmp_path, python):
    jescope(tmp_path, "enable", "--sample", "16KiB", python.pid)
    python.allocate(65536)
    done = jescope(tmp_path, "record", "--for", "1s", "-o", "out.heap", python.pid)
    assert "the sampling period of python3" in done.stderr and "not the 64.0 KiB" in done.stderr
    jescope(tmp_path, "disable", "--keep-samples", python.pid)
    assert profiling(tmp_path, python.pid)["sample_bytes"] == 16384
    assert "64.0 KiB again" in jescope(tmp_path, "disable", python.pid).stdout
    assert profiling(tmp_path, python.pid)["sample_bytes"] == 65536


def test_a_heap_elsewhere_is_told(tmp_path):
    command = [JESCOPE, "run", "--", VICTIMS / "holds", "elsewhere=30"]
    with started(command, env=environment(tmp_path), cwd=tmp_path) as process:
        pid = int(process.stdout.readline())
        done = jescope(tmp_path, "record", "--for", "20ms", "-o", "out.heap", pid, check=False)
        assert done.returncode == 3 and "does not serve the main heap" in done.stderr


# A master and workers of one name; each line it reads starts another worker and ends the oldest.
MASTER = """
import os, sys, signal, time
def work(master):
    kept = []
    os.close(0); os.close(1)
    while os.getppid() == master:
        kept.append(bytes(65536)); time.sleep(0.005)
workers = []
def start():
    master = os.getpid()
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL); work(master); os._exit(0)
    workers.append(pid)
start(); start()
print(os.getpid(), *workers, flush=True)
for line in sys.stdin:
    start()
    oldest = workers.pop(0); os.kill(oldest, signal.SIGTERM); os.waitpid(oldest, 0)
    print(*workers, flush=True)
for worker in workers:
    os.kill(worker, signal.SIGTERM)
"""


def test_children_across_a_reload(tmp_path):
    command = [JESCOPE, "run", "--sample=64KiB", "--", PYTHON, "-c", MASTER]
    with started(command, env=environment(tmp_path, PYTHONMALLOC="malloc"), cwd=tmp_path) as master:
        pid, old, stays = map(int, master.stdout.readline().split())
        wait_for(lambda: len(list((tmp_path / "agents").glob("*.sock"))) == 3, "three agents listen")
        process = subprocess.Popen([JESCOPE, "record", "--children", "-o", "all.heap", str(pid)], cwd=tmp_path,
                                   env=environment(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for worker in (pid, old, stays):
            wait_for(lambda worker=worker: profiling(tmp_path, worker)["active"], "it is recorded")
        wait_for(lambda: held(process).keys() == {pid, old, stays}, "a dump of each is taken")
        master.stdin.write("reload\n")
        master.stdin.flush()
        new = int(master.stdout.readline().split()[1])
        wait_for(lambda: (tmp_path / "agents").glob(f"{new}.*.sock") and profiling(tmp_path, new)["lease"], "the new one, too")
        wait_for(lambda: new in held(process), "a dump of the new one is taken")
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=DEADLINE)
        assert (process.returncode, stdout) == (3, "all.heap\n")
        assert re.search(rf"python3 \({old}\) has ended; the file holds its memory after [\d.]+ s of recording", stderr)
        for worker in (pid, stays, new):
            assert not profiling(tmp_path, worker)["active"], worker
        text = (tmp_path / "all.heap").read_text()
        assert text.count("heap_v2/65536\n") == 4
        pids = {int(found) for found in re.findall(r"jescope_capture=1 time=\d+ pid=(\d+)", text)}
        assert pids == {pid, old, stays, new}
        report = json.loads(jescope(tmp_path, "report", "--format=json", "all.heap").stdout)
        assert any("explains" in note for note in report["notes"])


def test_dumps_that_are_kept_have_a_limit_together(tmp_path):
    command = [JESCOPE, "run", "--sample=64KiB", "--", PYTHON, "-c", MASTER]
    with started(command, env=environment(tmp_path, PYTHONMALLOC="malloc"), cwd=tmp_path) as master:
        pid, *workers = map(int, master.stdout.readline().split())
        wait_for(lambda: len(list((tmp_path / "agents").glob("*.sock"))) == 3, "three agents listen")
        jescope(tmp_path, "dump", str(pid), "-o", "one.heap")
        limit = (tmp_path / "one.heap").stat().st_size * 5 // 2
        process = subprocess.Popen([JESCOPE, "record", "--children", f"--max-output={limit}", "-o", "all.heap", str(pid)], cwd=tmp_path,
                                   env=environment(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = process.stderr.readline()
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=DEADLINE)
        assert (process.returncode, stdout) == (3, "all.heap\n")
        assert re.search(r"dumps are left out: with the dump of python3 \(\d+\), the dumps of this recording would have more than .* together; "
                         "raise the limit with --max-output, or write them earlier with --every", line), line
        assert "nothing of it is in the file" in stderr
        assert limit * 2 // 5 < (tmp_path / "all.heap").stat().st_size <= limit
        assert (tmp_path / "all.heap").read_text().count("heap_v2/65536\n") == 2
        for worker in (pid, *workers):
            wait_for(lambda worker=worker: not profiling(tmp_path, worker)["active"], "its state is as it was")


RENAMED = """
import ctypes, os, sys
def rename(name): ctypes.CDLL(None).prctl(15, name, 0, 0, 0)
rename(b"paysvc")
print(os.getpid(), flush=True)
sys.stdin.readline()
kept = [bytes(65536) for _ in range(1000)]
rename(b"renamed")
print("renamed", flush=True)
sys.stdin.read()
"""


def test_the_agent_is_taken_away_where_it_was_brought(tmp_path):
    """Another process may have the name meanwhile, with an agent of its own."""
    plain = environment(tmp_path, LD_PRELOAD="libjemalloc.so.2", MALLOC_CONF="prof:true,prof_active:false", PYTHONMALLOC="malloc")
    with started([PYTHON, "-c", RENAMED], env=plain, cwd=tmp_path) as first:
        assert int(first.stdout.readline()) == first.pid
        process = subprocess.Popen([JESCOPE, "record", "--attach", "-o", "out.heap", "paysvc"], cwd=tmp_path, env=environment(tmp_path),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_for(lambda: profiling(tmp_path, first.pid)["active"], "the recording has begun")
        print("rename", file=first.stdin, flush=True)
        assert first.stdout.readline() == "renamed\n"
        with started([JESCOPE, "run", "--", PYTHON, "-c", RENAMED], env=environment(tmp_path, PYTHONMALLOC="malloc"), cwd=tmp_path) as second:
            other = int(second.stdout.readline())
            jescope(tmp_path, "enable", other)
            process.send_signal(signal.SIGINT)
            assert process.wait(DEADLINE) == 0, process.stderr.read()
            assert profiling(tmp_path, other)["active"], "the agent of the other process is there"
        wait_for(lambda: not list((tmp_path / "agents").glob(f"{first.pid}.*")), "the agent of the recorded one is not")


def test_active_stays_active(tmp_path, python):
    jescope(tmp_path, "enable", python.pid)
    python.allocate(65536)
    jescope(tmp_path, "record", "--for", "50ms", "-o", "out.heap", python.pid)
    assert profiling(tmp_path, python.pid)["active"]


def test_to_stdout(tmp_path, python):
    done = jescope(tmp_path, "record", "--for", "20ms", "-o", "-", python.pid, check=False)
    assert done.returncode == 3 and "no live samples after 20 ms" in done.stderr
    assert done.stdout.startswith("heap_v2/65536\n")
    assert not list(tmp_path.glob("*.heap"))


def test_threads_that_are_not_sampled_are_the_reason(tmp_path):
    with service(tmp_path, MALLOC_CONF="prof_thread_active_init:false") as python:
        done = jescope(tmp_path, "record", "--for", "20ms", "-o", "out.heap", python.pid, check=False)
        assert done.returncode == 3
        assert "prof_thread_active_init:false keeps the threads" in done.stderr
        assert "new ones are not sampled" in jescope(tmp_path, "status", python.pid).stdout


def test_progress_on_a_terminal_only(tmp_path, python):
    leader, follower = pty.openpty()
    process = subprocess.Popen([JESCOPE, "record", "--for", "1s", "-o", "out.heap", str(python.pid)], cwd=tmp_path,
                               env=environment(tmp_path), stdout=subprocess.PIPE, stderr=follower, text=True)
    os.close(follower)
    assert process.communicate(timeout=DEADLINE)[0] == "out.heap\n"
    shown = os.read(leader, 65536).decode()
    os.close(leader)
    assert f"recording python3 ({python.pid}): 0 s of 1.0 s, Ctrl-C ends it" in shown and "0 ms" not in shown
    done = jescope(tmp_path, "record", "--for", "600ms", "-o", "again.heap", python.pid, check=False)
    assert "recording python3" not in done.stderr
