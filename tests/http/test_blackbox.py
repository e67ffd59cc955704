# SPDX-License-Identifier: Apache-2.0
"""The black box of `jescope serve`: it watches what has a limit of its own, and what it has kept is there afterwards."""

import contextlib
import fcntl
import json
import os
import re
import signal
import subprocess

import pytest

from endpoint import is_whole_dump, serve
from groups import MIB, group  # noqa: F401
from leaker import NAME, leaker
from oomd import group_of, notify
from seccomp import refuse_pidfd_info
from services import AS_ROOT, DEADLINE, jescope, profiling, wait_for

LIMIT = 150 * MIB


def box_of(folder):
    return folder / "box"


def kept(folder):
    done = jescope(folder, "last", NAME, "--json", f"--directory={box_of(folder)}", check=False)
    return json.loads(done.stdout)["lives"] if done.returncode == 0 else []


def snapshots(folder):
    return [snapshot for life in kept(folder) for snapshot in life["snapshots"] if snapshot["dump"]]


def figure(server, name):
    [value] = re.findall(rf"^jescope_blackbox_{name} (\d+)$", server.get("/metrics").text, re.M)
    return int(value)


def boxed(folder, program, *words, **options):
    return serve(folder, f"--blackbox-dir={box_of(folder)}", *words, program.pid_inside, **options)


def check_api(folder, server, program):
    """The process that has ended is listed, and its dumps come in every form."""
    [life] = [life for life in server.get("/api/v1/blackbox").json()["lives"] if life["pid"] == program.pid_inside]
    path = f"/api/v1/blackbox/{life['id']}"
    assert server.get(path).json() == life and life["state"] == "oom-kill" and life["name"] == NAME
    assert server.get(f"/api/v1/blackbox?name={NAME}").json()["lives"][0] in (life, server.get(path).json())
    assert server.get("/api/v1/blackbox?name=other").json() == {"lives": []}
    dumps = [snapshot["number"] for snapshot in life["snapshots"] if snapshot["dump"]]
    assert is_whole_dump(server.get(f"{path}/dumps/latest").body)
    for words in ("format=folded", "format=speedscope", "format=html", f"format=text&base={dumps[0]}"):
        report = server.get(f"{path}/dumps/{dumps[-1]}?{words}")
        assert report.status == 200 and "leak_on" in report.text, (words, report.text)
    line = server.get(f"{path}/dumps/{dumps[-1]}?format=headline&base={dumps[0]}").text
    assert re.fullmatch(r"(\d+\.\d% explained, )?(held|grew) most: (keep|hold|leak_on) \S+ \w+\n", line), line
    told = jescope(folder, "last", program.pid_inside, f"--directory={box_of(folder)}").stdout.splitlines()[0]
    assert told.startswith(f"{NAME} ({program.pid_inside}): {life['summary']}, {line.strip()}") and life["summary"].startswith("killed by OOM at ")
    for missing in ("now", "0", str(dumps[-1] + 1), "x"):
        assert server.get(f"{path}/dumps/{missing}").status == 404
    assert server.get("/api/v1/blackbox/1.1").status == server.get("/api/v1/blackbox/1.1/dumps/latest").status == 404
    assert server.get(f"{path}/dumps/latest?format=none").status == 400


def test_killed_for_lack_of_memory(folder, group):  # noqa: F811
    """Without an option, and one without a limit is left alone. jescope is killed on the way, and started again; then the program is."""
    with leaker(folder) as program, leaker(folder) as unlimited:
        group.take(program.pid_inside)
        group.limit(LIMIT)
        with boxed(folder, program, unlimited.pid_inside) as server:
            wait_for(lambda: snapshots(folder), "a first snapshot")
            assert figure(server, "targets") == 1 and figure(server, "failures_total") == 0
            wait_for(lambda: profiling(folder, program.pid_inside)["active"], "profiling is on")
            server.process.kill()
            server.process.wait(DEADLINE)
        first = [snapshot["number"] for snapshot in snapshots(folder)]
        with boxed(folder, program) as server:
            wait_for(lambda: [snapshot["number"] for snapshot in snapshots(folder)][-1] > first[-1], "another snapshot")
            program.tell(f"leak {100 * MIB}")
            program.wait(DEADLINE)
            wait_for(lambda: kept(folder)[0]["end"], "the end is noted")
            wait_for(lambda: figure(server, "ends_total") == figure(server, "oom_kills_total") == 1, "the end is counted")
            check_api(folder, server, program)
            wait_for(lambda: "killed by OOM at" in server.log.read_text(), "the operator reads of it")
    [life] = kept(folder)
    assert life["state"] == "oom-kill" and life["pid"] == program.pid_inside
    last = snapshots(folder)[-1]
    told = [snapshot for snapshot in snapshots(folder) if snapshot["allocated"] is not None][-1]  # it may die before it tells the last one's
    assert told["allocated"] > 0 and told["rss"] > 0 and last["limit"] == LIMIT
    folded = jescope(folder, "last", NAME, f"--directory={box_of(folder)}", "--format=folded").stdout
    assert last["used"] < LIMIT // 2 or "leak_on;hold;keep" in folded


@pytest.mark.skipif(not AS_ROOT, reason="the kernel sends exits of other processes to root alone")
def test_a_parent_that_waits_first(folder, group):  # noqa: F811
    """Where pidfds do not tell the status, the server has it from a subscription of the process that stays root."""
    with leaker(folder) as program:
        group.take(program.pid_inside)
        group.limit(LIMIT)
        with boxed(folder, program, preexec_fn=refuse_pidfd_info) as server:
            wait_for(lambda: snapshots(folder), "a first snapshot")
            server.process.send_signal(signal.SIGSTOP)
            program.tell("stop 0")  # it exits with status 1
            program.wait(DEADLINE)
            server.process.send_signal(signal.SIGCONT)
            wait_for(lambda: kept(folder)[0]["end"], "the end is noted")
    [life] = kept(folder)
    assert life["state"] == "exit" and life["end"]["number"] == 1


def test_a_recording_comes_first(folder):
    """The lease yields to it and comes back after that; at the end of serve, profiling is as it was."""
    with leaker(folder) as program:
        pid = program.pid_inside
        with boxed(folder, program, "--blackbox=all") as server:
            wait_for(lambda: profiling(folder, pid)["active"], "profiling is on")
            begun = server.post(f"/api/v1/targets/{pid}/recordings?for=100ms")
            assert begun.status in (200, 201, 202), begun.text
            path = f"/api/v1/targets/{pid}/recordings/{begun.json()['id']}"
            wait_for(lambda: server.get(path).json()["state"] == "done", "the recording ends")
            wait_for(lambda: profiling(folder, pid)["active"], "profiling is on again")
        assert not profiling(folder, pid)["active"]


def test_systemd_oomd_calls_before_it_kills(folder):
    """The answer comes when the snapshot is kept; another group is answered, too; and what is asked before a target is watched."""
    hook = folder / "hook"

    def called_for():
        return [snapshot for snapshot in snapshots(folder) if snapshot["reason"] == "systemd-oomd"]

    with leaker(folder) as program:
        with serve(folder, f"--blackbox-dir={box_of(folder)}", f"--oomd-hook={hook}", "no-such-program") as server:
            assert notify(hook, group_of(program.pid_inside)) == {"parameters": {}}
            assert server.process.poll() is None
        assert not hook.exists() and not called_for()
        with boxed(folder, program, "--blackbox=all", f"--oomd-hook={hook}") as server:
            wait_for(lambda: snapshots(folder), "a first snapshot")
            assert notify(hook, "/of/another.service") == {"parameters": {}}
            assert not called_for() or group_of(program.pid_inside) == "/"
            for count in (1, 2):
                assert notify(hook, group_of(program.pid_inside)) == {"parameters": {}}
                assert len(called_for()) >= count
            assert figure(server, "targets") == 1 and figure(server, "failures_total") == 0
    assert not hook.exists()
    done = jescope(folder, "serve", "--blackbox=off", f"--listen=unix:{folder}/socket", f"--oomd-hook={folder}/none/hook", check=False)
    assert done.returncode == 1 and "its directory must exist" in done.stderr


def test_limits(folder):
    """Without a limit of its own nothing is kept; 'all' keeps it; a directory that cannot be made is reported, not fatal."""
    with leaker(folder) as program:
        with boxed(folder, program, "--blackbox=off") as server:
            assert figure(server, "targets") == 0 and server.get("/api/v1/blackbox").json() == {"lives": []}
        (folder / "file").write_text("")
        with serve(folder, "--blackbox=all", f"--blackbox-dir={folder / 'file' / 'box'}", program.pid_inside) as server:
            wait_for(lambda: figure(server, "failures_total") > 0, "a failure is counted")
            wait_for(lambda: "the black box keeps nothing of" in server.log.read_text(), "the operator reads of it")


# The directory is ours, and the server of its user.
AS_OURSELVES = ["--user=root"] if os.geteuid() == 0 else []

KEY_FILE = """[snapshot]
time-us=1
took-us=1
reason=first
[process]
name=program
boot=of-another-time
"""


@contextlib.contextmanager
def leased(path):
    """Whoever opens the file waits, until this ends (or for the 45 s of the kernel)."""
    with open(path, "r+b") as file:
        fcntl.fcntl(file, fcntl.F_SETSIG, signal.SIGURG)  # which is ignored, as SIGIO is not
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        yield


def test_a_peer_has_two_requests(folder):
    """Each has a thread: also those whose clients have gone count until it is done."""
    life = box_of(folder) / "program" / "7.1"
    life.mkdir(parents=True, mode=0o700)
    (life / "000001.snapshot").write_text(KEY_FILE)
    dump = life / "000001.heap"
    dump.write_text("heap_v2/1\n")
    path = "/api/v1/blackbox/7.1/dumps/latest"
    with serve(folder, "--blackbox=all", f"--blackbox-dir={box_of(folder)}", *AS_OURSELVES, "no-such-program") as server:
        assert server.get(path).body == dump.read_bytes()

        def is_refused():
            refusal = server.get("/api/v1/blackbox")
            return refusal.status == 429 and (refusal.header("retry-after"), refusal.json()["error"]["code"]) == ("1", "crowded")

        def begin():
            return subprocess.Popen(server.command("GET", path), stdout=subprocess.DEVNULL)

        def both_are_under_way():
            # One that came while is_refused() had a thread was refused itself.
            clients[:] = [client if client.poll() is None else begin() for client in clients]
            return is_refused()

        with leased(dump):
            clients = [begin(), begin()]
            wait_for(both_are_under_way, "both are under way")
            for client in clients:
                client.kill()
                client.wait(DEADLINE)
            assert is_refused() and server.get(path).status == server.get("/api/v1/blackbox/7.1").status == 429
            assert server.get("/healthz").status == 200
        wait_for(lambda: server.get(path).status == 200, "their threads are done")
        assert len(server.get("/api/v1/blackbox").json()["lives"]) == 1


def test_errors(folder):
    for words, message in [(["--blackbox=some"], "--blackbox: invalid word 'some'; it must be one of off, limited, all"),
                           (["--blackbox-profiling=on"], "must be one of off, ready, any"),
                           (["--blackbox-keep=1"], "--blackbox-keep: invalid number '1'; it must be from 2 to")]:
        done = jescope(folder, "serve", *words, check=False)
        assert done.returncode == 2 and message in done.stderr
