# SPDX-License-Identifier: Apache-2.0
"""A lease switches profiling on for a time and back by itself, in the target, whatever becomes of its client."""

import os
import signal
import subprocess
import sys

import pytest
import wire
from victims import eventually

LONG = 600_000
MONTH = 30 * 24 * 3600 * 1000


@pytest.fixture
def target(start):
    return start()


@pytest.fixture
def client(target):
    with target.client() as one:
        yield one


def refused(call):
    with pytest.raises(wire.Refused) as caught:
        call()
    return caught.value


def is_active(target):
    return target.ask("read 1 prof.active") == "1"


def test_it_ends_by_itself(target, client):
    lease = client.take(400)
    assert lease.id != 0 and lease.active == 1 and lease.restores == 0
    assert 0 < lease.remaining_ms <= 400
    assert is_active(target)
    eventually(lambda: not is_active(target), "profiling ends at its deadline")
    greeting = client.hello()
    assert greeting.flags & (wire.WIRE_FLAG_LEASED | wire.WIRE_FLAG_PROF_ACTIVE) == 0
    assert greeting.lease.id == 0
    assert refused(lambda: client.release(lease.id)).status == wire.WIRE_STATUS_NO_LEASE


def test_it_ends_by_itself_after_its_client_left(target):
    with target.client() as client:
        client.take(400)
    assert is_active(target)
    eventually(lambda: not is_active(target), "profiling ends at its deadline")


CLIENT = """
import sys, time, wire
client = wire.Client(sys.argv[1])
client.take(int(sys.argv[2]))
print("taken", flush=True)
sys.stdin.read()
"""


def test_it_ends_by_itself_after_kill_9(target):
    target.client().close()
    taker = subprocess.Popen(
        [sys.executable, "-c", CLIENT, str(target.socket_of()), "1500"],
        cwd=os.path.dirname(wire.__file__),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert taker.stdout.readline() == b"taken\n"
        assert is_active(target)
    finally:
        os.kill(taker.pid, signal.SIGKILL)
        taker.communicate()
    eventually(lambda: not is_active(target), "profiling ends at its deadline")


def test_hello_describes_it(client):
    lease = client.take(LONG)
    greeting = client.hello()
    assert greeting.flags & wire.WIRE_FLAG_LEASED and greeting.flags & wire.WIRE_FLAG_PROF_ACTIVE
    assert greeting.since == wire.WIRE_SINCE_AGENT
    assert (greeting.lease.id, greeting.lease.active, greeting.lease.restores) == (lease.id, 1, 0)
    assert 0 < greeting.lease.remaining_ms <= LONG


def test_release_restores(target, client):
    lease = client.take(LONG)
    assert client.release(lease.id).id == 0
    assert not is_active(target)


def test_it_restores_what_was(start):
    target = start(conf="prof:true,prof_active:true")
    with target.client() as client:
        lease = client.take(LONG)
        assert lease.restores == 1
        client.release(lease.id)
    assert is_active(target)


def test_it_may_switch_off_for_a_time(start):
    target = start(conf="prof:true,prof_active:true")
    with target.client() as client:
        lease = client.take(400, active=0)
        assert (lease.active, lease.restores) == (0, 1)
        assert not is_active(target)
    eventually(lambda: is_active(target), "profiling is back at the deadline")


def test_renew_counts_from_now(target, client):
    lease = client.take(LONG)
    renewed = client.renew(lease.id, 500)
    assert renewed.id == lease.id and renewed.remaining_ms <= 500
    eventually(lambda: not is_active(target), "profiling ends at the new deadline")


def test_renew_puts_the_end_off(target, client):
    lease = client.take(5_000)
    assert client.renew(lease.id, LONG).remaining_ms > 5_000
    assert client.hello().lease.remaining_ms > 5_000


def test_anyone_may_renew_or_release_by_its_number(target, client):
    lease = client.take(LONG)
    with target.client() as other:
        assert other.renew(lease.id, LONG).id == lease.id
        other.release(lease.id)
    assert not is_active(target)


def test_a_second_one_is_told_about_the_first(target, client):
    lease = client.take(LONG)
    with target.client() as other:
        answer = refused(lambda: other.take(1000, active=0))
    assert answer.status == wire.WIRE_STATUS_BUSY
    assert (answer.reply.lease.id, answer.reply.lease.active) == (lease.id, 1)
    assert 0 < answer.reply.lease.remaining_ms <= LONG
    assert is_active(target)


def test_replace_restores_what_the_first_would_have(target, client):
    first = client.take(LONG)
    second = client.take(LONG, flags=wire.WIRE_LEASE_REPLACE)
    assert second.id not in (0, first.id)
    assert second.restores == 0
    assert refused(lambda: client.release(first.id)).status == wire.WIRE_STATUS_NO_LEASE
    assert is_active(target)
    client.release(second.id)
    assert not is_active(target)


def test_a_lease_that_yields_is_replaced(target, client):
    yielding = client.take(LONG, flags=wire.WIRE_LEASE_YIELDS)
    assert yielding.yields == 1
    second = client.take(LONG)
    assert second.id != yielding.id and second.yields == 0 and second.restores == 0
    assert refused(lambda: client.renew(yielding.id, LONG)).status == wire.WIRE_STATUS_NO_LEASE
    assert refused(lambda: client.take(LONG, flags=wire.WIRE_LEASE_YIELDS)).status == wire.WIRE_STATUS_BUSY
    client.release(second.id)
    assert not is_active(target)


def test_replace_needs_nothing_to_replace(target, client):
    lease = client.take(LONG, flags=wire.WIRE_LEASE_REPLACE)
    assert lease.id != 0 and lease.restores == 0


def test_numbers_are_never_used_again(client):
    seen = set()
    for _ in range(20):
        lease = client.take(LONG)
        seen.add(lease.id)
        client.release(lease.id)
    assert len(seen) == 20 and 0 not in seen


@pytest.mark.parametrize("action", [wire.WIRE_LEASE_RENEW, wire.WIRE_LEASE_RELEASE])
@pytest.mark.parametrize("lease_id", [0, 1, 2**64 - 1])
def test_a_number_never_given_out(client, action, lease_id):
    answer = refused(lambda: client.lease(action, 1000, lease_id=lease_id))
    assert answer.status == wire.WIRE_STATUS_NO_LEASE


@pytest.mark.parametrize("duration", [0, MONTH + 1, 2**63, 2**64 - 1])
def test_durations_out_of_range(target, client, duration):
    assert refused(lambda: client.take(duration)).status == wire.WIRE_STATUS_BAD_MESSAGE
    assert not is_active(target)
    lease = client.take(LONG)
    assert refused(lambda: client.renew(lease.id, duration)).status == wire.WIRE_STATUS_BAD_MESSAGE
    assert client.hello().lease.remaining_ms > LONG / 2


@pytest.mark.parametrize("duration", [1, MONTH])
def test_durations_at_the_edges(client, duration):
    assert client.take(duration).remaining_ms <= duration


@pytest.mark.parametrize(
    "change",
    [dict(action=0), dict(action=4), dict(action=2**32 - 1), dict(active=2), dict(active=2**32 - 1), dict(flags=6), dict(flags=16)],
    ids=str,
)
def test_malformed_requests(target, client, change):
    request = dict(action=wire.WIRE_LEASE_TAKE, duration_ms=LONG)
    request.update(change)
    assert refused(lambda: client.lease(**request)).status == wire.WIRE_STATUS_BAD_MESSAGE
    assert not is_active(target)


def test_exit_with_a_lease_running(start):
    target = start(conf="prof:true,prof_active:false,prof_final:false")
    with target.client() as client:
        client.take(LONG)
        target.tell("exit 3")
        assert target.wait() == 3
