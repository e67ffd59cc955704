# SPDX-License-Identifier: Apache-2.0
"""Recordings, and that the earlier state comes back however they end."""

import os
import pty
import re
import signal
import subprocess

import pytest

from services import DEADLINE, JESCOPE, environment, jescope, profiling, redis, redis_program, service, wait_for

LEASE_SECONDS = 10  # of a recording, in cmd_record.c


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
    assert (recording.returncode, stdout, stderr) == (0, "out.heap\n", "")
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


def test_lease_is_renewed(tmp_path, python, recording):
    """Never less than a lease's length less the time between renewals (and a slow machine)."""
    first = profiling(tmp_path, python.pid)["lease"]["remaining_seconds"]
    wait_for(lambda: profiling(tmp_path, python.pid)["lease"]["remaining_seconds"] < first - 0.5, "time passes")
    wait_for(lambda: profiling(tmp_path, python.pid)["lease"]["remaining_seconds"] > LEASE_SECONDS - 1, "it is renewed")
    assert recording.poll() is None


def test_target_that_ends(tmp_path, python, recording):
    python.kill()
    stdout, stderr = recording.communicate(timeout=DEADLINE)
    assert recording.returncode == 1 and stdout == ""
    assert re.fullmatch(rf"jescope: the recording broke off after [\d.]+ .*s: python3 \({python.pid}\) has ended\n", stderr)
    assert not list(tmp_path.glob("*.heap"))


def test_disable_ends_it(tmp_path, python, recording):
    jescope(tmp_path, "disable", python.pid)
    stdout, stderr = recording.communicate(timeout=DEADLINE)
    assert recording.returncode == 1 and stdout == "" and "somebody else has ended this recording" in stderr
    assert not profiling(tmp_path, python.pid)["active"]


def test_active_stays_active(tmp_path, python):
    jescope(tmp_path, "enable", python.pid)
    jescope(tmp_path, "record", "--for", "50ms", "-o", "out.heap", python.pid)
    assert profiling(tmp_path, python.pid)["active"]


def test_to_stdout(tmp_path, python):
    done = jescope(tmp_path, "record", "--for", "20ms", "-o", "-", python.pid)
    assert done.stdout.startswith("heap_v2/65536\n")
    assert not list(tmp_path.glob("*.heap"))


def test_threads_that_are_not_sampled_are_the_reason(tmp_path):
    with service(tmp_path, MALLOC_CONF="prof_thread_active_init:false") as python:
        done = jescope(tmp_path, "record", "--for", "20ms", "-o", "out.heap", python.pid)
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
    assert f"recording python3 ({python.pid}): 0 ms of 1.0 s, Ctrl-C ends it" in shown
    assert jescope(tmp_path, "record", "--for", "600ms", "-o", "again.heap", python.pid).stderr.count("recording python3") == 0
