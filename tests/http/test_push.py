# SPDX-License-Identifier: Apache-2.0
"""[push] of jescope serve: what arrives, the state of the queue at /metrics, and what a wrong section is told."""

import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading

import pytest
from endpoint import make_certificate, serve, set_active
from groups import MIB
from large_key import LargeKey
from leaker import leaker
from receivers import Receiver
from services import DEADLINE, JESCOPE, environment, jescope, started, wait_for

SOURCE = pathlib.Path(os.environ["JESCOPE_SOURCE"])


@pytest.fixture
def receiver():
    one = Receiver()
    yield one
    one.stop()


def write_section(folder, url, *lines):
    """A configuration file for root alone, with a token for the other side."""
    for name, text in (("token", "a-secret-for-the-store\n"), ("serve.conf", "\n".join([
            "[push]", f"to={url}", "every=1s", "dump-share=100", f"queue={folder}/state/push", f"token-file={folder}/token",
            "label=zone=b;rack=7", "label-from-env=home=HOME", *lines]))):
        (folder / name).write_text(text)
        (folder / name).chmod(0o600)
    return f"--config={folder}/serve.conf"


@contextlib.contextmanager
def pushing(folder, url, *lines, pid=None):
    """A server of all targets, or of PID alone: without the programs of other tests."""
    with serve(folder, write_section(folder, url, *lines), *([pid] if pid else [])) as server:
        yield server


def figures(server):
    """Of jescope_push_*, without the destination: {"queue_batches": 3, 'batches_total{end="sent"}': 5...}."""
    rows = re.findall(r'^jescope_push_(\w+)\{to="[^"]*",?([^}]*)\} (\S+)$', server.get("/metrics").text, re.MULTILINE)
    return {name + (f"{{{labels}}}" if labels else ""): float(value) for name, labels, value in rows}


def documents(one):
    with one.lock:
        return [json.loads(body) for path, body in one.stored.items() if path.endswith(".json")]


def test_targets_are_pushed(folder, receiver):
    """By root's server, which is another user by then: the file with the token is root's, the queue the server's."""
    with leaker(folder) as program, pushing(folder, f"put+http://127.0.0.1:{receiver.port}", "service=shop", "host=web1",
                                              pid=program.pid_inside) as server:
        set_active(folder, program.pid_inside, True)
        program.tell(f"hold {64 * MIB}")
        wait_for(lambda: any(found["stacks"] > 0 for found in documents(receiver)), "a batch with stacks")
        wait_for(lambda: len(documents(receiver)) >= 2, "two rounds")
        first = documents(receiver)[0]
        assert (first["service"], first["host"], first["pid"]) == ("shop", "web1", program.pid_inside)
        assert {name: first["labels"][name] for name in ("zone", "rack", "home")} == {"zone": "b", "rack": "7", "home": str(folder)}
        assert first["metrics"]["allocated"] > 0 and first["ledger"]["text"]["bytes"] > 0
        assert {request.headers["Authorization"] for request in receiver.requests} == {"Bearer a-secret-for-the-store"}
        wait_for(lambda: figures(server)['batches_total{end="sent"}'] >= 2, "the figures say so")
        found = figures(server)
        page = (SOURCE / "docs" / "prometheus.md").read_text()
        served = re.findall(r"^# TYPE (jescope_push_\w+) ", server.get("/metrics").text, re.MULTILINE)
        assert sorted(served) == sorted(re.findall(r"`(jescope_push_\w+)`", page))
        assert found["rounds_total"] >= 2 and found["dumps_total"] >= 2 and found["sent_bytes_total"] > 0
        assert found["success_time_seconds"] > 0 and found["requests_total"] >= 2
        owner = os.stat(folder / "state" / "push").st_uid
        assert owner == os.stat(f"/proc/{server.process.pid}").st_uid or owner != 0
        (folder / "arrived.heap.gz").write_bytes([body for path, body in sorted(receiver.stored.items()) if path.endswith(".heap.gz")][-1])
        assert "hold" in jescope(folder, "report", folder / "arrived.heap.gz").stdout
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(DEADLINE) == 0


def test_a_dump_does_not_say_whose_it_is(folder, receiver):
    """Its text says that it is of process 1, and that its program is another one."""
    program = SOURCE / "tests/live/programs/hostile_agent.py"
    with started([sys.executable, program, "forges"], env=environment(folder)) as target:
        assert int(target.stdout.readline()) == target.pid
        status = pathlib.Path(f"/proc/{target.pid}/stat").read_text()
        with pushing(folder, f"put+http://127.0.0.1:{receiver.port}", pid=target.pid):
            wait_for(lambda: documents(receiver), "a batch")
            found = documents(receiver)[0]
    assert (found["pid"], found["start_ticks"]) == (target.pid, int(status.rpartition(")")[2].split()[19]))
    assert found["program"] == "/usr/bin/honest" and found["service"] == status[status.index("(") + 1:status.rindex(")")]


def test_tls(folder):
    """The authority, the certificate and its key are root's alone; the other side asks for ours."""
    key, pem = folder / "own.key", folder / "own.pem"
    make_certificate(key, pem, "test")
    pem.chmod(0o600)
    one = Receiver(tls={"cert": pem, "key": key, "clients": pem})
    try:
        with leaker(folder), pushing(folder, f"put://127.0.0.1:{one.port}", f"ca-file={pem}", f"cert-file={pem}", f"key-file={key}"):
            wait_for(lambda: documents(one), "a batch")
    finally:
        one.stop()


def test_what_waits_survives_a_kill(folder, receiver):
    """The store answers nothing but errors; serve is killed; the next one sends everything, oldest first."""
    receiver.answers = 10000 * [(503, {})]
    url = f"put+http://127.0.0.1:{receiver.port}"
    with leaker(folder) as program:
        with pushing(folder, url, pid=program.pid_inside) as server:
            wait_for(lambda: figures(server)["queue_batches"] >= 2 and figures(server)["retries_total"] >= 1, "batches wait")
            assert "status 503" in server.log.read_text() and not documents(receiver)
            server.process.send_signal(signal.SIGKILL)
            server.process.wait(DEADLINE)
        promised = len(list((folder / "state" / "push").glob("*/*.batch")))
        assert promised >= 2
        with receiver.lock:
            receiver.answers = []
        with pushing(folder, url, pid=program.pid_inside):
            wait_for(lambda: len(documents(receiver)) > promised, "what has waited, and more")
        times = [document["time_us"] for document in documents(receiver)]
        assert times == sorted(times)


def test_only_those_that_are_wanted(folder, receiver):
    """A round without targets is a round."""
    with leaker(folder), pushing(folder, f"put+http://127.0.0.1:{receiver.port}", "targets=no-such-program") as server:
        wait_for(lambda: figures(server)["rounds_total"] >= 2, "two rounds")
        assert figures(server)["dumps_total"] == 0 and not receiver.requests


def test_a_stop_does_not_wait_for_the_store(folder, receiver):
    """A request that is under way ends, and its batch waits for the next server."""
    def hang(_):
        receiver.stays.wait(DEADLINE)
        return 200, {}

    receiver.stays = threading.Event()
    receiver.answers = [hang]
    with leaker(folder), pushing(folder, f"put+http://127.0.0.1:{receiver.port}") as server:
        wait_for(lambda: receiver.requests, "the first request")
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(DEADLINE) == 0
        receiver.stays.set()
    assert list((folder / "state" / "push").glob("*/*.batch"))


def test_reload(folder, receiver):
    """SIGHUP: a section with another service and a renewed token, one that has not changed, one with an error, one that is gone."""
    other = Receiver()
    url, still = f"put+http://127.0.0.1:{receiver.port}", f"put+http://127.0.0.1:{other.port}"
    unchanged = ("[push still]", f"to={still}", "every=1s", "dump-share=100", f"queue={folder}/state/push")

    def reload(told, times):
        server.process.send_signal(signal.SIGHUP)
        wait_for(lambda: server.log.read_text().count(told) == times, f"'{told}' for the {times}. time")

    def count(name, to):
        [value] = re.findall(rf'^jescope_push_{name}_total\{{to="{re.escape(to)}"\}} (\d+)$', server.get("/metrics").text, re.MULTILINE)
        return int(value)

    try:
        with leaker(folder) as program, pushing(folder, url, "service=before", *unchanged, pid=program.pid_inside) as server:
            wait_for(lambda: documents(receiver) and len(documents(other)) >= 2, "both are pushed to")
            wait_for(lambda: count("requests", still) >= 2, "the figures say so")
            rounds, requests = count("rounds", url), count("requests", still)
            write_section(folder, url, "service=after", *unchanged)
            (folder / "token").write_text("a-renewed-secret\n")
            reload("the settings were read again", 1)
            assert count("rounds", url) >= rounds > 0 and count("requests", still) >= requests
            wait_for(lambda: any(found["service"] == "after" for found in documents(receiver)), "the new section is in use")
            assert receiver.requests[-1].headers["Authorization"] == "Bearer a-renewed-secret"
            write_section(folder, url, "label=x", *unchanged)
            reload("nothing was changed: ", 1)
            assert "label" in server.log.read_text()
            there = len(documents(receiver))
            wait_for(lambda: len(documents(receiver)) > there, "the old sections are in use")
            (folder / "serve.conf").write_text("\n".join(unchanged))
            reload("the settings were read again", 2)
            assert set(re.findall(r'^jescope_push_rounds_total\{to="([^"]*)"', server.get("/metrics").text, re.MULTILINE)) == {still}
            there = len(documents(other))
            wait_for(lambda: len(documents(other)) > there, "the unchanged section goes on")
            server.process.send_signal(signal.SIGTERM)
            assert server.process.wait(DEADLINE) == 0
    finally:
        other.stop()


def test_a_key_that_takes_long_to_verify(folder, receiver):
    """In one call of libcurl's library, which nothing can end: neither new settings nor a stop wait for it."""
    large = LargeKey()
    honest = ("[push honest]", f"to=put+http://127.0.0.1:{receiver.port}", "every=1s", "dump-share=100", f"queue={folder}/state/push")
    try:
        with leaker(folder) as program, pushing(folder, f"put://127.0.0.1:{large.port}", *honest, pid=program.pid_inside) as server:
            set_active(folder, program.pid_inside, True)
            program.tell("hold 1000000")
            assert large.asked.wait(DEADLINE)
            server.process.send_signal(signal.SIGHUP)
            wait_for(lambda: "the settings were read again" in server.log.read_text(), "new settings")
            there = len(documents(receiver))
            wait_for(lambda: len(documents(receiver)) > there, "the other receiver has dumps")
            assert server.get("/api/v1/targets").status == 200
            server.process.send_signal(signal.SIGTERM)
            assert server.process.wait(DEADLINE) == 0
    finally:
        large.stop()


@pytest.mark.parametrize(("text", "told"), [
    ("[push]\nevery=5m\n", "[push]: a URL is needed"),
    ("[push]\nto=nonsense://x\n", "unknown kind of URL"),
    ("[push]\nto=directory:///tmp/x\ntoo=1\n", "unknown key 'too'"),
    ("[push]\nto=directory:///tmp/x\nevery=1ms\n", "at least 1 s"),
    ("[push]\nto=directory:///tmp/x\ndump-share=0\n", "from 1 to 100"),
    ("[push]\nto=directory:///tmp/x\nqueue-size=much\n", "much"),
    ("[push a]\nto=directory:///tmp/x\n[push b]\nto=directory:///tmp/x\n", "[push b]: [push a] pushes to"),
    ("[pushed]\nto=directory:///tmp/x\n", "unknown section [pushed]"),
    ("[push]\nto=directory:///tmp/x\nlabel=x\nqueue={folder}/queue\n", "invalid label 'x'"),
    ("[push]\nto=put://127.0.0.1/\ntoken-file=/nonexistent\nqueue={folder}/queue\n", "/nonexistent"),
    ("[push]\nto=put://127.0.0.1/\ntoken-file={folder}/readable\nqueue={folder}/queue\n", "chmod 600"),
], ids=range(11))
def test_errors(folder, text, told):
    """A section that cannot work ends the server at its start, also where the file with the token is another user's."""
    (folder / "readable").write_text("a-secret")
    (folder / "readable").chmod(0o644)
    (folder / "serve.conf").write_text(text.replace("{folder}", str(folder)))
    done = subprocess.run([JESCOPE, "serve", "--blackbox=off", f"--listen=unix:{folder}/socket", f"--config={folder}/serve.conf"],
                          env=environment(folder), capture_output=True, text=True, timeout=DEADLINE, check=False)
    assert done.returncode in (1, 2) and told in done.stderr, done
