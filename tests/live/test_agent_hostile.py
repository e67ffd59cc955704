# SPDX-License-Identifier: Apache-2.0
"""Clients that mean harm, or do not know better: none hurts the target, and none keeps another client out."""

import array
import ctypes
import os
import random
import socket

import pytest
import wire
from victims import EVERY_BLOCK, agent_descriptors, agent_threads, eventually, threads

HELLO = wire.WIRE_OP_HELLO
CROWD = 1500


@pytest.fixture
def target(start):
    return start(conf=EVERY_BLOCK)


@pytest.fixture
def client(target):
    with target.client() as one:
        yield one


def hello_request(client, **header):
    message = client.stamp(wire.WireHelloRequest(version_min=1, version_max=1), HELLO)
    for field, value in header.items():
        setattr(message.header, field, value)
    return bytes(message)


def assert_served(target):
    """A client that knows its manners is served, and the target is well."""
    with target.client() as client:
        assert client.greeting.pid == target.pid
        assert client.read("arenas.page", "size") == 4096
    assert target.ask("hold 1 100") == "1"


# Malformed messages


@pytest.mark.parametrize(
    "header",
    [
        dict(magic=0),
        dict(magic=wire.WIRE_MAGIC ^ 1),
        dict(size=0),
        dict(size=16),
        dict(size=23),
        dict(size=25),
        dict(size=2**32 - 1),
    ],
    ids=str,
)
def test_a_wrong_header_is_answered_and_the_connection_lives(client, header):
    client.send(hello_request(client, **header))
    assert wire.head_of(client.receive(HELLO)).status == wire.WIRE_STATUS_BAD_MESSAGE
    assert client.hello().version == 1


@pytest.mark.parametrize("op", range(1, 8))
def test_every_wrong_size_is_answered_and_the_connection_lives(client, op):
    right = {
        wire.WIRE_OP_HELLO: ctypes.sizeof(wire.WireHelloRequest),
        wire.WIRE_OP_CTL: ctypes.sizeof(wire.WireCtlRequest),
        wire.WIRE_OP_DUMP: ctypes.sizeof(wire.WireDumpRequest),
        wire.WIRE_OP_STATS: ctypes.sizeof(wire.WireStatsRequest),
        wire.WIRE_OP_LEASE: ctypes.sizeof(wire.WireLeaseRequest),
        wire.WIRE_OP_SAMPLE: ctypes.sizeof(wire.WireSampleRequest),
        wire.WIRE_OP_LEAVE: ctypes.sizeof(wire.WireLeaveRequest),
    }[op]
    for size in [*range(1, 200), 1023, 1024, 1025, 2000, 70_000]:
        if (op, size) == (wire.WIRE_OP_LEAVE, right):
            continue  # it would
        message = client.stamp(wire.WireDumpRequest(), op)
        message.header.size = size
        data = (bytes(message.header) + bytes(size))[:size]
        client.send(data)
        reply = wire.head_of(client.receive(op))
        if size != right:
            assert reply.status == wire.WIRE_STATUS_BAD_MESSAGE, size
    assert client.hello().version == 1


@pytest.mark.parametrize(
    "op, message",
    [
        (wire.WIRE_OP_HELLO, wire.WireHelloRequest(version_min=1, version_max=1)),
        (wire.WIRE_OP_CTL, wire.WireCtlRequest(type=wire.WIRE_TYPE_SIZE, flags=wire.WIRE_CTL_READ, name=b"arenas.page")),
        (wire.WIRE_OP_LEASE, wire.WireLeaseRequest(action=wire.WIRE_LEASE_TAKE, duration_ms=1000)),
    ],
    ids=["hello", "ctl", "lease"],
)
def test_a_message_longer_than_it_says_is_refused(client, op, message):
    client.send(bytes(client.stamp(message, op)) + bytes(40))
    assert wire.head_of(client.receive(op)).status == wire.WIRE_STATUS_BAD_MESSAGE
    assert client.hello().lease.id == 0


def test_noise(target):
    rng = random.Random(7)
    for _ in range(40):
        with target.client(hello=False) as client:
            for _ in range(50):
                client.send(rng.randbytes(rng.randrange(1, 1200)))
                assert wire.head_of(client.receive(0)).status != wire.WIRE_STATUS_OK
    assert_served(target)


def test_noise_behind_a_sound_header(target):
    """Random bodies of the right size: fields in and out of their ranges. Whatever they ask, the target lives."""
    rng = random.Random(11)
    bodies = {
        wire.WIRE_OP_CTL: wire.WireCtlRequest,
        wire.WIRE_OP_STATS: wire.WireStatsRequest,
        wire.WIRE_OP_LEASE: wire.WireLeaseRequest,
        wire.WIRE_OP_SAMPLE: wire.WireSampleRequest,
        wire.WIRE_OP_HELLO: wire.WireHelloRequest,
    }
    with target.client() as client:
        for _ in range(3000):
            op = rng.choice(list(bodies))
            message = bodies[op].from_buffer_copy(rng.randbytes(ctypes.sizeof(bodies[op])))
            if op == wire.WIRE_OP_CTL:
                message.type, message.flags = rng.randrange(9), rng.randrange(5)
                message.name = rng.choice([b"prof.active", b"stats.", b"arena.0.", b"thread.", b"version", b"a.b.c", b""])
            client.send(client.stamp(message, op))
            client.receive(op)
    assert_served(target)


def test_an_empty_packet(target):
    client = target.client()
    client.sock.send(b"")
    client.close()
    assert_served(target)


# Clients that do not listen, do not speak, or come in crowds


def test_a_client_that_never_reads(target):
    with target.client() as deaf:
        deaf.sock.setblocking(False)
        message = hello_request(deaf)
        try:
            for _ in range(100_000):
                deaf.send(message)
        except (BlockingIOError, ConnectionError):
            pass
        assert_served(target)
    assert_served(target)


def test_a_client_that_says_half_and_stays(target):
    with target.client(hello=False) as slow:
        slow.send(hello_request(slow)[:10])
        assert_served(target)


def test_a_client_that_never_speaks(target):
    silent = [target.client(hello=False) for _ in range(5)]
    assert_served(target)
    for one in silent:
        one.close()


def test_a_client_that_never_speaks_is_sent_away(target):
    with target.client(hello=False) as silent:
        silent.sock.settimeout(60)
        assert silent.sock.recv(1) == b""
    assert_served(target)


def test_a_crowd(target):
    """More connections than anyone needs, all kept: the agent's descriptors stay few, and others are served."""
    with target.client() as client:
        client.hello()
    before = len(agent_descriptors(target.pid))
    crowd = []
    try:
        for _ in range(CROWD):
            crowd.append(wire.connect(str(target.socket_of())))
        assert len(agent_descriptors(target.pid)) < before + 64
        assert_served(target)
        assert len(threads(target.pid)) == 2
    finally:
        for one in crowd:
            one.close()
    eventually(lambda: len(agent_descriptors(target.pid)) <= before, "the agent has let go of the crowd")
    assert_served(target)


def test_a_crowd_that_speaks(target):
    """Each says HELLO and stays; the newcomer is served all the same."""
    crowd = []
    try:
        for _ in range(200):
            crowd.append(target.client())
        assert_served(target)
        assert crowd[-1].hello().agent_clients <= 64
    finally:
        for one in crowd:
            one.close()
    assert_served(target)


def test_thousands_of_connections_one_after_another(target):
    target.client().close()
    before, running = agent_descriptors(target.pid), threads(target.pid)
    for _ in range(3000):
        target.client(hello=False).close()
    assert_served(target)
    eventually(lambda: len(agent_descriptors(target.pid)) <= len(before), "no connection is left over")
    assert threads(target.pid) == running


# Descriptors


def test_a_flood_of_descriptors(target):
    with target.client() as client:
        client.hello()
        before = len(agent_descriptors(target.pid))
        ends = os.pipe()
        try:
            for op, message in [
                (HELLO, wire.WireHelloRequest(version_min=1, version_max=1)),
                (wire.WIRE_OP_CTL, wire.WireCtlRequest(type=wire.WIRE_TYPE_SIZE, flags=1, name=b"arenas.page")),
                (wire.WIRE_OP_DUMP, wire.WireDumpRequest()),
                (wire.WIRE_OP_STATS, wire.WireStatsRequest()),
                (wire.WIRE_OP_LEASE, wire.WireLeaseRequest()),
                (99, wire.WireDumpRequest()),
            ]:
                for count in (1, 2, 3, 100, 253):
                    client.send(client.stamp(message, op), [ends[1]] * count)
                    client.receive(op)
        finally:
            for end in ends:
                os.close(end)
        assert len(agent_descriptors(target.pid)) == before
    assert_served(target)


def test_descriptors_in_several_parts(target):
    with target.client() as client:
        client.hello()
        before = len(agent_descriptors(target.pid))
        descriptor = os.memfd_create("jescope-test")
        try:
            one = array.array("i", [descriptor])
            for _ in range(20):
                message = bytes(client.stamp(wire.WireDumpRequest(), wire.WIRE_OP_DUMP))
                part = (socket.SOL_SOCKET, socket.SCM_RIGHTS, one.tobytes())
                client.sock.sendmsg([message], [part, part, part])
                client.receive(wire.WIRE_OP_DUMP)
        finally:
            os.close(descriptor)
        assert len(agent_descriptors(target.pid)) == before


class Offered:
    """Descriptors that the agent may not write to. Each: (descriptor, a check that it was not touched)."""

    @staticmethod
    def regular_file(folder):
        path = folder / "file"
        path.write_bytes(b"precious")
        return os.open(path, os.O_RDWR), lambda: path.read_bytes() == b"precious"

    @staticmethod
    def fifo(folder):
        path = folder / "fifo"
        os.mkfifo(path)
        return os.open(path, os.O_RDWR), lambda: True

    @staticmethod
    def fifo_without_reader(folder):
        """Opening it again for writing would wait for ever."""
        path = folder / "fifo"
        os.mkfifo(path)
        reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        writer = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        os.close(reader)
        return writer, lambda: True

    @staticmethod
    def full_pipe(_):
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        try:
            while True:
                os.write(writer, bytes(4096))
        except BlockingIOError:
            os.set_blocking(writer, True)
        os.dup2(reader, 1000)
        os.close(reader)
        return writer, lambda: os.close(1000) is None

    @staticmethod
    def directory(folder):
        return os.open(folder, os.O_RDONLY), lambda: True

    @staticmethod
    def path_only(folder):
        path = folder / "file"
        path.write_bytes(b"precious")
        return os.open(path, os.O_PATH), lambda: path.read_bytes() == b"precious"

    @staticmethod
    def device(_):
        return os.open("/dev/full", os.O_RDWR), lambda: True

    @staticmethod
    def socket(_):
        ends = socket.socketpair()
        number = ends[0].detach()
        return number, lambda: ends[1].close() is None

    @staticmethod
    def read_only_memfd(_):
        descriptor = os.memfd_create("jescope-test", os.MFD_ALLOW_SEALING)
        again = os.open(f"/proc/self/fd/{descriptor}", os.O_RDONLY)
        os.close(descriptor)
        return again, lambda: os.fstat(again).st_size == 0

    @staticmethod
    def sealed(_, seals=0x8):
        descriptor = os.memfd_create("jescope-test", os.MFD_ALLOW_SEALING)
        os.write(descriptor, b"precious")
        import fcntl

        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
        return descriptor, lambda: os.pread(descriptor, 100, 0) == b"precious"

    @staticmethod
    def sealed_against_growth(_):
        return Offered.sealed(_, 0x4)

    @staticmethod
    def sealed_against_shrinking(_):
        return Offered.sealed(_, 0x2)

    @staticmethod
    def sealed_against_future_writes(_):
        return Offered.sealed(_, 0x10)


OFFERS = [name for name in vars(Offered) if not name.startswith("_")]


@pytest.mark.parametrize("offer", OFFERS)
@pytest.mark.parametrize("op", [wire.WIRE_OP_DUMP, wire.WIRE_OP_STATS], ids=["dump", "stats"])
def test_only_a_writable_memfd_is_written_to(target, client, tmp_path, offer, op):
    message = wire.WireDumpRequest() if op == wire.WIRE_OP_DUMP else wire.WireStatsRequest()
    before = len(agent_descriptors(target.pid))
    descriptor, is_untouched = getattr(Offered, offer)(tmp_path)
    try:
        with pytest.raises(wire.Refused) as caught:
            client.call(message, op, [descriptor])
        assert caught.value.status == wire.WIRE_STATUS_BAD_DESCRIPTOR
        assert is_untouched()
    finally:
        os.close(descriptor)
    assert len(agent_descriptors(target.pid)) == before
    assert_served(target)


@pytest.mark.parametrize("op", [wire.WIRE_OP_DUMP, wire.WIRE_OP_STATS], ids=["dump", "stats"])
def test_without_a_descriptor(client, op):
    message = wire.WireDumpRequest() if op == wire.WIRE_OP_DUMP else wire.WireStatsRequest()
    with pytest.raises(wire.Refused) as caught:
        client.call(message, op)
    assert caught.value.status == wire.WIRE_STATUS_BAD_MESSAGE


def test_a_memfd_that_changes_under_the_agents_hands(target, client):
    """Truncated and grown by the client all the while: nothing but that dump is spoilt."""
    import threading

    client.write("prof.active", "bool", 1)
    target.ask("hold 1000 100")
    descriptor = os.memfd_create("jescope-test", os.MFD_ALLOW_SEALING)
    done = threading.Event()

    def meddle():
        size = 0
        while not done.is_set():
            size = (size + 12345) % 10**6
            os.ftruncate(descriptor, size)

    meddler = threading.Thread(target=meddle)
    meddler.start()
    try:
        for _ in range(30):
            client.call(wire.WireDumpRequest(), wire.WIRE_OP_DUMP, [descriptor])
            client.call(wire.WireStatsRequest(), wire.WIRE_OP_STATS, [descriptor])
    except wire.Refused as refusal:
        assert refusal.status in (wire.WIRE_STATUS_WRITE_FAILED, wire.WIRE_STATUS_CONTROL_FAILED)
    finally:
        done.set()
        meddler.join()
        os.close(descriptor)
    assert_served(target)


def test_a_client_that_leaves_during_its_dump(target):
    target.ask("active 1")
    target.ask("hold 3000 100")
    for _ in range(10):
        descriptor = os.memfd_create("jescope-test", os.MFD_ALLOW_SEALING)
        with target.client() as client:
            client.send(client.stamp(wire.WireDumpRequest(), wire.WIRE_OP_DUMP), [descriptor])
        os.close(descriptor)
    assert_served(target)


def test_many_clients_at_once(target):
    import threading

    failures = []

    def work(seed):
        rng = random.Random(seed)
        try:
            with target.client() as client:
                for _ in range(30):
                    rng.choice([client.hello, client.dump, lambda: client.stats("J"), client.refresh])()
        except BaseException as error:
            failures.append(error)

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert failures == []
    assert len(agent_threads(target.pid)) == 1
