# SPDX-License-Identifier: Apache-2.0
"""`jescope watch` and `jescope last`: a profile of the time before the end exists, however a process ends.

One real OOM kill and one SIGKILL at a random moment; with JESCOPE_PROOF as many of each as it says ("full": 200 and 1000)."""

import base64
import contextlib
import datetime
import json
import os
import pathlib
import pwd
import random
import re
import shutil
import signal
import socket
import subprocess
import time

import pytest

from groups import MIB, group  # noqa: F401
from leaker import NAME, leaker
from oomd import group_of, notify
from seccomp import refuse_pidfd_info
from test_documents import documented, flat
from services import AS_ROOT, DEADLINE, JESCOPE, children, environment, fill, jescope, small_disk, started, wait_for

PROOF = os.environ.get("JESCOPE_PROOF")
KILLS, SIGNALS = (200, 1000) if PROOF == "full" else (int(PROOF), int(PROOF)) if PROOF else (1, 1)
LINUX = tuple(int(number) for number in os.uname().release.split("-")[0].split(".")[:2])
LIMIT = 150 * MIB
# Stacks, and bytes per second: slow, a burst, many stacks.
LEAKERS = [(0, 60 * MIB), (0, 1024 * MIB), (20000, 100 * MIB)]


def kept(tmp_path, *words):
    done = jescope(tmp_path, "last", *words, "--json", f"--directory={tmp_path / 'box'}")
    return json.loads(done.stdout)["lives"]


@contextlib.contextmanager
def watched(tmp_path, *words, **options):
    command = [JESCOPE, "watch", "-v", f"--directory={tmp_path / 'box'}", *words]
    with started(command, cwd=tmp_path, env=environment(tmp_path), stderr=subprocess.PIPE, **options) as watch:
        assert "snapshot 1 (first)" in watch.stderr.readline()
        yield watch


def is_listening(process):
    """Whether it has a socket that receives events of the process connector (protocol 11, group 1)."""
    rows = [line.split() for line in pathlib.Path("/proc/net/netlink").read_text().splitlines()[1:]]
    sockets = {f"socket:[{row[9]}]" for row in rows if row[1] == "11" and int(row[3], 16) & 1}
    held = [os.readlink(descriptor.path) for pid in (process.pid, *children(process.pid)) for descriptor in os.scandir(f"/proc/{pid}/fd")]
    return not sockets.isdisjoint(held)


def time_of(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def is_recent(life, ended, used, case):
    """The last profile, which must be at most 1 s old, or 5 % of the limit behind what was USED when the process ENDED."""
    last = [snapshot for snapshot in life["snapshots"] if snapshot["dump"]][-1]
    seconds, behind = ended - time_of(last["time"]), max(used - last["used"], 0) / LIMIT
    if PROOF:
        print(f"{case}: {seconds:.2f} s old, {behind:.0%} of the limit behind, {len(life['snapshots'])} snapshots, {last['reason']}")
        assert seconds <= 1 or behind <= 0.05
    return last


@pytest.mark.parametrize("run", range(KILLS))
def test_oom_kill(tmp_path, group, run):  # noqa: F811
    stacks, rate = LEAKERS[run % len(LEAKERS)]
    with leaker(tmp_path) as program:
        group.take(program.pid_inside)
        group.limit(LIMIT)
        with watched(tmp_path, program.pid_inside) as watch:
            program.tell(f"stacks {stacks}")
            program.tell(f"leak {rate}")
            program.wait(DEADLINE)
            assert watch.wait(DEADLINE) == 0
            assert re.search(r"killed by OOM at [\d.]+( MiB)? of 150 MiB, last profile [\d.]+ m?s old", watch.stderr.read())
    [life] = kept(tmp_path, NAME)
    assert flat({"lives": [life]}) | {"lives[].end"} == documented("jescope-last")
    end = life["end"]
    assert life["state"] == "oom-kill" and end["cause"] == "oom-kill"
    assert end["number"] == signal.SIGKILL or (LINUX < (6, 15) and end["number"] == 0)  # its parent may have been faster
    assert end["limit"] == LIMIT and end["oom_kills_after"] == end["oom_kills_before"] + 1
    last = is_recent(life, time_of(end["time"]), LIMIT, f"OOM, {stacks} stacks, {rate >> 20} MiB/s")
    assert last["used"] > 0 and len(life["snapshots"]) <= 6
    shown = jescope(tmp_path, "last", NAME, f"--directory={tmp_path / 'box'}").stdout
    headline = shown.partition("\n")[0]
    known = rf"{NAME} \(\d+\): killed by OOM at [\d.]+( MiB)? of 150 MiB, last profile [\d.]+ m?s old"
    assert re.match(known, headline)
    if last["used"] > LIMIT // 2:
        assert re.fullmatch(known + r", [\d.]+% explained, grew most: keep \+[\d.]+ MiB in [\d.]+ m?s", headline)
        assert "grown in the " in shown and "leak_on" in shown
        folded = jescope(tmp_path, "last", NAME, f"--directory={tmp_path / 'box'}", "--format=folded").stdout
        assert "leak_on;hold;keep" in folded


@pytest.mark.parametrize("run", range(SIGNALS))
def test_both_are_killed(tmp_path, group, run):  # noqa: F811
    """jescope and the program, at a random moment while it grows: what is named is whole, and recent."""
    stacks, rate = LEAKERS[run % len(LEAKERS)]
    with leaker(tmp_path) as program:
        group.take(program.pid_inside)
        group.limit(LIMIT)
        with watched(tmp_path, "--keep=3", program.pid_inside) as watch:
            program.tell(f"stacks {stacks}")
            program.tell(f"leak {rate}")
            time.sleep(random.uniform(0, 0.9 * LIMIT / rate))
            used, killed = group.usage(), time.time()
            watch.kill()
            os.kill(program.pid_inside, signal.SIGKILL)
            program.wait(DEADLINE)
            watch.wait(DEADLINE)
    [life] = kept(tmp_path)
    assert life["state"] == "lost" and life["end"] is None
    for snapshot in (each for each in life["snapshots"] if each["dump"]):  # less than a dump may be left of the limit
        done = jescope(tmp_path, "report", snapshot["dump"], "--format=folded", check=False)
        assert done.returncode == 0 or (done.returncode == 3 and "no live samples" in done.stderr)  # the first one
    is_recent(life, killed, used, f"SIGKILL, {stacks} stacks, {rate >> 20} MiB/s")
    shown = jescope(tmp_path, "last", program.pid_inside, f"--directory={tmp_path / 'box'}", check=False).stdout
    assert "ended while it was not watched" in shown


def test_full_disk(tmp_path, group):  # noqa: F811
    """What is kept stays whole, the failure is told, and it goes on when there is room again."""
    filler = tmp_path / "box" / "filler"
    with small_disk(tmp_path / "box"), leaker(tmp_path) as program:
        group.take(program.pid_inside)
        group.limit(LIMIT)
        with watched(tmp_path, program.pid_inside) as watch:
            fill(filler)
            program.tell(f"hold {20 * MIB}")
            assert "No space left on device" in watch.stderr.readline()
            [life] = kept(tmp_path)
            [first] = life["snapshots"]
            assert pathlib.Path(first["dump"]).stat().st_size == first["dump_bytes"] > 0
            filler.unlink()
            program.tell(f"hold {20 * MIB}")
            assert "snapshot 2 (" in watch.stderr.readline()
        [life] = kept(tmp_path)
        assert [snapshot["number"] for snapshot in life["snapshots"] if snapshot["dump"]] == [1, 2]
        assert not list((tmp_path / "box").rglob("*.new"))


def test_exit_and_the_next_process(tmp_path):
    """A name means the next process as well; the exit status is noted."""
    with leaker(tmp_path) as program, watched(tmp_path, NAME) as watch:
        program.tell("stop 0")  # it exits with status 1
        program.wait(DEADLINE)
        assert "exited with status 1" in watch.stderr.readline()
        with leaker(tmp_path) as successor:
            assert f"{NAME} ({successor.pid_inside}): snapshot 1 (first)" in watch.stderr.readline()
            watch.send_signal(signal.SIGTERM)
            assert watch.wait(DEADLINE) == 0
            [now, before] = kept(tmp_path)
            assert now["pid"] == successor.pid_inside and now["state"] == "runs" and before["state"] == "exit"
    listed = jescope(tmp_path, "last", f"--directory={tmp_path / 'box'}").stdout
    assert listed.count(NAME) == 2


def test_dump_beyond_the_size(tmp_path):
    """What is told names the option that bounds it."""
    with leaker(tmp_path) as program:
        command = [JESCOPE, "watch", f"--directory={tmp_path / 'box'}", "--max-size=16KiB", program.pid_inside]
        with started(command, cwd=tmp_path, env=environment(tmp_path), stderr=subprocess.PIPE) as watch:
            assert "is larger than 4.00 KiB, a quarter of the 16.0 KiB that all dumps may have; raise that with --max-size" in watch.stderr.readline()


def end(program, how):
    """Says 1, 0 or SIGTERM, and has been waited for by its parent."""
    if how == signal.SIGTERM:
        os.kill(program.pid_inside, how)
    elif how == 1:
        program.tell("stop 0")
    else:
        program.stdin.close()
        program.stdin = None
    program.wait(DEADLINE)


@pytest.mark.skipif(not AS_ROOT, reason="the kernel sends exits of other processes to root alone")
@pytest.mark.parametrize("how,said", [(0, "exited with status 0"), (1, "exited with status 1"), (signal.SIGTERM, "ended by signal 15")])
def test_a_parent_that_waits_first(tmp_path, how, said):
    """Where pidfds do not tell the status, and the process is gone when jescope looks: the process connector has told it."""
    with leaker(tmp_path) as program, watched(tmp_path, program.pid_inside, preexec_fn=refuse_pidfd_info) as watch:
        assert is_listening(watch)
        watch.send_signal(signal.SIGSTOP)
        end(program, how)
        watch.send_signal(signal.SIGCONT)
        assert said in watch.stderr.readline()
        assert watch.wait(DEADLINE) == 0


@pytest.mark.skipif(not AS_ROOT, reason="only root has processes of other users")
def test_a_namesake_of_another_user_is_not_the_next_process(open_path):
    with leaker(open_path) as program, watched(open_path, NAME) as watch:
        program.tell("stop 0")
        program.wait(DEADLINE)
        assert "exited with status 1" in watch.stderr.readline()
        own = open_path / "agents-65534"
        own.mkdir(mode=0o700)
        os.chown(own, 65534, 65534)
        with leaker(open_path, user=65534) as impostor, leaker(open_path) as successor:
            line = watch.stderr.readline()
            assert f"{NAME} ({successor.pid_inside}): snapshot 1 (first)" in line
            assert impostor.poll() is None


def test_a_namesake_without_jemalloc_is_not_the_next_process(tmp_path):
    """Any user can have a set-user-ID program of root's take the name."""
    with leaker(tmp_path) as program, watched(tmp_path, NAME) as watch:
        program.tell("stop 0")
        program.wait(DEADLINE)
        assert "exited with status 1" in watch.stderr.readline()
        namesake = tmp_path / "bin" / NAME
        namesake.parent.mkdir()
        shutil.copy(shutil.which("sleep"), namesake)
        with started([namesake, "600"], env=environment(tmp_path)), leaker(tmp_path) as successor:
            assert f"{NAME} ({successor.pid_inside}): snapshot 1 (first)" in watch.stderr.readline()


def test_systemd_oomd_calls_before_it_kills(tmp_path):
    """A stand-in for it, which speaks the protocol of systemd 260: one call for each group, the answer when the snapshot is kept."""
    hook = tmp_path / "hook"
    with leaker(tmp_path) as program, watched(tmp_path, f"--oomd-hook={hook}", program.pid_inside):
        own = group_of(program.pid_inside)
        assert notify(hook, "/of/another.service") == {"parameters": {}}
        assert not called_for(tmp_path) or own == "/"
        assert notify(hook, own) == {"parameters": {}}
        assert called_for(tmp_path)[-1]["dump"]
    assert not hook.exists()


def test_memory_pressure_watch(tmp_path):
    """A stand-in for the service that systemd's MEMORY_PRESSURE_WATCH names: jescope connects beside the program, and takes a snapshot."""
    place = tmp_path / "pressure"
    with socket.socket(socket.AF_UNIX) as service:
        service.bind(str(place))
        service.listen()
        service.settimeout(DEADLINE)
        with leaker(tmp_path, MEMORY_PRESSURE_WATCH=str(place), MEMORY_PRESSURE_WRITE="aGVsbG8=") as program:
            with watched(tmp_path, program.pid_inside) as watch:
                connection, _ = service.accept()
                with connection:
                    connection.settimeout(DEADLINE)
                    assert connection.recv(5) == b"hello"
                    connection.sendall(b"x")
                    assert "(memory pressure)" in watch.stderr.readline()


@contextlib.contextmanager
def slowed_down(tmp_path, group, **variables):
    """A watched program that is above memory.high."""
    high = group.path / "memory.high"
    if not high.exists():
        pytest.skip("memory.high is in version 2 of control groups only; tests/soak/cgroup2 boots a machine that has it")
    with leaker(tmp_path, **variables) as program:
        group.take(program.pid_inside)
        group.forbid_swap(0)
        with watched(tmp_path, program.pid_inside) as watch:
            high.write_text(str(group.usage() + 4 * MIB))
            program.tell(f"hold {8 * MIB}")
            yield watch
        high.write_text("max")


def test_memory_high(tmp_path, group):  # noqa: F811
    """What is slowed down by memory.high has a snapshot of that time, with a dump: jescope pays for it."""
    with slowed_down(tmp_path, group) as watch:
        assert any("(memory pressure)" in line for line in watch.stderr)
        [life] = kept(tmp_path)
        pressed = next(each for each in life["snapshots"] if each["reason"] == "memory pressure")
        assert pressed["dump"] and not pressed["missing"], pressed
        events = dict(line.split() for line in (group.path / "memory.events").read_text().splitlines())
        assert int(events["high"]) > 0 and int(events["oom_kill"]) == 0


def test_pressure_file_of_the_group(tmp_path, group):  # noqa: F811
    """As systemd's MEMORY_PRESSURE_WATCH names it: jescope has a trigger of its own on it."""
    trigger = base64.b64encode(b"some 1000 2000000").decode()
    with slowed_down(tmp_path, group, MEMORY_PRESSURE_WATCH=str(group.path / "memory.pressure"), MEMORY_PRESSURE_WRITE=trigger) as watch:
        held = [os.readlink(link) for link in pathlib.Path(f"/proc/{watch.pid}/fd").iterdir()]
        assert str(group.path / "memory.pressure") in held
        assert any("(memory pressure)" in line for line in watch.stderr)
        assert int(re.search(r"some .*total=(\d+)", (group.path / "memory.pressure").read_text()).group(1)) > 0


def called_for(tmp_path):
    return [snapshot for snapshot in kept(tmp_path)[0]["snapshots"] if snapshot["reason"] == "systemd-oomd"]


def test_profiling_is_restored(tmp_path):
    """It is on while it is watched; a second watch of the same process is refused."""
    with leaker(tmp_path) as program:
        pid = program.pid_inside
        with watched(tmp_path, pid) as watch:
            assert json.loads(jescope(tmp_path, "status", "--json", pid).stdout)["profiling"]["active"]
            second = jescope(tmp_path, "watch", f"--directory={tmp_path / 'box'}", pid, check=False)
            assert second.returncode == 3 and "another jescope already keeps snapshots" in second.stderr
            watch.send_signal(signal.SIGINT)
            assert watch.wait(DEADLINE) == 0
        assert not json.loads(jescope(tmp_path, "status", "--json", pid).stdout)["profiling"]["active"]


def test_a_namesake_of_another_user_is_not_shown_silently(tmp_path):
    """Any user may take the name of a service, and its process be the latest of that name."""
    for pid, user in ((4000001, 1), (4000002, 2), (4000003, 2)):
        life = tmp_path / "box" / "service" / f"{pid}.1"
        life.mkdir(parents=True, mode=0o700)
        (life / "000001.snapshot").write_text(f"[snapshot]\ntime-us={pid}\ntook-us=1\nreason=first\n"
                                              f"[process]\nname=service\nboot=of-another-time\nuser={user}\n")
    words = [f"--directory={tmp_path / 'box'}", "--json"]
    done = jescope(tmp_path, "last", "service", *words)
    assert json.loads(done.stdout)["lives"][0]["uid"] == 2
    whose, another = (pwd.getpwuid(user).pw_name for user in (2, 1))
    assert f"is of {whose}, and 4000001 of {another};" in done.stderr, done.stderr
    assert jescope(tmp_path, "last", "4000003", *words).stderr == ""


@pytest.mark.skipif(os.geteuid() != 0, reason="giving a directory to another user needs root")
@pytest.mark.parametrize("place", [".", "service"], ids=["the-directory", "one-in-it"])
def test_thousands_of_links_to_one_record(tmp_path, place):
    """Another user's directory, whose records take no room: a part of them is read, and long lines are cut."""
    life = tmp_path / "box" / "service" / "4000001.1"
    life.mkdir(parents=True, mode=0o700)
    record = life / "000001.snapshot"
    text = "\x01" * 31000
    record.write_text(f"[snapshot]\ntime-us=1\ntook-us=1\nreason={text}\nmissing={text}\n[process]\nname=service\nboot=b\nuser=1\n")
    for number in range(2, 3000):
        os.link(record, life / f"{number:06}.snapshot")
    os.chown(tmp_path / "box" / place, 65534, 65534)
    done = jescope(tmp_path, "last", "service", f"--directory={tmp_path / 'box'}", "--json")
    assert "all that follows its first 128 MiB of records; it is left out" in done.stderr, done.stderr
    snapshots = json.loads(done.stdout)["lives"][0]["snapshots"]
    assert len(snapshots) < 2500 and len(done.stdout) < 64 << 20


def test_errors(tmp_path):
    empty = jescope(tmp_path, "last", "nothing", f"--directory={tmp_path / 'box'}", check=False)
    assert empty.returncode == 1 and "no snapshots of nothing in " in empty.stderr
    few = jescope(tmp_path, "watch", "--keep=1", "1", check=False)
    assert few.returncode == 2 and "--keep must be at least 2" in few.stderr
