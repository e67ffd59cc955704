# SPDX-License-Identifier: Apache-2.0
"""The agent where the kernel grants its thread nothing of its own: its descriptors are in the table of a host that takes them."""

import os
import platform

import pytest

from seccomp import EQUAL, LOAD, NUMBER, RET_ALLOW, RET_EPERM, RETURN, THIRD_ARGUMENT, install
from test_agent_smoke import DUMP, OK, Client, Target, wait_for

UNSHARE = {"x86_64": 272, "aarch64": 97}
CLOSE_RANGE, CLOSE_RANGE_UNSHARE = 436, 2
HIGH = 100  # no descriptor of the host's comes near

HOST = """
import os, sys
print('up', flush=True)
for line in sys.stdin:
    word, *rest = line.split()
    if word == 'close':
        os.closerange(3, 4096)
    elif word == 'take':
        mine = os.open(rest[0], os.O_RDWR)
        for number in [int(n) for n in os.listdir('/proc/self/fd')]:
            if number > 2 and number != mine and os.path.lexists(f'/proc/self/fd/{number}'):
                os.dup2(mine, number)
    print('ok', flush=True)
"""


def refuse_isolation():
    """seccomp: unshare() and close_range(..., CLOSE_RANGE_UNSHARE) are not permitted, here and in what is executed."""
    install([
        (LOAD, 0, 0, NUMBER),
        (EQUAL, 3, 0, UNSHARE[platform.machine()]),
        (EQUAL, 0, 3, CLOSE_RANGE),
        (LOAD, 0, 0, THIRD_ARGUMENT),
        (EQUAL, 0, 1, CLOSE_RANGE_UNSHARE),
        (RETURN, 0, 0, RET_EPERM),
        (RETURN, 0, 0, RET_ALLOW),
    ])


@pytest.fixture
def target(tmp_path):
    if platform.machine() not in UNSHARE:
        pytest.skip(f"the number of unshare() on {platform.machine()} is not known here")
    target = Target(tmp_path, program=HOST, preexec_fn=refuse_isolation)
    yield target
    target.end()


def tell(target, line):
    target.process.stdin.write(line.encode() + b"\n")
    target.process.stdin.flush()
    assert target.process.stdout.readline() == b"ok\n"


def ours(target):
    return {int(n) for n in os.listdir(f"/proc/{target.process.pid}/fd") if int(n) >= HIGH}


def reach(target):
    """A client that tries again, as every client does, while the agent has not noticed yet."""

    def attempt():
        try:
            client = Client(target.sockets()[0])
            client.hello()
            return client
        except (ConnectionError, FileNotFoundError, IndexError):
            return None

    client = wait_for(attempt)
    assert client, target.said()
    return client


def test_sits_high_and_close_on_exec(target):
    client = reach(target)
    assert "descriptors are shared with the program" in target.said()
    assert len(ours(target)) == 2  # the listener and the client
    for number in ours(target):
        with open(f"/proc/{target.process.pid}/fdinfo/{number}", encoding="ascii") as info:
            flags = int(next(line for line in info if line.startswith("flags:")).split()[1], 8)
        assert flags & os.O_CLOEXEC
    assert client.hello()["pid"] == target.process.pid


def test_is_back_after_everything_was_closed(target):
    reach(target)
    tell(target, "close")
    assert reach(target).hello()["pid"] == target.process.pid


def test_leaves_alone_what_took_its_place(target, tmp_path):
    lost = reach(target)
    precious = tmp_path / "precious"
    precious.write_text("nobody else's business")
    taken = ours(target)
    assert len(taken) == 2
    tell(target, f"take {precious}")
    lost.socket.close()
    client = reach(target)
    assert client.output(DUMP, bytes(8))[0] == OK
    assert precious.read_text() == "nobody else's business"
    for number in taken:
        assert os.readlink(f"/proc/{target.process.pid}/fd/{number}") == str(precious)


def test_keeps_nothing_of_what_it_is_sent(target):
    client = reach(target)
    before = ours(target)
    for _ in range(20):
        assert client.output(DUMP, bytes(8))[0] == OK
    # The last one is closed after the reply.
    # Of those before, one may have been that of an attempt that had failed.
    assert wait_for(lambda: len(ours(target)) <= len(before)), ours(target)
