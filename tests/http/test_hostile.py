# SPDX-License-Identifier: Apache-2.0
"""Root's server beside targets of another user that do their worst: an honest target is answered all the same."""

import contextlib
import functools
import itertools
import json
import os
import pathlib
import re
import select
import shutil
import signal
import socket
import subprocess
import time

import neighbours
import pytest
from endpoint import serve
from neighbours import LOCKED_S, PS_S, ask_as, known, locked
from programs import profiled, running_redis  # noqa: F401
from services import DEADLINE, JESCOPE, PYTHON, environment, free_port, jescope, started, wait_for
from victims import BUILD

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="targets of another user need root")

# Of a user that no other test has processes of: what users see of each other is test_users.py's.
USER = 65532
hostile = functools.partial(neighbours.hostile, user=USER)
slow_files = functools.partial(neighbours.slow_files, user=USER)

MANY = 40
ASKED_AT_ONCE = 20
BUSY = 4  # requests that wait, of those of test_end_under_load
END_S = 120
OWN_HEAP = "heap_v2/1\n  t*: 1: 100 [0: 0]\n@ 0x401107\n  t*: 1: 100 [0: 0]\n\nMAPPED_LIBRARIES:\n00401000-00402000 r-xp 00001000 fe:00 1 /none/app\n"
RECORD_S = 60  # 12, and 5 for a user, and its own work on a busy machine; 5 for each of 20 would be more
LOCKED = 18  # targets; there are 16 threads for short requests
ENDS_S = 15  # shorter than the 30 s for which a reader is waited for
HONEST_S = 10  # of patience with an honest answer; that of a server that does not share fairly is half a minute and more


def value(text, family, pid):
    found = re.search(rf'^{family}\{{target="{pid}"[^}}]*\}} (\S+)$', text, re.M)
    return float(found.group(1)) if found else None


def in_time(server, pid):
    """Whether a scrape shows statistics of its own. Servers are told which targets, since a scrape waits less for all targets of a
    user, so of root, once one has been late, and those of other tests may be."""
    return value(server.get("/metrics").text, "jescope_target_sample_age_seconds", pid) == 0


@pytest.mark.parametrize("mode", ["silent", "flip", "late", "garbage", "sparse"])
def test_honest_target_is_answered(folder, profiled, mode):  # noqa: F811
    with hostile(folder, MANY, mode) as strangers, serve(folder, "--every=1s", profiled.pid, *strangers) as server:
        wait_for(lambda: in_time(server, profiled.pid), "the honest target is in time once")
        asking = [subprocess.Popen(server.command("GET", f"/api/v1/targets/{pid}/statistics", "--compressed"), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL) for pid in strangers[:ASKED_AT_ONCE]]
        try:
            for _ in range(3):
                statistics = server.get(f"/api/v1/targets/{profiled.pid}/statistics", "--max-time", str(HONEST_S))
                assert statistics.status == 200 and json.loads(statistics.body)["jemalloc"]
                metrics = server.get("/metrics", "--max-time", str(HONEST_S))
                assert metrics.status == 200 and value(metrics.text, "jescope_target_up", profiled.pid) == 1
        finally:
            for process in asking:
                process.kill()
                process.wait()


@pytest.mark.parametrize("user", ["--user=root", "--user=nobody"])
@pytest.mark.parametrize("mode, why", [("becomes", "has the rights of another user"), ("hides", "keeps its memory"), ("ends", "has ended")])
def test_memory_map_of_a_target_that_changes(folder, mode, why, user):
    """A child answers for it when it has executed a set-user-ID program, or one without permission to read it, whose memory map
    its user may not read."""
    with hostile(folder, 1, mode) as [stranger], serve(folder, "--every=0", "--blackbox=off", user, stranger) as server:
        answer = server.get(f"/api/v1/targets/{stranger}/dumps/now")
        assert answer.status >= 400 and why in answer.text and "MAPPED_LIBRARIES" not in answer.text, answer.text


@pytest.mark.parametrize("user", ["--user=root", "--user=nobody"])
@pytest.mark.parametrize("mode", ["becomes", "hides"])
def test_memory_figures_of_a_target_that_changes(folder, mode, user):
    """It does so while its statistics are read for a ledger."""
    with hostile(folder, 1, mode) as [stranger], \
            serve(folder, "--every=0", "--blackbox=off", user, stranger, port=free_port()) as server:
        maps = pathlib.Path(f"/proc/{stranger}/maps")

        def has_refused():
            changed = maps.stat().st_uid == 0
            answer = ask_as(USER, server, "GET", f"/api/v1/targets/{stranger}/ledger")
            assert not changed or answer.status >= 400, answer.text
            return changed

        wait_for(has_refused, "the target has changed")


@pytest.mark.parametrize("words", [["dump", "PID", "-o", "-"], ["push", "PID", "--print=json"], ["doctor", "PID", "--for=3s"], ["report", "PID"]])
def test_commands_about_a_target_that_ends_and_is_answered_for(folder, words):
    """Its pid could be another process's by then."""
    with hostile(folder, 1, "ends") as [stranger]:
        env = environment(folder, JESCOPE_SOCKET_DIR=str(folder / f"sockets-{USER}"))
        done = jescope(folder, *[str(stranger) if word == "PID" else word for word in words], check=False, env=env)
        assert done.returncode == 1 and f"({stranger}) has ended" in done.stderr and done.stdout == "", done


def ask_without_reading(port, path):
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.settimeout(DEADLINE)
    connection.connect(("127.0.0.1", port))
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    return connection


def test_unread_answers_are_bounded(folder, profiled):  # noqa: F811
    """48 MiB each, which the server's memory holds until they are read."""
    port = free_port()
    with hostile(folder, 1, "bulk") as [stranger], serve(folder, "--every=0", port=port) as server, contextlib.ExitStack() as stack:
        wait_for(lambda: {profiled.pid, stranger} <= known(server), "both targets are found")
        path = f"/api/v1/targets/{stranger}/dumps/now"
        # Different queries, since the same one is answered once for all.
        held = [stack.enter_context(ask_without_reading(port, f"{path}?count={n}")) for n in range(8)]
        statuses = [connection.recv(12).decode() for connection in held]
        assert sorted(statuses) == ["HTTP/1.1 200"] * 5 + ["HTTP/1.1 429"] * 3
        # What is small is not counted, and what is read makes room.
        assert server.get(f"/api/v1/targets/{profiled.pid}").status == 200
        stack.close()
        wait_for(lambda: server.get(path, "--range", "0-0").status == 200, "there is room again")


def ask_as_without_reading(user, port, path):
    os.seteuid(user)
    try:
        return ask_without_reading(port, path)
    finally:
        os.seteuid(0)


def read_to_the_end(connection):
    size = 0
    with contextlib.suppress(ConnectionResetError):
        while data := connection.recv(1 << 20):
            size += len(data)
    return size


def test_unread_answers_of_many_users_make_room(folder, profiled):  # noqa: F811
    """1 GiB of 48 MiB each. Who asks gets the place of an older answer of a user who leaves more unread; root needs none."""
    port = free_port()
    with hostile(folder, 1, "bulk") as [stranger], serve(folder, "--every=0", "--trust-local", port=port) as server, contextlib.ExitStack() as stack:
        wait_for(lambda: {profiled.pid, stranger} <= known(server), "both targets are found")
        path = f"/api/v1/targets/{stranger}/dumps/now"
        held = []
        # Their sizes differ a little, with the target's memory map: none of the last user's makes him equal to the others.
        for user, count in zip(range(USER - 6, USER), (4, 4, 4, 4, 4, 3)):
            for _ in range(count):
                held.append(stack.enter_context(ask_as_without_reading(user, port, path)))
                assert held[-1].recv(12) == b"HTTP/1.1 200"
        assert [read_to_the_end(held[n]) < 48 << 20 for n in (0, 4)] == [True] * 2
        assert read_to_the_end(held[1]) > 48 << 20
        assert server.get(path, "--range", "0-0").status == 200


def test_a_large_answer_takes_no_place_of_smaller_ones(folder, profiled):  # noqa: F811
    """1000 MiB beside 48 MiB: who has nothing unread would, with what he asks for, leave more than the other user does."""
    port, (huge, bulk) = free_port(), (folder / "huge", folder / "bulk")
    huge.mkdir()
    bulk.mkdir()
    with (hostile(huge, 1, "huge") as [large], hostile(bulk, 1, "bulk") as [small],
          serve(folder, "--every=0", "--trust-local", port=port) as server):
        wait_for(lambda: {profiled.pid, large, small} <= known(server), "all targets are found")
        with ask_as_without_reading(USER - 1, port, f"/api/v1/targets/{small}/dumps/now") as held:
            assert held.recv(12) == b"HTTP/1.1 200"
            with ask_as_without_reading(USER - 2, port, f"/api/v1/targets/{large}/dumps/now") as asking:
                assert asking.recv(12) == b"HTTP/1.1 429"
            assert read_to_the_end(held) > 48 << 20


def test_silent_target_is_left_alone(folder, profiled):  # noqa: F811
    """For longer each time, which the metrics and the list of targets show."""
    with hostile(folder, 1, "silent") as [stranger], serve(folder, "--every=1s") as server:
        wait_for(lambda: stranger in known(server), "the target is found")
        wait_for(lambda: (value(server.get("/metrics").text, "jescope_target_left_alone_seconds", stranger) or 0) > 1.5,
                 "it is left alone for longer than the first time")
        row = next(row for row in server.get("/api/v1/targets").json()["targets"] if row["pid"] == stranger)
        assert "did not answer" in row["trouble"] and row["left_alone"] > 0


def test_scrape_does_not_wait_for_silent_targets(folder, profiled):  # noqa: F811
    """It is over before one of them has let its deadline pass, and shows what there is."""
    with serve(folder, "--every=0") as server:
        wait_for(lambda: value(server.get("/metrics").text, "jescope_target_up", profiled.pid) == 1, "the honest target is in time")

        # Where the machine stands still for that long, the deadline passes all the same: then with targets that were not asked before.
        def over_in_time(attempts=itertools.count()):
            own = folder / f"silent-{next(attempts)}"
            own.mkdir()
            with hostile(own, 3, "silent") as strangers:
                wait_for(lambda: set(strangers) <= known(server), "all targets are found")
                text = server.get("/metrics").text
                if any(value(text, "jescope_target_left_alone_seconds", stranger) for stranger in strangers):
                    return False
                assert value(text, "jescope_target_up", profiled.pid) == 1
                assert int(re.search(r"^jescope_scrape_late_targets (\d+)$", text, re.M).group(1)) >= 3
                assert [value(text, "jescope_target_up", stranger) for stranger in strangers] == [0, 0, 0]
                return True

        wait_for(over_in_time, "a scrape ends before a deadline passes")


def test_late_target_is_shown_by_its_last_statistics(folder, profiled):  # noqa: F811
    """Until it has let its deadline pass; and once it has answered again, by fresh ones."""
    with hostile(folder, 1, "flip") as [stranger], serve(folder, "--every=0", profiled.pid, stranger) as server:
        wait_for(lambda: in_time(server, profiled.pid), "the honest target is in time once")
        before = server.get("/metrics").text
        os.kill(profiled.pid, signal.SIGSTOP)
        try:
            late = server.get("/metrics").text
        finally:
            os.kill(profiled.pid, signal.SIGCONT)
        assert value(late, "jescope_target_up", profiled.pid) == 1
        assert value(late, "jescope_target_sample_age_seconds", profiled.pid) > 0
        figure = rf'^jemalloc_allocated_bytes\{{target="{profiled.pid}".*$'
        assert re.search(figure, late, re.M).group() == re.search(figure, before, re.M).group()
        wait_for(lambda: in_time(server, profiled.pid), "it is in time again")


def test_work_ends_with_its_client(folder, profiled):  # noqa: F811
    with hostile(folder, 1, "late") as [stranger], serve(folder, "--every=0") as server:
        wait_for(lambda: stranger in known(server), "the target is found")
        subprocess.run(server.command("GET", f"/api/v1/targets/{stranger}/statistics", "--max-time", "0.2"), capture_output=True)
        wait_for(lambda: re.search(r"^jescope_http_requests_abandoned_total [1-9]", server.get("/metrics").text, re.M),
                 "the request is given up")


@pytest.mark.parametrize("mode, name, command", [
    ("--image", "program", ["ps", "--json"]),
    ("--image", None, ["status"]),
    ("--arguments", "slow_files", ["status", "no-such-name"]),
])
def test_program_file_or_arguments_that_do_not_answer(folder, profiled, mode, name, command):  # noqa: F811
    """Whoever opens its program file, or reads its arguments, cannot be killed while the file system does not answer. Commands end all the
    same, and say which file it was."""
    with slow_files(folder, mode) as stranger:
        words = command if name is not None else [*command, str(stranger.pid)]
        done = jescope(folder, *words, check=False)
        if command[0] == "ps":
            rows = {row["pid"]: row for row in json.loads(done.stdout)["processes"]}
            assert profiled.pid in rows and f"/proc/{stranger.pid}/exe" in rows[stranger.pid]["trouble"]
        elif name is None:
            assert done.returncode == 1 and f"/proc/{stranger.pid}/" in done.stderr, done
        else:
            assert done.returncode != 0 and "no process is named 'no-such-name'" in done.stderr, done


def test_file_system_that_does_not_answer(folder, profiled):  # noqa: F811
    """It holds up those who look for its agent, root as well. The others are found all the same."""
    with slow_files(folder):
        rows = json.loads(jescope(folder, "ps", "--json").stdout)["processes"]
        assert profiled.pid in {row["pid"] for row in rows}
        with serve(folder, "--every=1s") as server:
            wait_for(lambda: profiled.pid in known(server), "the honest target is found")


@pytest.mark.parametrize("words", [["report", "PATH"], ["stats", "PATH"], ["doctor", "PATH"], ["import", "PATH", "--history=new.db"],
                                   ["series", "--history=PATH"], ["last", "--directory=PATH"], ["series", "JESCOPE_HISTORY=PATH"],
                                   ["last", "JESCOPE_BLACKBOX=PATH"], ["report", "own.heap", "--debug-path=PATH"],
                                   ["report", "own.heap", "PPROF_BINARY_PATH=/none:PATH"], ["extract-jem-stats", "PATH"], ["jemabs", "PATH"]])
def test_a_path_that_does_not_answer(folder, words):
    """The command ends by itself, and at once by a signal, whether the path is an operand, of an option or of the environment."""
    with slow_files(folder) as stranger:
        path = f"/proc/{stranger.pid}/root{folder}/place/top/never/file"
        (folder / "own.heap").write_text(OWN_HEAP)
        tool = folder / words[0]
        tool.symlink_to(JESCOPE)
        command = [tool] if "jem" in words[0] else [JESCOPE, words[0]]
        command += [word.replace("PATH", path) for word in words[1:] if not word[0].isupper() or word == "PATH"]
        variables = dict(word.replace("=PATH", "=" + path).replace(":PATH", ":" + path).split("=", 1) for word in words if "_" in word)
        options = {"env": environment(folder, **variables), "cwd": folder, "stdin": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        with started(command, **options) as one, started(command, **options) as other:
            wait_for(lambda: pathlib.Path(f"/proc/{other.pid}/task/{other.pid}/children").read_text() != "", "it is supervised")
            other.terminate()
            assert other.wait(PS_S) != 0 and one.poll() is None
            assert one.wait(PS_S) == 1
            assert "it is in a file system that another user answers for" in one.stderr.read()


def test_a_log_that_does_not_answer(folder, profiled):  # noqa: F811
    """It holds up neither the samples of others nor the end of collect."""
    history = folder / "history.db"
    with slow_files(folder) as stranger:
        log = f"/proc/{stranger.pid}/root{folder}/place/top/never/app.log"
        with started([JESCOPE, "collect", profiled.pid, "--every=1s", "--log", log, "--history", history], env=environment(folder),
                     stderr=subprocess.PIPE) as collect:
            wait_for(lambda: jescope(folder, "series", "allocated", "--history", history, check=False).stdout.count("\n") > 3,
                     "samples of the process are stored")
            collect.terminate()
            assert collect.wait(PS_S) == 0
            assert f"cannot read '{log}': the file system does not answer" in collect.stderr.read()


def test_targets_that_lock_their_memory(folder, profiled):  # noqa: F811
    """Those of two users would take all threads for short requests, if each kept one for ever."""
    folder.chmod(0o755)
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(serve(folder, "--every=1s", port=free_port()))
        strangers = []
        for number in range(LOCKED):
            own = folder / str(number)
            own.mkdir()
            strangers.append(stack.enter_context(locked(own, USER - number % 2)))
        wait_for(lambda: {profiled.pid, *strangers} <= known(server), "all targets are found")
        time.sleep(LOCKED_S)
        for _ in range(3):
            answer = server.get(f"/api/v1/targets/{profiled.pid}/statistics", "--max-time", str(HONEST_S))
            assert answer.status == 200, answer.text


def test_ps_asks_only_so_many_silent_agents_of_a_user(folder, profiled):  # noqa: F811
    """Each would be waited for for a second."""
    with hostile(folder, 12, "silent") as strangers:
        rows = {row["pid"]: row for row in json.loads(jescope(folder, "ps", "--json").stdout)["processes"]}
        assert rows[profiled.pid]["trouble"] is None
        troubles = [rows[pid]["trouble"] for pid in strangers]
        assert 2 <= sum("not asked" in trouble for trouble in troubles) < len(troubles), troubles


@contextlib.contextmanager
def program_of_slow_files(folder, size=0):
    """A profiled process of another user whose program file, of `size` bytes at least, can be opened until `close()` is called."""
    program = folder / "shell"
    shutil.copy("/bin/sh", program)
    os.truncate(program, max(size, program.stat().st_size))
    shutil.copy(BUILD / "src/agent/libjescope-agent.so", folder)
    sockets = folder / "sockets"
    sockets.mkdir(mode=0o700)
    os.chown(sockets, USER, USER)
    variables = {"LD_PRELOAD": f"{folder}/libjescope-agent.so:libjemalloc.so.2", "JESCOPE_ONLY": "program", "JESCOPE_SOCKET_DIR": str(sockets),
                 "MALLOC_CONF": "prof:true,prof_active:true,lg_prof_sample:4"}
    with slow_files(folder, "--image", words=(program, *neighbours.SHELL_WORDS), **variables) as process:
        close = (folder / "place/stop").touch
        (folder / "place/stop").unlink()
        yield process, close


@pytest.mark.parametrize("words", [["push", "PID"], ["push", "dump.heap", "--pid=PID"], ["report", "./dump.heap", "--pid=PID"], ["report", "./dump.heap", "--base=PID"],
                                   ["growth", "./dump.heap", "./dump.heap", "./dump.heap", "--pid=PID"]])
def test_commands_that_open_program_files_that_do_not_answer(folder, words):
    folder.chmod(0o755)
    with program_of_slow_files(folder) as (process, close):
        jescope(folder, "dump", process.pid, "-o", "dump.heap")
        close()
        push = [f"--to=directory://{folder}/pushed", f"--queue={folder}/queue"] if words[0] == "push" else []
        begin = time.monotonic()
        done = jescope(folder, *[word.replace("PID", str(process.pid)) for word in words], *push, check=False)
        assert time.monotonic() - begin < PS_S
        assert done.returncode == 1 and "another user answers for" in done.stderr, done


def test_a_program_file_that_opens_and_is_never_read(folder):
    """The child that reads it is given up."""
    folder.chmod(0o755)
    with program_of_slow_files(folder) as (process, _):
        jescope(folder, "dump", process.pid, "-o", "dump.heap")
        (folder / "place/stop").write_text("reads")
        done = jescope(folder, "report", "./dump.heap", f"--pid={process.pid}", check=False)
        assert done.returncode == 1 and "files have taken 30 s longer to answer than all else; they are in a file system that another user answers for" in done.stderr, done


def test_a_program_file_that_is_read_late(folder):
    """Each page in time, but not all together."""
    folder.chmod(0o755)
    with program_of_slow_files(folder, 64 << 20) as (process, _):
        jescope(folder, "dump", process.pid, "-o", "dump.heap")
        (folder / "place/stop").write_text("1")
        done = jescope(folder, "report", "./dump.heap", f"--pid={process.pid}", check=False)
        assert done.returncode == 1 and "files have taken 30 s longer to answer than all else" in done.stderr, done


def children(pid):
    return [int(child) for path in pathlib.Path(f"/proc/{pid}/task").glob("*/children") for child in path.read_text().split()]


def waits_for_an_answer(pid):
    """Whether a thread waits for a file system of a user."""
    return any(path.read_text() == "request_wait_answer" for path in pathlib.Path(f"/proc/{pid}/task").glob("*/wchan"))


def test_a_report_ends_with_its_supervisor(folder):
    """The process that has opened files with the rights of another user, although its reader cannot end."""
    folder.chmod(0o755)
    with program_of_slow_files(folder) as (process, _):
        jescope(folder, "dump", process.pid, "-o", "dump.heap")
        (folder / "place/stop").write_text("reads")
        with started([JESCOPE, "report", "./dump.heap", f"--pid={process.pid}"], env=environment(folder), cwd=folder, stderr=subprocess.PIPE) as supervisor:
            wait_for(lambda: any(map(waits_for_an_answer, [reader for child in children(supervisor.pid) for reader in children(child)])), "a file is read")
            (child,) = children(supervisor.pid)
            end = os.pidfd_open(child)
            supervisor.kill()
            assert select.select([end], [], [], ENDS_S)[0]
            os.close(end)


def test_push_goes_on_beside_program_files_that_do_not_answer(folder, profiled):  # noqa: F811
    folder.chmod(0o755)
    with program_of_slow_files(folder) as (process, close):
        close()
        pushed = folder / "pushed"
        with started([JESCOPE, "push", str(process.pid), str(profiled.pid), f"--to=directory://{pushed}", f"--queue={folder}/queue",
                      "--every=1s", "--dump-share=100"], env=environment(folder), stderr=subprocess.PIPE):
            wait_for(lambda: len(list(pushed.rglob("*.batch"))) >= 2 or len([path for path in pushed.rglob("*") if path.is_file()]) >= 2,
                     "the other process is pushed again and again")


CROWDED = """
import os, pathlib, socket, sys, threading, time
directory, names, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
start_time = pathlib.Path("/proc/self/stat").read_bytes().rpartition(b")")[2].split()[19].decode()
threading.stack_size(1 << 16)
for _ in range(threads):
    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
os.mkdir(directory, 0o700)
first = f"{directory}/{os.getpid()}.{start_time}.sock"
socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).bind(first)
for n in range(names):
    os.link(first, f"{directory}/{'0' * (n % 60 + 1)}{os.getpid()}.{'0' * (n // 60)}{start_time}.sock")
time.sleep(3)  # those of agents that are about to listen are left alone
print("ready", flush=True)
time.sleep(1000)
"""


def test_ps_with_a_crowded_directory_of_sockets(folder, profiled):  # noqa: F811
    """Each is one of a process with thousands of threads, of which any may be an agent."""
    directory = f"/tmp/.jescope-{USER}.{os.getpid()}"
    try:
        with started([PYTHON, "-c", CROWDED, directory, 3500, 3000], env=environment(folder), user=USER, group=USER, extra_groups=[], cwd="/") as process:
            assert process.stdout.readline() == "ready\n"
            begin = time.monotonic()
            rows = json.loads(jescope(folder, "ps", "--json").stdout)["processes"]
            assert time.monotonic() - begin < PS_S
            assert profiled.pid in {row["pid"] for row in rows}
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def test_record_of_a_service_with_silent_namesakes(folder, profiled):  # noqa: F811
    """Any user may have processes of its name: then the pid says which it is. Those that come later are left out."""
    name = pathlib.Path(f"/proc/{profiled.pid}/comm").read_text().strip()
    dump = folder / "all.heap"
    with hostile(folder, 20, "silent", name=name):
        begin = time.monotonic()
        done = jescope(folder, "record", name, "--children", "--for=12s", check=False)
        assert time.monotonic() - begin < RECORD_S
        assert done.returncode != 0 and "processes of several users" in done.stderr, done
        with started([JESCOPE, "record", profiled.pid, "--children", "--for=1s", "-o", dump], env=environment(folder)) as recording:
            while recording.poll() is None:
                profiled.ask("APPEND", "recorded", "x" * 10000)
            assert recording.returncode == 0 and dump.stat().st_size > 0


def test_record_of_a_service_with_a_late_namesake(folder, processes=5):
    """It is left out: while it answers, once for each process of the service, the leases of all would be over."""
    name = f"slow-{os.getpid()}"  # a recording by a name is of all such processes of the machine
    with contextlib.ExitStack() as stack:
        for n in range(processes):
            stack.enter_context(running_redis(folder, f"process-{n}", "--sample", "4KiB", called=name))
        words = [JESCOPE, "record", name, "--children", "--for=30s", "-o", folder / "all.heap"]
        with started(words, env=environment(folder), cwd=folder, stderr=subprocess.PIPE) as recording:
            time.sleep(4)
            with hostile(folder, 1, "late", name=name):
                told = recording.communicate(timeout=DEADLINE)[1]
        assert "has ended this recording" not in told and (folder / "all.heap").stat().st_size > 0, told


def waiting_requests(server):
    return int(re.search(r"^jescope_http_requests_waiting (\d+)$", server.get("/metrics").text, re.M).group(1))


def test_end_under_load(folder, profiled):  # noqa: F811
    """SIGTERM while targets are silent or late and clients ask for everything again and again: it ends by itself, cleanly."""
    with contextlib.ExitStack() as stack:
        strangers = []
        for mode in ("silent", "late"):
            (folder / mode).mkdir()
            strangers += stack.enter_context(hostile(folder / mode, 5, mode))
        server = stack.enter_context(serve(folder, "--every=1s"))
        wait_for(lambda: {profiled.pid, *strangers} <= known(server), "all targets are found")
        paths = ["/metrics", "/api/v1/events"]
        for pid in (profiled.pid, *strangers):
            paths += [f"/api/v1/targets/{pid}/statistics", f"/api/v1/targets/{pid}/dumps/now?format=flamegraph"]
        asking = [subprocess.Popen(["sh", "-c", 'while "$@" || [ $? != 7 ]; do :; done', "sh", *server.command("GET", path)],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for path in paths]
        try:
            wait_for(lambda: waiting_requests(server) >= BUSY, "the server is busy with them")
            server.process.terminate()
            assert server.process.wait(END_S) == 0
        finally:
            for process in asking:
                process.kill()
                process.wait()
