# SPDX-License-Identifier: Apache-2.0
"""jescope push --every: processes pushed in rounds, by a process that takes dumps and one that sends them."""

import contextlib
import ctypes
import errno
import os
import pathlib
import signal
import subprocess
import time

import pytest
from services import DEADLINE, wait_for
from test_push import JESCOPE, counts, documents, receiver  # noqa: F401


@pytest.fixture
def pushing(tmp_path):
    """pushing(URL, PIDS, WORDS...) starts a push once a second, which ends with the test."""
    running = []

    def start(url, pids, *words):
        log = tmp_path / f"log{len(running)}"
        with log.open("w") as out:
            running.append(subprocess.Popen([JESCOPE, "push", *map(str, pids), f"--to={url}", "--every=1s", "--dump-share=100",
                                             f"--queue={tmp_path}/queue", *words], stdout=out, stderr=out))
        running[-1].log = log
        return running[-1]

    yield start
    for process in running:
        process.kill()
        process.wait(DEADLINE)


def children(pid):
    return pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def arrived(one):
    """Pids and times of what has arrived."""
    with one.lock:
        return [(document["pid"], document["time_us"]) for document in documents(dict(one.stored))]


def test_rounds(pushing, receiver, start, tmp_path):  # noqa: F811
    """Each process in each round; one that ends is left out, the destination may come later, and a signal ends it cleanly."""
    two = [start(), start()]
    one = receiver()
    one.answers = 3 * [(503, {})]
    process = pushing(f"put+http://127.0.0.1:{one.port}", [victim.pid for victim in two] + ["no-such-program"])
    wait_for(lambda: all(sum(pid == victim.pid for pid, _ in arrived(one)) >= 2 for victim in two), "two rounds of both")
    assert arrived(one) == sorted(arrived(one), key=lambda row: row[1]), "in their order"
    two[0].stop()
    before = len(arrived(one))
    wait_for(lambda: len(arrived(one)) >= before + 2 and arrived(one)[-1][0] == two[1].pid, "rounds of the other")
    process.send_signal(signal.SIGTERM)
    assert process.wait(DEADLINE) == 0
    told = process.log.read_text()
    assert "status 503" in told and "no-such-program" in told and "looked for in each round" in told
    found = counts(tmp_path / "queue")
    assert found["dropped"] == found["refused"] == found["damaged"] == 0


class CloneArgs(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("flags", "pidfd", "child_tid", "parent_tid", "exit_signal", "stack", "stack_size",
                                                     "tls", "set_tid", "set_tid_size", "cgroup")]


def clone3(pid):
    """fork() of a child with this pid, which the machine's root may choose."""
    chosen = ctypes.c_int(pid)
    args = CloneArgs(exit_signal=signal.SIGCHLD, set_tid=ctypes.addressof(chosen), set_tid_size=1)
    made = ctypes.CDLL(None, use_errno=True).syscall(435, ctypes.byref(args), ctypes.c_size_t(ctypes.sizeof(args)))
    if made < 0 and ctypes.get_errno() == errno.EPERM:
        pytest.skip("only root may choose a pid")
    assert made >= 0, os.strerror(ctypes.get_errno())
    return made


@contextlib.contextmanager
def replaced(victim):
    """Another process of its program, with its pid."""
    proc = pathlib.Path(f"/proc/{victim.pid}")
    words, variables = ((proc / name).read_bytes().rstrip(b"\0").split(b"\0") for name in ("cmdline", "environ"))
    program = os.readlink(proc / "exe")
    victim.stop()
    silent, talk = os.pipe()
    pid = clone3(victim.pid)
    if pid == 0:
        os.dup2(silent, 0)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.execve(program, words, dict(variable.split(b"=", 1) for variable in variables))
    os.close(silent)
    try:
        wait_for(lambda: status_of(pid) is not None, "its agent answers")
        yield pid
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(talk)


def status_of(pid):
    done = subprocess.run([JESCOPE, "status", "--json", "--via=agent", str(pid)], capture_output=True, timeout=DEADLINE, check=False)
    return done.stdout if done.returncode == 0 else None


def test_a_pid_means_one_process(pushing, receiver, start):  # noqa: F811
    """Its successor by this number, which another user may have started, is not pushed."""
    first, other = start(), start()
    one = receiver()
    pushing(f"put+http://127.0.0.1:{one.port}", [first.pid, other.pid])
    wait_for(lambda: {pid for pid, _ in arrived(one)} == {first.pid, other.pid}, "a round of both")
    with replaced(first) as pid:
        replaced_us = time.time() * 1e6
        since = lambda: [pid for pid, time_us in arrived(one) if time_us > replaced_us]  # noqa: E731
        wait_for(lambda: since().count(other.pid) >= 3, "rounds of the other")
        assert pid == first.pid and pid not in since()


def test_budget(pushing, receiver, start):  # noqa: F811
    """One process of a name in a round, where three would be dumped: never more batches than rounds have begun."""
    pids = [start().pid for _ in range(3)]
    one = receiver()
    begin = time.monotonic()
    pushing(f"put+http://127.0.0.1:{one.port}", pids, "--per-service=1")
    wait_for(lambda: len(arrived(one)) >= 5, "five rounds")
    assert len(arrived(one)) <= time.monotonic() - begin + 2


def test_killed(pushing, receiver, start, tmp_path):  # noqa: F811
    """Both halves end, and what waits is sent by the next one."""
    victim = start()
    one = receiver(listening=False)
    url = f"put+http://127.0.0.1:{one.port}"
    process = pushing(url, [victim.pid])
    wait_for(lambda: len(list((tmp_path / "queue").glob("*/*.batch"))) >= 2, "batches wait")
    halves = [process.pid, *map(int, children(process.pid))]
    assert len(halves) >= 2
    process.send_signal(signal.SIGKILL)
    process.wait(DEADLINE)
    wait_for(lambda: not any(os.path.exists(f"/proc/{pid}/fd/0") for pid in halves), "both have ended")
    promised = len(list((tmp_path / "queue").glob("*/*.batch")))
    one.listen()
    done = subprocess.run([JESCOPE, "push", str(victim.pid), f"--to={url}", f"--queue={tmp_path}/queue"], capture_output=True, text=True,
                          timeout=DEADLINE, check=True)
    assert done.stdout.startswith(f"{promised + 1} batches sent") and len(documents(one.stored)) == promised + 1


def test_a_slow_destination_delays_no_dump(pushing, receiver, start, tmp_path):  # noqa: F811
    victim = start()
    one = receiver()
    one.answers = [lambda request: time.sleep(3) or (200, {})]
    pushing(f"put+http://127.0.0.1:{one.port}", [victim.pid])
    wait_for(lambda: one.requests, "the first request")
    waited = len(list((tmp_path / "queue").glob("*/*.batch")))
    wait_for(lambda: len(list((tmp_path / "queue").glob("*/*.batch"))) > waited, "a batch is added while the first is sent")


def test_errors(tmp_path):
    for words, told in ((["--every=0.1s"], "at least 1 s"), (["--every=5m", "--for=1s"], "does not go with"), (["--every=x"], "--every"),
                        (["--every=5m", "--label=x"], "invalid label"), (["--every=5m", "--per-service=-1"], "negative"),
                        (["--every=5m", "--dump-share=0"], "from 1 to 100")):
        done = subprocess.run([JESCOPE, "push", "x", f"--to=directory://{tmp_path}/out", f"--queue={tmp_path}/queue", *words],
                              capture_output=True, text=True, timeout=DEADLINE, check=False)
        assert done.returncode == 2 and told in done.stderr, done
