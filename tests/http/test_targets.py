# SPDX-License-Identifier: Apache-2.0
"""Targets behind `jescope serve`: as they come and go, hang, and leave their dumps behind. Others' targets may be there as well."""

import contextlib
import os
import pwd
import shutil
import signal
import sqlite3
import threading

import pytest

from endpoint import is_whole_dump, serve
from services import DEADLINE, JESCOPE, PYTHON, children, environment, service, started, wait_for

RESTARTS = 20
FREE_PID = 4194304  # above all of the kernel's
AS_OURSELVES = ["--user=root"] if os.geteuid() == 0 else []  # whose directory it is


def api(pid, rest=""):
    return f"/api/v1/targets/{pid}{rest}"


def listed(endpoint, pid, state="live"):
    """The row of a target in the list; None: not listed."""
    targets = endpoint.get(f"/api/v1/targets?state={state}").json()["targets"]
    found = [target for target in targets if target["pid"] == pid]
    return found[0] if found else None


def descriptors(endpoint):
    return len(os.listdir(f"/proc/{endpoint.process.pid}/fd"))


def take_dump(endpoint, pid):
    answer = endpoint.post(api(pid, "/dumps"))
    assert answer.status == 201, answer
    return answer.json()["id"]


def test_comes_and_goes(scratch):
    with serve(scratch) as endpoint:
        with service(scratch) as program:
            found = wait_for(lambda: listed(endpoint, program.pid), "the target is found")
            assert found["id"] == str(program.pid) and found["unique"].startswith(f"{program.pid}.")
            assert endpoint.get(api(found["unique"])).json()["pid"] == program.pid
        wait_for(lambda: listed(endpoint, program.pid) is None, "the target is gone")
        assert endpoint.get(api(program.pid)).status == 404


def test_an_id_is_no_name(scratch):
    """Any process may take that of one that has ended."""
    for name, status in (("7.7", 410), (str(FREE_PID), 404)):
        (scratch / name).symlink_to(PYTHON)
        with service(scratch, python=scratch / name) as program, serve(scratch) as endpoint:
            assert wait_for(lambda: listed(endpoint, program.pid), "the target is found")["name"] == name
            assert endpoint.get(api(name)).status == status


def test_the_end_of_a_process_is_410(scratch):
    with serve(scratch) as endpoint:
        with service(scratch) as program:
            unique = wait_for(lambda: listed(endpoint, program.pid), "the target is found")["unique"]
        wait_for(lambda: listed(endpoint, program.pid) is None, "the target is gone")
        answer = endpoint.ask("PUT", api(unique, "/profiling?active=true"))
        assert answer.status == 410 and answer.json()["error"]["code"] == "gone" and "has ended" in answer.text


def test_says_which_process_it_is(scratch):
    """As every user of the machine can see, but for what is called a secret."""
    words = [JESCOPE, "run", "--", PYTHON, "-c", "print(flush=True); input()", "--shard=3", "--db-password", "hunter2"]
    with started(words, env=environment(scratch, PYTHONMALLOC="malloc"), cwd=scratch) as program:
        program.stdout.readline()
        [pid] = children(program.pid)
        with serve(scratch, pid, "--history", scratch / "history.db", "--every=100ms", *AS_OURSELVES) as endpoint:
            found = wait_for(lambda: listed(endpoint, pid), "the target is found")
            for row in (found, endpoint.get(api(pid)).json()):
                assert row["user"] == pwd.getpwuid(os.geteuid()).pw_name and row["arguments"].endswith("--shard=3 --db-password ***")
                assert row["control_group"] is None or row["control_group"].startswith("/")
            for path in ("/pprof/cmdline", "/debug/pprof/cmdline"):
                assert endpoint.get(path).body.rstrip(b"\n").endswith(b"\0--shard=3\0--db-password\0***\0")

            def kept():
                with contextlib.closing(sqlite3.connect(scratch / "history.db")) as history:
                    return history.execute("SELECT user, arguments FROM process").fetchall()
            assert wait_for(kept, "it is in the history") == [(row["user"], row["arguments"])]
            assert b"hunter2" not in (scratch / "history.db").read_bytes() + (scratch / "history.db-wal").read_bytes()


def test_there_before_the_server(scratch):
    with service(scratch) as program, serve(scratch) as endpoint:
        wait_for(lambda: listed(endpoint, program.pid), "the target is found")


def test_only_those_that_are_named(scratch):
    with service(scratch) as program, service(scratch) as other, serve(scratch, program.pid) as endpoint:
        wait_for(lambda: listed(endpoint, program.pid), "the target is found")
        assert listed(endpoint, other.pid) is None
        assert endpoint.get(api(other.pid)).status == 404


def test_a_name_stands_for_whoever_has_it(scratch):
    name = f"t{os.getpid()}"
    with serve(scratch, name) as endpoint:
        for _ in range(2):
            with service(scratch) as program:
                program.rename(name)
                wait_for(lambda: listed(endpoint, program.pid), "the target is found")
                assert endpoint.get(api(name)).json()["pid"] == program.pid
            wait_for(lambda: listed(endpoint, program.pid) is None, "the target is gone")


# Reading requests of every dialect.
OF_THE_DEFAULT = [("GET", "/mtev/memory.json"), ("GET", "/mtev/heap_profile"), ("POST", "/service/jemalloc/prof/stat"),
                  ("GET", "/memory-profiler/statistics"), ("GET", "/debug/pprof/heap"), ("GET", "/pprof/heap")]


@pytest.mark.parametrize("named", ["alone", "by pid", "as default"])
def test_the_end_of_the_default_target_is_410(scratch, named):
    with service(scratch) as program:
        name = f"d{os.getpid()}"
        program.rename(name)
        arguments = {"alone": [name], "by pid": [program.pid], "as default": [name, "--default", name]}[named]
        with serve(scratch, *arguments) as endpoint:
            wait_for(lambda: listed(endpoint, program.pid), "the target is found")
            assert endpoint.get("/mtev/memory.json").status == 200
            program.kill()
            wait_for(lambda: listed(endpoint, program.pid) is None, "the target is gone")
            for method, path in OF_THE_DEFAULT:
                answer = endpoint.ask(method, path)
                assert answer.status == 410 and "has ended" in answer.text, (path, answer)
            if named == "alone":
                with service(scratch) as successor:
                    successor.rename(name)
                    wait_for(lambda: listed(endpoint, successor.pid), "its successor is found")
                    assert endpoint.get("/mtev/memory.json").status == 200


def test_no_target_ever_is_404(scratch):
    with serve(scratch, f"n{os.getpid()}") as endpoint:
        assert endpoint.get("/mtev/memory.json").status == 404


def test_a_pid_is_followed_through_exec(scratch):
    """A shell that becomes the server, as wrapper scripts do, is listed under the server's name, and answers."""
    go = scratch / f"go{os.getpid()}"
    os.mkfifo(go)
    program = shutil.which("python3")
    script = f'read line <"{go}"; exec "{program}" -c "import time; time.sleep(600)"'
    variables = {"LD_PRELOAD": "libjemalloc.so.2", "MALLOC_CONF": "prof:true", "PYTHONMALLOC": "malloc"}
    with started(["/bin/sh", "-c", script], env=environment(scratch, **variables)) as shell:
        with serve(scratch, shell.pid) as endpoint:
            assert wait_for(lambda: listed(endpoint, shell.pid), "the shell is found")["name"] in ("sh", "dash")
            go.write_text("go\n")
            wait_for(lambda: listed(endpoint, shell.pid) and listed(endpoint, shell.pid)["name"].startswith("python3"), "its new name is told")
            assert endpoint.get(api(shell.pid, "/statistics")).status == 200
            assert endpoint.get("/mtev/memory.json").status == 200


def test_dumps_outlive_their_target(scratch):
    with serve(scratch, "--history", scratch / "outlive" / "kept.db") as endpoint:
        with service(scratch) as program:
            wait_for(lambda: listed(endpoint, program.pid), "the target is found")
            dump = take_dump(endpoint, program.pid)
        wait_for(lambda: listed(endpoint, program.pid, "gone"), "the target is gone")
        assert is_whole_dump(endpoint.get(api(program.pid, f"/dumps/{dump}")).body)
        assert endpoint.post(api(program.pid, "/dumps")).status == 410
    with serve(scratch, "--history", scratch / "outlive" / "kept.db") as endpoint:
        assert listed(endpoint, program.pid) is None
        assert [kept["id"] for kept in endpoint.get(api(program.pid, "/dumps")).json()["dumps"]] == [dump]
        assert is_whole_dump(endpoint.get(api(program.pid, f"/dumps/{dump}")).body)


def test_no_more_dumps_than_wanted(scratch):
    with service(scratch) as program, serve(scratch, "--dumps=3", program.pid) as endpoint:
        wait_for(lambda: listed(endpoint, program.pid), "the target is found")
        taken = [take_dump(endpoint, program.pid) for _ in range(5)]
        kept = [dump["id"] for dump in endpoint.get(api(program.pid, "/dumps")).json()["dumps"]]
        assert kept == taken[:1:-1]
        assert endpoint.get(api(program.pid, f"/dumps/{taken[0]}")).status == 404


def test_one_that_hangs_holds_up_nobody(scratch):
    with service(scratch) as program, service(scratch) as other, serve(scratch) as endpoint:
        wait_for(lambda: listed(endpoint, program.pid) and listed(endpoint, other.pid), "the targets are found")
        os.kill(program.pid, signal.SIGSTOP)
        try:
            with contextlib.ExitStack() as stack:
                waiting = [threading.Thread(target=endpoint.get, args=(api(program.pid),)) for _ in range(20)]
                stack.callback(lambda: [thread.join(DEADLINE) for thread in waiting])
                for thread in waiting:
                    thread.start()
                assert endpoint.get(api(other.pid)).status == 200
                assert any(thread.is_alive() for thread in waiting)
            answer = endpoint.get(api(program.pid))
            assert answer.status in (502, 503, 504) and "stopped" in answer.json()["error"]["message"]
        finally:
            os.kill(program.pid, signal.SIGCONT)
        wait_for(lambda: endpoint.get(api(program.pid)).status == 200, "the target answers again")


def test_killed_while_it_is_asked(scratch):
    """Whatever is under way gets an answer, and the answer is never half of one."""
    with service(scratch, "--active", "--sample", "1KiB") as program, serve(scratch) as endpoint:
        wait_for(lambda: listed(endpoint, program.pid), "the target is found")
        for _ in range(50):
            program.allocate()
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(endpoint.get(api(program.pid, "/dumps/now")))) for _ in range(4)]
        for thread in threads:
            thread.start()
        program.kill()
        for thread in threads:
            thread.join(DEADLINE)
        assert len(answers) == 4
        for answer in answers:
            assert answer.status in (404, 410, 502, 503) or answer.status == 200 and is_whole_dump(answer.body), answer


def surplus(endpoint, of_each):
    """Descriptors beyond OF_EACH target: its pidfd, and its connection once it was asked. Other tests' targets come and go:
    between two equal lists, both numbers are of the same targets."""

    def listed_targets():
        return [target["id"] for target in endpoint.get("/api/v1/targets").json()["targets"]]

    def counted():
        before, number = listed_targets(), descriptors(endpoint)
        return [number - of_each * len(before)] if before == listed_targets() else None

    return wait_for(counted, "no target comes or goes for a moment")[0]


def test_restarts_leave_nothing_behind(scratch):
    with serve(scratch) as endpoint:
        before = surplus(endpoint, 1)
        for _ in range(RESTARTS):
            with service(scratch) as program:
                wait_for(lambda: listed(endpoint, program.pid), "the target is found")
                take_dump(endpoint, program.pid)
                assert endpoint.get(api(program.pid)).status == 200
            wait_for(lambda: listed(endpoint, program.pid) is None, "the target is gone")
        assert len(endpoint.get("/api/v1/targets?state=gone").json()["targets"]) <= 32
        wait_for(lambda: surplus(endpoint, 2) < before + RESTARTS // 2, "what was opened for targets that are gone is closed")


def test_events_tell_of_it(scratch):
    with serve(scratch) as endpoint:
        with started(endpoint.command("GET", "/api/v1/events", "--no-buffer"), stdout=open(scratch / "events", "w")):
            wait_for(lambda: "HTTP/1.1 200" in (scratch / "events").read_text(), "the stream begins")
            with service(scratch) as program:
                wait_for(lambda: told(scratch, "target-came", program.pid), "the event comes")
            wait_for(lambda: told(scratch, "target-gone", program.pid), "the event comes")


def told(scratch, kind, pid):
    events = (scratch / "events").read_text().replace("\r\n", "\n").split("\n\n")
    return any(f"event: {kind}\n" in event + "\n" and f"({pid})" in event for event in events)
