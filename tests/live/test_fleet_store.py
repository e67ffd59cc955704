# SPDX-License-Identifier: Apache-2.0
"""A fleet's store in trouble: one of two replicas ends, ZooKeeper is gone, the disk is full. What was queued arrives, and counts once.

With JESCOPE_PROOF set the full disk is kept for long enough that a batch would have been given up if it were held against it.
"""

import contextlib
import os
import signal
import subprocess
import time

import clickhouse
import pytest
import zookeeper
from sanitized import SANITIZED
from services import AS_ROOT, DEADLINE, free_port, wait_for
from test_fleet import HOUR, Fleet, by_name, own_report, releases  # noqa: F401
from test_push import JESCOPE, counts, waiting
from test_push_stores import dump_with

TABLES = ("stack", "whole", "sample", "dump", "ledger")
PATIENCE = "30s" if os.environ.get("JESCOPE_PROOF") or SANITIZED else "6s"  # for a store that takes nothing
ROOM = 5 << 18  # enough for the dump of a program, not for one with MANY stacks
MANY = 30000


def push(url, queue, *words, status=0):
    done = subprocess.run([str(word) for word in (JESCOPE, "push", *words, f"--to={url}", f"--queue={queue}")], capture_output=True, text=True,
                          timeout=2 * DEADLINE, check=False)
    assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
    return done


def held(fleet, service="shop"):
    return by_name(fleet.ask("report", service, "--count=0"))["main"]["cum"]["inuse_space"]["estimate"]


# ---- two replicas ----


class Restarted:
    """What begin() starts, as it was left by a kill() before."""

    def __init__(self, stack, make):
        self.make, self.mine = make, contextlib.ExitStack()
        stack.callback(self.kill)

    def begin(self):
        self.found = self.mine.enter_context(self.make())
        return self.found

    def kill(self):
        if hasattr(self, "found"):
            getattr(self.found, "process", self.found).send_signal(signal.SIGKILL)
        self.mine.close()


@pytest.fixture
def replicas(tmp_path):
    """ZooKeeper and two servers with the same shard, each with begin() and kill(). They have the tables that `fleet schema` prints."""
    if clickhouse.CURRENT:
        pytest.skip("the engine in a library has no clusters")
    with contextlib.ExitStack() as stack:
        keeper_port = free_port()
        keeper = Restarted(stack, lambda: zookeeper.serving(tmp_path / "zookeeper", keeper_port))
        keeper.begin()
        ports = [(free_port(), free_port()) for _ in range(2)]
        cluster = clickhouse.shards([tcp for _, tcp in ports])
        servers = []
        for name, own in zip("ab", ports):
            settings = clickhouse.replica(keeper_port, name)
            servers.append(Restarted(stack, lambda name=name, own=own, settings=settings: clickhouse.serving(
                tmp_path / name, ports=own, cluster=cluster, settings=settings)))
            server = servers[-1].begin()
            schema = Fleet(server, tmp_path).run("fleet", "schema", "--cluster=fleet", "--replicated").stdout
            for statement in filter(str.strip, schema.split(";\n")):
                server.run(statement)
        yield keeper, *servers


def rows(server):
    """Of its own tables, each row once."""
    return {table: int(server.rows(f"SELECT toString(count()) FROM jescope.{table}_local FINAL")[0][0]) for table in TABLES}


def is_writable(server):
    return server.rows("SELECT count() FROM system.replicas WHERE database = 'jescope' AND is_readonly = 0") == [[str(len(TABLES))]]


def test_replicas(replicas, releases, tmp_path):  # noqa: F811
    """Either server has everything; one that was away has what came meanwhile; without ZooKeeper the queue keeps what comes."""
    keeper, *servers = replicas
    one, two = (server.found for server in servers)
    dumps = [releases(4, 30 + i) for i in range(4)]
    sizes = [own_report(Fleet(one, tmp_path), dump)["main"]["cum"]["inuse_space"]["estimate"] for dump in dumps]

    def send(number, server, *words, **options):
        return push(f"{server.url}?create=no", tmp_path / f"queue{number}", dumps[number], "--service=shop", f"--host=host{number}", *words, **options)

    def holds_dumps(server, number):
        """Its answer is about the first dumps up to NUMBER, each once."""
        assert held(Fleet(server, tmp_path)) == pytest.approx(sum(sizes[:number]), abs=number)

    send(0, one)
    send(1, two)
    wait_for(lambda: rows(one) == rows(two) and rows(one)["dump"] == 2, "both have both")
    holds_dumps(one, 2)
    holds_dumps(two, 2)
    servers[0].kill()
    holds_dumps(two, 2)
    send(2, two)
    holds_dumps(two, 3)
    one = servers[0].begin()
    wait_for(lambda: rows(one) == rows(two) and is_writable(one), "the first one has what it missed")
    servers[1].kill()
    holds_dumps(one, 3)
    send(0, one)
    holds_dumps(one, 3)
    keeper.kill()
    wait_for(lambda: not is_writable(one), "tables cannot be written")
    told = send(3, one, f"--for={PATIENCE}", status=3)
    assert "status 500: Code: " in told.stderr and len(waiting(tmp_path / "queue3")) == 1
    holds_dumps(one, 3)
    keeper.begin()
    wait_for(lambda: is_writable(one), "tables can be written")
    assert "1 batch sent" in subprocess.run([JESCOPE, "push", dumps[3], "--service=shop", "--host=host3", f"--to={one.url}?create=no",
                                             f"--queue={tmp_path}/queue4"], capture_output=True, text=True, timeout=DEADLINE, check=True).stdout
    holds_dumps(one, 4)


def test_days_of_replicas_are_dropped(replicas, releases, tmp_path):  # noqa: F811
    """On all of them, by one command; the command for the other one finds nothing."""
    _, *servers = replicas
    one, two = (server.found for server in servers)
    push(f"{one.url}?create=no", tmp_path / "queue", releases(4, 10, ago=5 * 24 * HOUR), "--service=old", "--host=host")
    wait_for(lambda: rows(one) == rows(two) and rows(one)["dump"] == 1, "both have it")
    assert "1 day before" in Fleet(one, tmp_path).run("fleet", "expire", "--keep=4d").stdout
    wait_for(lambda: not any(rows(two).values()), "the other one has dropped it")
    assert "0 days before" in Fleet(two, tmp_path).run("fleet", "expire", "--keep=4d").stdout


# ---- hosts whose clocks are wrong ----


def test_wrong_clocks(tmp_path, releases):  # noqa: F811
    """A host that is two hours ahead, or behind, is not of this time, does not change what this time is, and is found at its own."""
    dumps = {"right": releases(4, 25), "ahead": releases(4, 26, ago=-2 * HOUR), "behind": releases(4, 27, ago=2 * HOUR)}
    with clickhouse.serving(tmp_path / "store") as store:
        fleet = Fleet(store, tmp_path)
        own = {}
        for host, dump in dumps.items():
            fleet.push("shop", host, dump)
            own[host] = own_report(fleet, dump)["main"]["cum"]["inuse_space"]["estimate"]
        assert held(fleet) == pytest.approx(own["right"], abs=1)
        assert [row["name"] for row in fleet.ask("hosts", "shop")["hosts"]] == ["right"]
        assert [row["processes"] for row in fleet.ask("services")["services"]] == [1]
        for host in ("ahead", "behind"):
            at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(dumps[host].stat().st_mtime + 60))
            found = by_name(fleet.ask("report", "shop", "--count=0", f"--at={at}"))["main"]["cum"]["inuse_space"]["estimate"]
            assert found == pytest.approx(own[host], abs=1), host


# ---- a full disk ----


@pytest.fixture
def small_disk(tmp_path):
    """A server with its data on 96 MiB of its own, and where these are."""
    data = tmp_path / "store/data"
    data.mkdir(parents=True)
    enter = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o size=96m none "$0" && exec "$@"', str(data)]
    if not AS_ROOT or subprocess.run([*enter, "true"], capture_output=True, timeout=DEADLINE, check=False).returncode != 0:
        pytest.skip("this machine (or user) permits no mounts")
    with clickhouse.serving(tmp_path / "store", enter=enter) as store:
        yield store, f"/proc/{store.process.pid}/root{data}"


def fill(path, left):
    """All but LEFT bytes."""
    with open(f"{path}/ballast", "wb") as ballast:
        state = os.statvfs(path)
        os.posix_fallocate(ballast.fileno(), 0, max(state.f_bavail * state.f_bsize - left, 1))


def test_the_stores_disk_is_full(small_disk, releases, tmp_path):  # noqa: F811
    """Too full for the first dump that waits, though not for the others; then without any room; then with some again."""
    store, path = small_disk
    fleet, queue = Fleet(store, tmp_path), tmp_path / "queue"
    dumps = [releases(4, 30 + i) for i in range(3)]
    large = dump_with(tmp_path / "large.heap", MANY)
    push(store.url, queue, dumps[0], "--service=shop", "--host=host0")
    for left in (ROOM, 0):
        fill(path, left)
        push(store.url, tmp_path / f"other{left}", dumps[0], "--service=small", "--for=1ms", status=0 if left else 3)
        told = push(store.url, queue, large, "--service=large", f"--for={PATIENCE}", status=3)
        assert "status 500: " in told.stderr and "no space left" in told.stderr.lower()
        for i in (1, 2):
            push(store.url, queue, dumps[i], "--service=shop", f"--host=host{i}", f"--for={PATIENCE if i == 2 else '1ms'}", status=3)
    assert counts(queue) == {"sent": 1, "dropped": 0, "refused": 0, "damaged": 0, "waiting": 6}, "what is behind the large one waits, too"
    own = [own_report(fleet, dump)["main"]["cum"]["inuse_space"]["estimate"] for dump in dumps]
    assert held(fleet) == pytest.approx(own[0], abs=1), "questions are answered"
    os.unlink(f"{path}/ballast")
    assert "7 batches sent" in push(store.url, queue, dumps[0], "--service=shop", "--host=host0").stdout
    assert counts(queue) == {"sent": 8, "dropped": 0, "refused": 0, "damaged": 0, "waiting": 0}
    assert held(fleet) == pytest.approx(sum(own), abs=len(own)), "and each process counts once"
    assert fleet.ask("report", "large", "--count=1")["source"]["total"]["inuse_space"]["estimate"] == pytest.approx(
        sum(4096 + MANY - number for number in range(MANY)), abs=1)
