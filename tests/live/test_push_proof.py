# SPDX-License-Identifier: Apache-2.0
"""What the queue of jescope push promises, with Debian's ClickHouse behind a network that fails in every way: nothing that was queued is
lost, nothing is counted twice.

JESCOPE_PROOF=N is the number of kills, JESCOPE_PROOF=full 200, with the store killed in every tenth round.
"""

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import threading
import time

import clickhouse
import pytest
import receivers
from services import DEADLINE, free_port, wait_for
from test_push import JESCOPE, counts, waiting

PROOF = os.environ.get("JESCOPE_PROOF") or "5"
KILLS = 200 if PROOF == "full" else int(PROOF)
STORE_KILLS = 10  # rounds between two
FAULTS = ("none", "refused", "reset", "cut request", "cut answer", "slow", "silent")


class Network:
    """Connections to a port of 127.0.0.1, with a fault: "refused" resets them at once, "reset" after some bytes, "cut request" and "cut
    answer" end them in the middle of one, "slow" gives bytes one after the other, "silent" answers nothing."""

    def __init__(self, port):
        self.to, self.fault, self.random = port, "none", random.Random(17)
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.server.accept()
                threading.Thread(target=self.serve, args=(client, self.fault, self.random.randrange(1, 20000)), daemon=True).start()

    def serve(self, client, fault, limit):
        with contextlib.suppress(OSError), client:
            if fault == "refused":
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                return
            with socket.create_connection(("127.0.0.1", self.to), timeout=DEADLINE) as store:
                back = threading.Thread(target=self.relay, args=(store, client, fault, limit if fault == "cut answer" else None), daemon=True)
                back.start()
                self.relay(client, store, fault, limit if fault in ("cut request", "reset") else None)
                back.join(DEADLINE)

    def relay(self, one, other, fault, limit):
        left = limit
        with contextlib.suppress(OSError):
            while data := one.recv(200 if fault == "slow" else 65536):
                if fault == "silent" and one.getpeername()[1] == self.to:
                    continue
                other.sendall(data if left is None else data[:left])
                left = None if left is None else left - len(data)
                if left is not None and left <= 0:
                    for end in (one, other):
                        end.shutdown(socket.SHUT_RDWR)
                    return
                if fault == "slow":
                    time.sleep(0.002)
            other.shutdown(socket.SHUT_WR)

    def stop(self):
        self.server.close()


@pytest.fixture
def store(tmp_path):
    """A store that restart() kills and starts again, over what it had on the disk."""
    ports = (free_port(), free_port())

    class Store:
        def restart(self):
            if self.found is not None:
                self.found.process.send_signal(signal.SIGKILL)
            self.stack.close()
            self.found = self.stack.enter_context(clickhouse.serving(tmp_path / "store", ports=ports))

    one = Store()
    one.found, one.stack = None, contextlib.ExitStack()
    one.restart()
    yield one
    one.stack.close()


def promised(queue):
    """How many batches were ever added: they are numbered from 1 on."""
    first = [int(line.split("=")[1]) for state in queue.glob("*/state") for line in state.read_text().splitlines() if line.startswith("first=")]
    return max([(first or [1])[0] - 1, *(int(path.stem.split("-")[0]) for path in waiting(queue))])


def test_killed_while_everything_fails(store, start, tmp_path):
    """Each pusher is killed at a random moment of its work, under another fault; the last one has a sound network."""
    victim = start()
    queue = tmp_path / "queue"
    network = Network(store.found.http)
    url = f"clickhouse://127.0.0.1:{network.port}/jescope"
    command = [JESCOPE, "push", str(victim.pid), f"--to={url}", f"--queue={queue}", "--service=shop", "--host=web1"]
    chance = random.Random(4711)
    try:
        with open(tmp_path / "log", "w") as log:
            for number in range(KILLS):
                network.fault = FAULTS[number % len(FAULTS)]
                pusher = subprocess.Popen([*command, "--for=60s"], stdout=log, stderr=log)
                time.sleep(chance.uniform(0.02, 0.6))
                if number % STORE_KILLS == STORE_KILLS // 2 - 1:
                    store.restart()
                pusher.send_signal(signal.SIGKILL)
                pusher.wait(DEADLINE)
        network.fault = "none"
        before = promised(queue)
        last = subprocess.run([*command, f"--for={DEADLINE}s"], capture_output=True, text=True, timeout=2 * DEADLINE, check=False)
        assert last.returncode == 0, last.stderr
    finally:
        network.stop()
    added = promised(queue)
    assert added == before + 1
    assert counts(queue) == {"sent": added, "dropped": 0, "refused": 0, "damaged": 0, "waiting": 0}
    [[distinct]] = store.found.rows("SELECT toUInt32(uniqExact(id)) FROM jescope.dump")
    assert distinct == added, "each batch that was queued is in the store"
    asked = subprocess.run([JESCOPE, "fleet", "report", "shop", f"--store={store.found.url}", "--json"], capture_output=True, text=True,
                           timeout=DEADLINE, check=False)
    assert asked.returncode in (0, 3), asked.stderr  # 3: a part of the names is unknown
    own = subprocess.run([JESCOPE, "push", str(victim.pid), "--print=json"], capture_output=True, text=True, timeout=DEADLINE, check=True)
    told, holds = json.loads(asked.stdout)["source"]["total"]["inuse_space"]["estimate"], json.loads(own.stdout)["totals"]["inuse_space"]["estimate"]
    assert abs(told - holds) <= 1 + holds / 1e6, "and counts once"


def test_an_hour_without_a_store(tmp_path, start):
    """As many batches as an hour has minutes are added while nothing listens; all arrive, in their order, in one go."""
    victim = start()
    one = receivers.Receiver(listening=False)
    queue = tmp_path / "queue"
    command = [JESCOPE, "push", *(60 if PROOF == "full" else 6) * [str(victim.pid)], f"--to=put+http://127.0.0.1:{one.port}", f"--queue={queue}"]
    try:
        assert subprocess.run([*command, "--for=1ms"], capture_output=True, timeout=DEADLINE, check=False).returncode == 3
        added = promised(queue)
        assert added == len(command) - 4 and len(waiting(queue)) == added
        one.listen()
        wait_for(lambda: subprocess.run([JESCOPE, "push", str(victim.pid), f"--to=put+http://127.0.0.1:{one.port}", f"--queue={queue}"],
                                        capture_output=True, timeout=DEADLINE, check=False).returncode == 0, "the queue is empty")
        with one.lock:
            times = [json.loads(request.body)["time_us"] for request in one.requests if request.path.endswith(".json")]
        assert times == sorted(times) and len(set(times)) >= added + 1
        assert counts(queue)["dropped"] == 0
    finally:
        one.stop()
