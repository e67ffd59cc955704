# SPDX-License-Identifier: Apache-2.0
"""status, enable, disable, reset, purge, dump and stats on living programs."""

import json
import os
import pathlib
import re
import subprocess

import pytest

from services import (AS_ROOT, DEADLINE, JESCOPE, environment, jescope, profiling, redis, redis_program, service, status,
                      wait_for)


@pytest.fixture
def server(tmp_path):
    if redis_program(tmp_path) is None:
        pytest.skip("redis-tools is not installed")
    with redis(tmp_path) as found:
        yield found


@pytest.fixture
def python(tmp_path):
    with service(tmp_path) as found:
        yield found


def test_status_of_redis(tmp_path, server):
    told = status(tmp_path, server.pid)
    assert told["name"] == "redis-server" and told["pid"] == server.pid and told["uid"] == os.geteuid()
    assert "libjemalloc" in told["jemalloc"]["found_in"] and told["jemalloc"]["serves_malloc"]
    assert told["profiling"] == {"built": True, "enabled": True, "active": False, "since": None, "active_since": None,
                                 "reset_at": None, "sample_period": 512 * 1024, "new_threads_sampled": True, "lease": None,
                                 "obstacle": None}
    memory = told["memory"]
    assert 0 < memory["allocated"] <= memory["active"] <= memory["resident"]


def test_by_name_and_by_socket(tmp_path, python):
    socket = next((tmp_path / "agents").glob("*.sock"))
    by_socket = json.loads(jescope(tmp_path, "status", "--json", f"unix:{socket}").stdout)
    assert by_socket["pid"] == python.pid


def test_name_that_only_one_can_be_reached_by(tmp_path, python):
    """Other processes of the same name without an agent are not in the way."""
    python.rename(f"only-{os.getpid() % 10000}")
    sleeper = tmp_path / f"only-{os.getpid() % 10000}"
    sleeper.symlink_to("/bin/sleep")
    other = subprocess.Popen([sleeper, "1000"])
    try:
        wait_for(lambda: pathlib.Path(f"/proc/{other.pid}/comm").read_text().strip() == sleeper.name, "it has its name")
        assert json.loads(jescope(tmp_path, "status", "--json", sleeper.name).stdout)["pid"] == python.pid
    finally:
        other.kill()
        other.wait()


def test_enable_and_disable(tmp_path, python):
    jescope(tmp_path, "enable", python.pid)
    now = profiling(tmp_path, python.pid)
    assert now["active"] and now["since"] == "agent" and now["lease"] is None
    assert "active since" in jescope(tmp_path, "status", python.pid).stdout
    jescope(tmp_path, "disable", python.pid)
    assert not profiling(tmp_path, python.pid)["active"]


def test_enable_for_comes_back_by_itself(tmp_path, python):
    jescope(tmp_path, "enable", "--for", "300ms", python.pid)
    wait_for(lambda: not profiling(tmp_path, python.pid)["active"], "the lease ends")
    jescope(tmp_path, "enable", "--for", "1h", python.pid)
    now = profiling(tmp_path, python.pid)
    assert now["active"] and 3500 < now["lease"]["remaining_seconds"] <= 3600 and not now["lease"]["restores"]
    jescope(tmp_path, "disable", python.pid)
    now = profiling(tmp_path, python.pid)
    assert not now["active"] and now["lease"] is None


def test_enable_sets_the_period(tmp_path, python):
    jescope(tmp_path, "enable", "--sample", "64KiB", python.pid)
    assert profiling(tmp_path, python.pid)["sample_period"] == 64 * 1024
    for _ in range(4):
        python.allocate()
    dump = jescope(tmp_path, "dump", "-o", "-", python.pid).stdout
    assert dump.startswith("heap_v2/65536\n")


def totals(dump):
    return int(re.search(r"^  t\*: (\d+): ", dump, re.M).group(1))


def test_reset_discards(tmp_path, python):
    jescope(tmp_path, "enable", python.pid)
    for _ in range(16):
        python.allocate()
    assert totals(jescope(tmp_path, "dump", "-o", "-", python.pid).stdout) > 0
    jescope(tmp_path, "disable", python.pid)
    jescope(tmp_path, "reset", python.pid)
    assert totals(jescope(tmp_path, "dump", "-o", "-", python.pid).stdout) == 0
    assert profiling(tmp_path, python.pid)["reset_at"] is not None


def test_purge(tmp_path, server):
    for key in range(50):
        server.ask("SET", f"key{key}", "x" * 50000)
    server.ask("FLUSHALL", "SYNC")
    said = jescope(tmp_path, "purge", server.pid).stdout
    assert re.fullmatch(rf"redis-server \({server.pid}\): resident [\d.]+ .?i?B before, [\d.]+ .?i?B after\n", said)


def test_dump_is_a_whole_dump(tmp_path, server):
    first = jescope(tmp_path, "dump", server.pid).stdout.strip()
    second = jescope(tmp_path, "dump", server.pid).stdout.strip()
    assert first != second
    for name in (first, second):
        assert re.fullmatch(rf"redis-server\.{server.pid}\.\d{{8}}T\d{{6}}(\.\d+)?\.heap", name)
        text = (tmp_path / name).read_text()
        assert text.startswith("heap_v2/524288\n") and "\nMAPPED_LIBRARIES:\n" in text and text.endswith("\n")
    assert not list(tmp_path.glob("*.tmp"))


def test_dump_of_a_target_that_cannot_write_there(tmp_path, server):
    """The target never learns a file name: the dump is written by jescope, for its user."""
    (tmp_path / "mine").mkdir(mode=0o700)
    jescope(tmp_path, "dump", "-o", tmp_path / "mine/out.heap", server.pid)
    assert (tmp_path / "mine/out.heap").stat().st_uid == os.geteuid()


@pytest.mark.skipif(not AS_ROOT, reason="mounting a small file system needs root")
def test_full_disk_keeps_nothing(tmp_path, own_mounts, server):
    script = f"""
        mount -t tmpfs -o size=4k none {tmp_path}/small && cd {tmp_path}/small &&
        head -c 4096 /dev/zero >filler; {JESCOPE} dump -o out.heap {server.pid}; echo "exit $?"; ls"""
    (tmp_path / "small").mkdir()
    done = subprocess.run([*own_mounts, "sh", "-c", script], capture_output=True, text=True, timeout=DEADLINE,
                          env=environment(tmp_path))
    assert done.stdout == "exit 1\nfiller\n"
    assert done.stderr == "jescope: cannot write 'out.heap': No space left on device\n"


def send(scratch, pid, message):
    done = jescope(scratch, "msg", pid, "memory_profile", message)
    assert done.stderr == ""
    return done.stdout


def test_messages(tmp_path):
    with service(tmp_path, MALLOC_CONF=f"prof_prefix:{tmp_path}/je") as python:
        assert send(tmp_path, python.pid, "activate") == ""
        assert profiling(tmp_path, python.pid)["active"]
        assert send(tmp_path, python.pid, "dump") == ""
        assert [path.name for path in tmp_path.glob("je*")] == [f"je.{python.pid}.0.m0.heap"]
        assert (tmp_path / f"je.{python.pid}.0.m0.heap").read_text().startswith("heap_v2/524288\n")
        assert send(tmp_path, python.pid, "deactivate") == ""
        assert not profiling(tmp_path, python.pid)["active"]
        assert send(tmp_path, python.pid, "stats").startswith("___ Begin jemalloc statistics ___\n")


def test_message_to_dump_where_it_cannot(tmp_path):
    with service(tmp_path, MALLOC_CONF="prof_prefix:/nonexistent/je") as python:
        done = jescope(tmp_path, "msg", python.pid, "memory_profile", "dump", check=False)
        assert done.returncode == 1 and done.stdout == ""
        assert done.stderr == (f"jescope: python3 ({python.pid}) could not write a dump: it was started with prof_prefix "
                               "'/nonexistent/je' and must be able to make files of that name; 'jescope dump' needs none\n")


def test_stats_is_what_jemalloc_prints(tmp_path, server):
    text = jescope(tmp_path, "stats", server.pid, "--raw").stdout
    assert text.startswith("___ Begin jemalloc statistics ___\n") and text.endswith("--- End jemalloc statistics ---\n")
    short = jescope(tmp_path, "stats", "--options", "gmdablxe", server.pid).stdout
    assert len(short) < len(text) and "Allocated: " in short
    data = json.loads(jescope(tmp_path, "stats", "--json", "--options", "a", server.pid).stdout)
    assert data["jemalloc"]["stats"]["allocated"] > 0
    assert data == json.loads(json.dumps(data)) and "version" in data["jemalloc"]


def test_closed_pipe_is_quiet(tmp_path, server):
    """`jescope stats | head` ends by SIGPIPE like every other program."""
    process = subprocess.Popen([JESCOPE, "stats", str(server.pid)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=environment(tmp_path))
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(DEADLINE) in (-13, 0)
    process.stderr.close()


def test_stopped_target_is_said(tmp_path, python):
    os.kill(python.pid, 19)
    try:
        wait_for(lambda: " T " in pathlib.Path(f"/proc/{python.pid}/stat").read_text(), "it is stopped")
        done = jescope(tmp_path, "status", python.pid, check=False)
        assert done.returncode == 1
        assert done.stderr == (f"jescope: python3 ({python.pid}) did not answer within 5 s; it is stopped, continue it with "
                               "SIGCONT\n")
    finally:
        os.kill(python.pid, 18)
