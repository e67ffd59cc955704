# SPDX-License-Identifier: Apache-2.0
"""status, enable, disable, reset, purge, dump and stats on living programs."""

import json
import os
import pathlib
import re
import subprocess
import tempfile

import pytest

from services import (AS_ROOT, DEADLINE, JESCOPE, PYTHON, environment, jescope, profiling, redis, redis_program, service, started,
                      status, wait_for)

NOBODY = 65534


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
    assert told["profiling"] == {"available": True, "obstacle": None, "sampler": "jemalloc", "sampler_reason": None,
                                 "sampler_figures": None, "active": False, "since": None, "active_since": None,
                                 "reset_at": None, "sample_bytes": 512 * 1024, "new_threads_sampled": True, "lease": None}
    memory = told["sample"]
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
    assert profiling(tmp_path, python.pid)["sample_bytes"] == 64 * 1024
    for _ in range(4):
        python.allocate()
    dump = jescope(tmp_path, "dump", "-o", "-", python.pid).stdout
    assert dump.startswith("heap_v2/65536\n")


def test_enable_for_restores_the_period(tmp_path, python):
    """At the end of the time, and for a client that is long gone; not if it was changed meanwhile."""
    before = profiling(tmp_path, python.pid)["sample_bytes"]
    done = jescope(tmp_path, "enable", "--for", "500ms", "--sample", "16KiB", python.pid)
    assert f"{before // 1024} KiB" in done.stdout and before > 16 * 1024, done.stdout
    wait_for(lambda: profiling(tmp_path, python.pid)["lease"] is None, "the lease ends")
    assert profiling(tmp_path, python.pid)["sample_bytes"] == before
    jescope(tmp_path, "enable", "--for", "1h", "--sample", "16KiB", python.pid)
    assert profiling(tmp_path, python.pid)["sample_bytes"] == 16 * 1024
    python.allocate(65536)
    assert totals(jescope(tmp_path, "dump", "-o", "-", python.pid).stdout) > 0
    jescope(tmp_path, "disable", "--keep-samples", python.pid)
    assert totals(jescope(tmp_path, "dump", "-o", "-", python.pid).stdout) > 0
    jescope(tmp_path, "disable", python.pid)
    assert profiling(tmp_path, python.pid)["sample_bytes"] == before


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
    with service(tmp_path, MALLOC_CONF="prof_prefix:/proc/none/je") as python:
        done = jescope(tmp_path, "msg", python.pid, "memory_profile", "dump", check=False)
        assert done.returncode == 1 and done.stdout == ""
        assert done.stderr == (f"jescope: python3 ({python.pid}) could not write a dump: it was started with prof_prefix "
                               "'/proc/none/je' and must be able to create files of that name (No such file or directory); "
                               "'jescope dump' needs no file\n")


def test_message_to_dump_follows_no_link_and_overwrites_nothing(tmp_path):
    (tmp_path / "precious").write_text("precious")
    with service(tmp_path, MALLOC_CONF=f"prof_prefix:{tmp_path}/je") as python:
        (tmp_path / f"je.{python.pid}.0.m0.heap").symlink_to(tmp_path / "precious")
        (tmp_path / f"je.{python.pid}.1.m1.heap").symlink_to(tmp_path / "nothing")
        (tmp_path / f"je.{python.pid}.2.m2.heap").write_text("an earlier one")
        assert send(tmp_path, python.pid, "dump") == ""
        assert (tmp_path / "precious").read_text() == "precious" and not (tmp_path / "nothing").exists()
        assert (tmp_path / f"je.{python.pid}.2.m2.heap").read_text() == "an earlier one"
        assert (tmp_path / f"je.{python.pid}.3.m3.heap").read_text().startswith("heap_v2/")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize("prefix, may", [("roots/je", False), ("own/link/je", False), ("own/je", True)])
def test_message_to_dump_has_the_rights_of_the_target(tmp_path, prefix, may):
    with tempfile.TemporaryDirectory() as name:  # that others can enter
        root = pathlib.Path(name)
        for folder, mode in ((root, 0o755), (root / "roots", 0o755), (root / "own", 0o777)):
            folder.mkdir(exist_ok=True)
            folder.chmod(mode)
        (root / "own/link").symlink_to(root / "roots")
        variables = {"LD_PRELOAD": "libjemalloc.so.2", "MALLOC_CONF": f"prof:true,prof_prefix:{root}/{prefix}", "PYTHONMALLOC": "malloc"}
        command = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "python3", "-c", "import time; time.sleep(600)"]
        with started(command, env=environment(tmp_path, **variables), cwd="/") as python:
            wait_for(lambda: b"python3" in pathlib.Path(f"/proc/{python.pid}/cmdline").read_bytes()[:8], "setpriv is done")
            done = wait_for(lambda: reached(jescope(tmp_path, "msg", python.pid, "memory_profile", "dump", check=False)), "it is reached")
            made = [path.stat().st_uid for path in root.glob(f"*/je.{python.pid}.*")]
            assert (done.returncode, made) == ((0, [NOBODY]) if may else (1, [])), done.stderr
            assert may or "Permission denied" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize("prefix, may", [("link/je", False), ("../ours/je", False), ("down/je", True)])
def test_message_to_dump_stays_below_the_directory_of_a_container(tmp_path, own_mounts, prefix, may):
    """A link there would lead to a directory of ours, and a container's root may be our user 0."""
    for folder in ("ours", "its/down"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "its/link").symlink_to(tmp_path / "ours")
    variables = {"LD_PRELOAD": "libjemalloc.so.2", "MALLOC_CONF": f"prof:true,prof_prefix:{prefix}", "PYTHONMALLOC": "malloc"}
    command = [*own_mounts, PYTHON, "-c", "import time; print(flush=True); time.sleep(600)"]
    with started(command, env=environment(tmp_path, **variables), cwd=tmp_path / "its") as python:
        python.stdout.readline()
        done = wait_for(lambda: reached(jescope(tmp_path, "msg", python.pid, "memory_profile", "dump", check=False)), "it is reached")
        made = [path.parent.name for path in tmp_path.glob("*/**/je.*.heap")]
        assert (done.returncode, made) == ((0, ["down"]) if may else (1, [])), done.stderr


def reached(done):
    return None if "does not use jemalloc" in done.stderr or "try again" in done.stderr else done


# --- jem-stats, the command of an Aerospike server -------------------------------------------------------------------

DATE = r"[A-Z][a-z]{2} \d{2} \d{4} \d{2}:\d{2}:\d{2} GMT"


def jem_stats(scratch, pid, parameters, status=0):
    done = jescope(scratch, "msg", pid, f"jem-stats:{parameters}", check=False)
    assert done.returncode == status, done.stderr
    return done


def test_jem_stats_to_the_log(tmp_path, python):
    for message in ("jem-stats:", "jem-stats"):
        done = jescope(tmp_path, "msg", python.pid, message)
        lines = done.stderr.splitlines()
        assert done.stdout == "ok\n"
        assert all(re.match(rf"{DATE}: INFO \(alloc\): .{{1,999}}$", line) for line in lines)
        assert lines[0].endswith(": ___ Begin jemalloc statistics ___") and lines[-1].endswith("--- End jemalloc statistics ---")
    short = jem_stats(tmp_path, python.pid, "options=gmdablx").stderr
    assert 1 < len(short.splitlines()) < len(lines), "options count without a file too"


def test_jem_stats_to_a_file(tmp_path, python):
    path = tmp_path / "jem.log"
    path.write_text("an earlier line\n")
    for options in ("", ";options=mbl", ";options=gmdablxeh?zmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm;file=/proc/none/x;;"):
        done = jem_stats(tmp_path, python.pid, f"file={path}{options}")
        assert (done.stdout, done.stderr) == ("ok\n", "")
    earlier, *parts = re.split(rf"^---------- {DATE} ----------\n", path.read_text(), flags=re.M)
    assert earlier == "an earlier line\n" and len(parts) == 3
    assert all(part.startswith("___ Begin jemalloc statistics ___\n") and part.endswith("--- End jemalloc statistics ---\n") for part in parts)
    assert "\nbins:" in parts[0] and "\nbins:" not in parts[1] and "\narenas[0]:" in parts[0]
    assert len(parts[0]) > len(parts[1]) > len(parts[2])


def test_jem_stats_file_is_made_by_the_caller(tmp_path, python):
    (tmp_path / "mine").mkdir(mode=0o700)
    jem_stats(tmp_path, python.pid, f"file={tmp_path}/mine/jem.log")
    assert (tmp_path / "mine/jem.log").stat().st_uid == os.geteuid()


@pytest.mark.parametrize("make, why", [
    (lambda path: None, "No such file or directory"),
    (lambda path: (path.parent.mkdir(), path.symlink_to("/dev/null")), "a symbolic link"),
    (lambda path: (path.parent.mkdir(), os.mkfifo(path)), "No such device or address"),
    (lambda path: (path.parent.mkdir(), path.mkdir()), "Is a directory"),
], ids=["missing", "link", "fifo", "directory"])
@pytest.mark.parametrize("parameter", ["file", "sites"])
def test_jem_stats_where_it_cannot_write(tmp_path, python, parameter, make, why):
    """The server says ok and warns in its log; for scripts there is the exit status."""
    path = tmp_path / "folder/jem.log"
    make(path)
    done = jem_stats(tmp_path, python.pid, f"{parameter}={path}", status=1)
    assert done.stdout == "ok\n" and f"jescope: warning: cannot write '{path}': {why}\n" in done.stderr


def test_jem_stats_with_sites(tmp_path, python):
    """Without debug-allocations a server has no sites to list either: the statistics are logged, the date is appended."""
    path = tmp_path / "sites"
    for _ in range(2):
        done = jem_stats(tmp_path, python.pid, f"sites={path}")
        assert done.stdout == "ok\n" and "___ Begin jemalloc statistics ___" in done.stderr
        assert "warning: the target does not count call sites" in done.stderr
    assert re.fullmatch(rf"(---------- {DATE} ----------\n){{2}}", path.read_text())


@pytest.mark.parametrize("name", ["file", "options", "sites"])
def test_jem_stats_values_that_cannot_be_used(tmp_path, python, name):
    done = jem_stats(tmp_path, python.pid, f"{name}=", status=1)
    assert (done.stdout, done.stderr) == (f"ERROR:4:missing '{name}' value\n", "")
    done = jem_stats(tmp_path, python.pid, f"{name}={'/' * 100}", status=1)
    assert (done.stdout, done.stderr) == (f"ERROR:4:'{name}' value too long\n", "")
    assert "too long" not in jem_stats(tmp_path, python.pid, f"{name}={tmp_path}/".ljust(99 + len(name) + 1, "x"),
                                       status=0).stdout


def test_jem_stats_of_what_it_does_not_know(tmp_path, python):
    done = jem_stats(tmp_path, python.pid, f"fiel={tmp_path}/x;options=gmdablx")
    assert done.stdout == "ok\n" and not (tmp_path / "x").exists()
    assert f"unknown parameter 'fiel={tmp_path}/x' of jem-stats ignored" in done.stderr
    done = jescope(tmp_path, "msg", python.pid, "jem-statsx:", check=False)
    assert done.returncode == 2 and "unknown message tag 'jem-statsx:'" in done.stderr
    done = jescope(tmp_path, "msg", python.pid, "jem-stats:", "stats", check=False)
    assert done.returncode == 2 and "quote the message" in done.stderr


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
