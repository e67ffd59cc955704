# SPDX-License-Identifier: Apache-2.0
"""The agent protocol, tested by a client that is based on src/wire/wire.h only."""

import ctypes
import json
import os
import re
import socket

import pytest
import wire
from victims import EVERY_BLOCK, LINKED, Victim, agent_descriptors, eventually, program

READ, WRITE = wire.WIRE_CTL_READ, wire.WIRE_CTL_WRITE


@pytest.fixture
def target(start):
    return start(conf=EVERY_BLOCK)


@pytest.fixture
def client(target):
    with target.client() as one:
        yield one


def refused(call, *statuses):
    with pytest.raises(wire.Refused) as caught:
        call()
    assert caught.value.status in statuses, caught.value
    return caught.value


def test_hello_tells_who_it_is(target, client):
    greeting = client.greeting
    assert greeting.pid == target.pid
    assert greeting.uid == os.geteuid()
    assert greeting.start_time == int(target.socket_of().name.split(".")[1])
    assert greeting.name == program().name[:15].encode()
    assert greeting.jemalloc_version.startswith(b"5.")
    assert greeting.prefix == b""
    assert b"libjemalloc.so" in greeting.found_in
    assert greeting.agent_clients >= 1
    wanted = (wire.WIRE_FLAG_SERVES_MALLOC | wire.WIRE_FLAG_CONFIG_PROF | wire.WIRE_FLAG_OPT_PROF | wire.WIRE_FLAG_CONFIG_STATS |
              wire.WIRE_FLAG_SAMPLER_READY)
    assert greeting.flags == wanted
    assert (greeting.since, greeting.active_since_ns) == (wire.WIRE_SINCE_UNKNOWN, 0)
    assert greeting.lease.id == 0


@pytest.mark.skipif(LINKED, reason="a library that is started later cannot know")
def test_hello_says_active_since_the_start(start):
    with start(conf="prof:true,prof_active:true").client() as client:
        assert client.greeting.flags & wire.WIRE_FLAG_PROF_ACTIVE
        assert client.greeting.since == wire.WIRE_SINCE_START


def test_hello_says_active_since_the_agent_was_told(client):
    client.write("prof.active", "bool", 1)
    greeting = client.hello()
    assert greeting.flags & wire.WIRE_FLAG_PROF_ACTIVE
    assert greeting.since == wire.WIRE_SINCE_AGENT
    assert greeting.active_since_ns > 10**18


def test_hello_does_not_claim_what_the_program_did_itself(target, client):
    target.ask("active 1")
    greeting = client.hello()
    assert greeting.flags & wire.WIRE_FLAG_PROF_ACTIVE
    assert greeting.since == wire.WIRE_SINCE_UNKNOWN


def test_hello_tells_the_last_reset(client):
    assert client.greeting.reset_at_ns == 0
    client.ctl("prof.reset", "none", WRITE)
    assert client.hello().reset_at_ns > 10**18


@pytest.mark.parametrize(
    "lowest, highest, chosen",
    [(1, 1, 1), (0, 1, 1), (1, 2, 1), (1, 65535, 1), (0, 65535, 1)],
)
def test_version_is_the_highest_both_know(target, lowest, highest, chosen):
    with target.client(hello=False) as client:
        assert client.hello(lowest, highest).version == chosen


@pytest.mark.parametrize("lowest, highest", [(2, 2), (2, 65535), (0, 0)])
def test_no_common_version_is_said_and_may_be_tried_again(target, lowest, highest):
    with target.client(hello=False) as client:
        refused(lambda: client.hello(lowest, highest), wire.WIRE_STATUS_BAD_VERSION)
        assert client.hello().version == 1


def test_a_range_upside_down_is_refused(target):
    with target.client(hello=False) as client:
        refused(lambda: client.hello(3, 1), wire.WIRE_STATUS_BAD_VERSION, wire.WIRE_STATUS_BAD_MESSAGE)


@pytest.mark.parametrize("version", [0, 2, 65535])
def test_a_message_of_a_version_never_agreed_is_refused(client, version):
    client.version = version
    refused(
        lambda: client.read("stats.allocated", "size"), wire.WIRE_STATUS_BAD_VERSION, wire.WIRE_STATUS_BAD_MESSAGE
    )
    client.version = 1
    assert client.read("stats.allocated", "size") > 0


@pytest.mark.parametrize("op", [0, 8, 999, 65535])
def test_unknown_op_is_answered_and_the_connection_lives(client, op):
    message = wire.WireHelloRequest(version_min=1, version_max=1)
    answer = refused(lambda: client.call(message, op), wire.WIRE_STATUS_UNKNOWN_OP)
    assert answer.error == 0
    assert client.hello().version == 1


@pytest.mark.parametrize("size", [16, 17, 48, 512, wire.WIRE_MESSAGE_MAX])
def test_unknown_op_of_any_size_is_answered(client, size):
    header = client.stamp(wire.WireDumpRequest(), 77).header
    header.size = size
    client.send((bytes(header) + bytes(wire.WIRE_MESSAGE_MAX))[:size])
    assert client.receive(77).status == wire.WIRE_STATUS_UNKNOWN_OP
    assert client.hello().version == 1


# name, type in the protocol, width as the program itself reads it
READABLE = [
    ("config.prof", "bool", 1),
    ("opt.lg_prof_sample", "size", 8),
    ("opt.narenas", "unsigned", 4),
    ("opt.dirty_decay_ms", "ssize", 8),
    ("arenas.page", "size", 8),
    ("arenas.nlextents", "unsigned", 4),
    ("arenas.bin.3.size", "size", 8),
    ("arena.0.dirty_decay_ms", "ssize", 8),
    ("prof.active", "bool", 1),
    ("prof.lg_sample", "size", 8),
    ("prof.interval", "u64", 8),
    ("stats.metadata_thp", "size", 8),
    ("max_background_threads", "size", 8),
    ("background_thread", "bool", 1),
]


@pytest.mark.parametrize("name, kind, width", READABLE)
def test_a_control_reads_as_the_program_itself_reads_it(target, client, name, kind, width):
    assert client.read(name, kind) % 2**64 == int(target.ask(f"read {width} {name}"))


def test_a_string_control_is_read(client):
    assert client.read("version", "string") == client.greeting.jemalloc_version.decode()
    assert client.read("opt.prof_prefix", "string") == "jeprof"


def test_a_long_string_is_cut_and_says_so(start):
    prefix = "p" * 400
    with start(conf=f"prof:true,prof_active:false,prof_prefix:{prefix}").client() as client:
        reply = client.ctl("opt.prof_prefix", "string", READ)
        assert reply.truncated == 1
        assert reply.text.decode() == "p" * (wire.WIRE_TEXT_MAX - 1)


def test_unknown_control_fails_as_jemalloc_says(client):
    answer = refused(lambda: client.read("stats.no_such_thing", "size"), wire.WIRE_STATUS_CONTROL_FAILED)
    assert answer.error == 2  # ENOENT


def test_wrong_width_fails_as_jemalloc_says(client):
    answer = refused(lambda: client.read("stats.allocated", "bool"), wire.WIRE_STATUS_CONTROL_FAILED)
    assert answer.error == 22  # EINVAL


def test_write_and_read_back(target, client):
    client.write("prof.active", "bool", 1)
    assert target.ask("read 1 prof.active") == "1"
    old = client.ctl("prof.active", "bool", READ | WRITE, 0)
    assert old.value == 1
    assert target.ask("read 1 prof.active") == "0"


# name, type, value, width
WRITABLE = [
    ("prof.gdump", "bool", 0, 1),
    ("prof.thread_active_init", "bool", 0, 1),
    ("background_thread", "bool", 1, 1),
    ("max_background_threads", "size", 1, 8),
    ("arena.0.dirty_decay_ms", "ssize", -1, 8),
    ("arena.0.muzzy_decay_ms", "ssize", 1234, 8),
    ("arenas.dirty_decay_ms", "ssize", 4321, 8),
    ("arenas.muzzy_decay_ms", "ssize", 0, 8),
]


@pytest.mark.parametrize("name, kind, value, width", WRITABLE)
def test_every_control_on_the_short_list_is_written(target, client, name, kind, value, width):
    client.write(name, kind, value)
    assert int(target.ask(f"read {width} {name}")) == value % 2**64


@pytest.mark.parametrize("name", ["arena.0.purge", "arena.0.decay", "arena.4096.purge", "arena.4096.decay"])
def test_every_action_on_the_short_list_runs(client, name):
    client.act(name)


def test_purge_reaches_jemalloc(target, client):
    client.write("arenas.dirty_decay_ms", "ssize", -1)
    client.write("arena.0.dirty_decay_ms", "ssize", -1)
    target.ask("hold 1000 100000")
    target.ask("drop")
    client.refresh()
    assert client.read("stats.arenas.4096.pdirty", "size") > 1000
    client.act("arena.4096.purge")
    client.refresh()
    assert client.read("stats.arenas.4096.pdirty", "size") < 100


def test_epoch_refreshes(target, client):
    client.refresh()
    before = client.read("stats.allocated", "size")
    target.ask("hold 100 100000")
    assert client.read("stats.allocated", "size") == before
    client.refresh()
    assert client.read("stats.allocated", "size") >= before + 100 * 100000


def test_reset_sets_the_sampling_rate(target, client):
    client.write("prof.reset", "size", 17)
    assert target.ask("read 8 prof.lg_sample") == "17"
    client.act("prof.reset")
    assert target.ask("read 8 prof.lg_sample") == "17"


def test_what_jemalloc_was_told_is_remembered(start):
    """jemalloc tells it from 5.3.1 on, the agent before; /proc has it only until the program sets its title."""
    victim = start(conf=EVERY_BLOCK)
    with victim.client() as client:
        assert client.read("opt.malloc_conf.env_var", "string") == EVERY_BLOCK


# Everything else that jemalloc would let a program write, run or change by reading.
NOT_ALLOWED_WRITES = [
    ("prof.dump", "none"),
    ("prof.dump", "u64"),
    ("prof.dump", "string"),
    ("prof.prefix", "u64"),
    ("prof.prefix", "string"),
    ("prof.log_start", "u64"),
    ("prof.log_start", "none"),
    ("prof.log_stop", "none"),
    ("prof.stats", "none"),
    ("thread.prof.active", "bool"),
    ("thread.prof.name", "string"),
    ("thread.prof.name", "u64"),
    ("thread.arena", "unsigned"),
    ("thread.idle", "none"),
    ("thread.tcache.enabled", "bool"),
    ("thread.tcache.flush", "none"),
    ("thread.peak.reset", "none"),
    ("tcache.create", "unsigned"),
    ("tcache.flush", "unsigned"),
    ("tcache.destroy", "unsigned"),
    ("arena.0.reset", "none"),
    ("arena.0.destroy", "none"),
    ("arena.4096.reset", "none"),
    ("arena.0.dss", "string"),
    ("arena.0.dss", "u64"),
    ("arena.0.extent_hooks", "u64"),
    ("arena.0.retain_grow_limit", "size"),
    ("arena.0.oversize_threshold", "size"),
    ("arena.0.name", "u64"),
    ("arenas.create", "u64"),
    ("arenas.create", "none"),
    ("arenas.lookup", "u64"),
    ("stats.mutexes.reset", "none"),
    ("experimental.hooks.install", "u64"),
    ("experimental.hooks.remove", "u64"),
    ("experimental.hooks.prof_backtrace", "u64"),
    ("experimental.hooks.prof_dump", "u64"),
    ("experimental.hooks.prof_sample", "u64"),
    ("experimental.hooks.safety_check_abort", "u64"),
    ("experimental.hooks.thread_event", "u64"),
    ("experimental.prof_recent.alloc_max", "ssize"),
    ("experimental.prof_recent.alloc_dump", "u64"),
    ("experimental.utilization.query", "u64"),
    ("experimental.thread.activity_callback", "u64"),
    ("opt.prof", "bool"),
    ("version", "u64"),
    # Near misses of what is allowed.
    ("", "none"),
    ("prof", "bool"),
    ("prof.", "bool"),
    (" prof.active", "bool"),
    ("prof.active ", "bool"),
    ("prof.active.", "bool"),
    ("PROF.ACTIVE", "bool"),
    ("arenas.purge", "none"),
    ("arena.purge", "none"),
    ("arena..purge", "none"),
    ("arena.-1.purge", "none"),
    ("arena.+0.purge", "none"),
    ("arena.0x0.purge", "none"),
    ("arena. 0.purge", "none"),
    ("arena.0.purge.reset", "none"),
    ("arena.0.reset.purge", "none"),
    ("arena.0.0.purge", "none"),
    ("arena.reset.purge", "none"),
    ("arenax.0.purge", "none"),
    ("arena.0.dirty_decay_ms.x", "ssize"),
    ("arena.0..dirty_decay_ms", "ssize"),
]


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """One target for the long tables below: that it outlives them all is part of the test."""
    folder = tmp_path_factory.mktemp("sockets", numbered=True)
    folder.chmod(0o700)
    work = tmp_path_factory.mktemp("work")
    victim = Victim(sockets=folder, conf=EVERY_BLOCK, cwd=work)
    victim.ask("hold 10 1000")
    with victim.client() as client:
        yield victim, client, work
        assert client.hello().pid == victim.pid
    victim.stop()


@pytest.mark.parametrize("name, kind", NOT_ALLOWED_WRITES)
@pytest.mark.parametrize("flags", [WRITE, READ | WRITE])
def test_nothing_off_the_short_list_is_written(shared, name, kind, flags):
    victim, client, work = shared
    refused(
        lambda: client.ctl(name, kind, flags, 0x1000), wire.WIRE_STATUS_NOT_ALLOWED, wire.WIRE_STATUS_BAD_MESSAGE
    )
    assert os.listdir(work) == []
    assert client.read("prof.active", "bool") == 0


# Reading these with no place for an answer would run them; reading some of the rest creates something.
ACTING_READS = [
    "prof.dump",
    "prof.reset",
    "prof.log_start",
    "prof.log_stop",
    "arena.0.reset",
    "arena.0.destroy",
    "arena.0.purge",
    "thread.idle",
    "thread.tcache.flush",
    "thread.peak.reset",
    "stats.mutexes.reset",
    "arenas.create",
    "tcache.create",
]


@pytest.mark.parametrize("name", ACTING_READS)
@pytest.mark.parametrize("kind", ["none", "bool", "unsigned", "size", "u64", "string"])
@pytest.mark.parametrize("flags", [READ, 0])
def test_reading_changes_nothing(shared, name, kind, flags):
    victim, client, work = shared
    arenas = victim.ask("read 4 arenas.narenas")
    with pytest.raises(wire.Refused):
        client.ctl(name, kind, flags)
    assert victim.ask("read 4 arenas.narenas") == arenas
    assert os.listdir(work) == []


NOT_STRINGS = [
    "stats.allocated",
    "epoch",
    "config.prof",
    "opt.narenas",
    "opt.dirty_decay_ms",
    "arenas.page",
    "thread.allocated",
    "thread.allocatedp",
    "thread.deallocatedp",
    "arena.0.extent_hooks",
    "prof.interval",
    "prof.lg_sample",
    "stats.arenas.0.uptime",
    "stats.mutexes.ctl.num_ops",
    "experimental.arenas.0.pactivep",
    "experimental.hooks.prof_backtrace",
    "no.such.control",
]


@pytest.mark.parametrize("name", NOT_STRINGS)
def test_a_number_is_never_followed_as_a_string(shared, name):
    victim, client, _ = shared
    with pytest.raises(wire.Refused):
        client.read(name, "string")
    assert client.read("stats.allocated", "size") > 0


MALFORMED_CONTROLS = [
    ("type out of range", dict(kind=7)),
    ("type far out of range", dict(kind=2**32 - 1)),
    ("flags out of range", dict(flags=4 | READ)),
    ("no flags", dict(flags=0)),
    ("a name without its NUL", dict(name=b"a" * wire.WIRE_CONTROL_NAME_MAX)),
]


@pytest.mark.parametrize("what, change", MALFORMED_CONTROLS, ids=[what for what, _ in MALFORMED_CONTROLS])
def test_a_malformed_control_is_refused(shared, what, change):
    _, client, _ = shared
    request = dict(name="prof.active", kind="bool", flags=READ)
    request.update(change)
    refused(lambda: client.ctl(**request), wire.WIRE_STATUS_BAD_MESSAGE)
    assert client.read("prof.active", "bool") == 0


@pytest.mark.parametrize("value", [2, 255, 256, 2**32, 2**64 - 1])
def test_a_bool_that_is_neither_is_refused(shared, value):
    _, client, _ = shared
    refused(
        lambda: client.ctl("prof.active", "bool", WRITE, value),
        wire.WIRE_STATUS_BAD_MESSAGE,
        wire.WIRE_STATUS_CONTROL_FAILED,
    )
    assert client.read("prof.active", "bool") == 0


def test_zero_background_threads_is_never_asked_of_jemalloc(shared):
    victim, client, _ = shared
    with pytest.raises(wire.Refused):
        client.write("max_background_threads", "size", 0)
    assert int(victim.ask("read 8 max_background_threads")) > 0


@pytest.mark.parametrize("name, kind", [("prof.active", "u64"), ("epoch", "bool"), ("arena.0.dirty_decay_ms", "bool")])
def test_writing_with_the_wrong_width_fails(shared, name, kind):
    _, client, _ = shared
    with pytest.raises(wire.Refused):
        client.write(name, kind, 1)
    assert client.read("prof.active", "bool") == 0


def parse_dump(text):
    """(sampling rate, {thread or *: (objects, bytes)} totals, stacks, mapping lines) of a heap_v2 dump."""
    head, _, tail = text.partition("\nMAPPED_LIBRARIES:\n")
    lines = head.splitlines()
    rate = re.fullmatch(r"heap_v2/(\d+)", lines[0]).group(1)
    counts = re.compile(r"\s+t(\*|\d+): (\d+): (\d+) \[(\d+): (\d+)\].*")
    totals, stacks, current = {}, {}, None
    for line in lines[1:]:
        if line.startswith("@"):
            current = tuple(int(word, 16) for word in line.split()[1:])
            stacks[current] = {}
            continue
        if not line:
            continue
        found = counts.fullmatch(line)
        assert found, line
        (totals if current is None else stacks[current])[found[1]] = (int(found[2]), int(found[3]))
    return int(rate), totals, stacks, tail.splitlines()


def test_dump_is_a_heap_v2_profile(target, client):
    client.write("prof.active", "bool", 1)
    target.ask("hold 500 5120")
    rate, totals, stacks, mappings = parse_dump(client.dump().decode())
    assert rate == 1
    ours = [counts["*"] for counts in stacks.values() if counts["*"] == (1, 5120)]
    assert len(ours) == 500
    assert totals["*"][0] >= 500
    assert any("victim" in line for line in mappings)
    assert re.fullmatch(r"[0-9a-f]+-[0-9a-f]+ [r-][w-][x-][ps] .*", mappings[0])


def test_dump_equals_the_programs_own(target, client, tmp_path):
    client.write("prof.active", "bool", 1)
    target.ask("hold 300 4096")
    client.write("prof.active", "bool", 0)
    ours = parse_dump(client.dump().decode())
    target.ask(f"dump {tmp_path}/own")
    own = parse_dump((tmp_path / "own").read_text())
    assert ours[:3] == own[:3]


def test_output_leaves_no_descriptor_and_no_file(target, client):
    before = agent_descriptors(target.pid)
    for _ in range(20):
        client.dump()
        client.stats("J")
    assert agent_descriptors(target.pid) == before
    assert os.listdir(target.sockets) == [target.socket_of().name]


def test_dump_says_how_long_it_took(client):
    reply = client.output(wire.WireDumpRequest(), wire.WIRE_OP_DUMP)[1]
    assert 0 < reply.duration_ns < 60 * 10**9


@pytest.mark.parametrize("offset", [0, 10**6])
@pytest.mark.parametrize(
    "op, message, opening",
    [
        (wire.WIRE_OP_DUMP, wire.WireDumpRequest(), b"heap_v2/"),
        (wire.WIRE_OP_STATS, wire.WireStatsRequest(), b"___ Begin jemalloc"),
    ],
    ids=["dump", "stats"],
)
def test_output_replaces_what_the_memfd_held(client, op, message, opening, offset):
    descriptor = os.memfd_create("jescope-test", os.MFD_CLOEXEC)
    try:
        os.write(descriptor, b"x" * 10**6)
        os.lseek(descriptor, offset, os.SEEK_SET)
        reply = client.call(message, op, [descriptor])
        data = os.pread(descriptor, 10**7, 0)
        assert len(data) == reply.bytes
        assert data.startswith(opening) and b"xxxx" not in data
    finally:
        os.close(descriptor)


def masked(text):
    """Statistics text with what moves between two calls taken out: numbers, and the columns they push about."""
    return [re.sub(r"[\d.]+|-(?=\d)", "#", line).split() for line in text.splitlines()]


def statistics_of(victim, folder, letters):
    victim.ask(f"stats {folder}/own {letters}")
    return (folder / "own").read_bytes()


def test_stats_text_is_malloc_stats_prints(target, client, tmp_path):
    ours = client.stats("bl").decode()
    own = statistics_of(target, tmp_path, "bl").decode()
    assert ours.startswith("___ Begin jemalloc statistics ___\n")
    assert ours.endswith("--- End jemalloc statistics ---\n")
    assert masked(ours) == masked(own)


@pytest.mark.parametrize("letters", ["J", "Jmablxeh", "Ja", "Jg", "Jgmablxeh"])
def test_stats_json_is_malloc_stats_prints(target, client, tmp_path, letters):
    ours = json.loads(client.stats(letters))["jemalloc"]
    own = json.loads(statistics_of(target, tmp_path, letters))["jemalloc"]

    def shape(value):
        if isinstance(value, dict):
            return {key: shape(inner) for key, inner in value.items()}
        return [shape(inner) for inner in value] if isinstance(value, list) else type(value)

    assert shape(ours) == shape(own)
    for fixed in ("version", "config", "opt", "arenas"):
        assert ours.get(fixed) == own.get(fixed)


def test_stats_letters_need_their_nul(client):
    message = wire.WireStatsRequest()
    ctypes.memset(ctypes.addressof(message) + wire.WireStatsRequest.letters.offset, ord("J"), wire.WIRE_LETTERS_MAX)
    refused(lambda: client.output(message, wire.WIRE_OP_STATS), wire.WIRE_STATUS_BAD_MESSAGE)


@pytest.mark.parametrize("letters", ["Z", "%n%s%p", "JJJJJJJJJJ", "\x01\x7f"])
def test_stats_letters_nobody_knows_do_no_harm(client, letters):
    assert client.stats(letters)
    assert client.hello().version == 1


def test_the_connection_may_be_closed_right_after_asking(target):
    for _ in range(50):
        with target.client() as client:
            client.send(client.stamp(wire.WireHelloRequest(version_min=1, version_max=1), wire.WIRE_OP_HELLO))
    with target.client() as client:
        eventually(lambda: client.hello().agent_clients == 1, "the agent forgets clients that left")


def test_several_requests_are_answered_in_order(client):
    asked = []
    for name in ["arenas.page", "arenas.quantum", "arenas.narenas"] * 5:
        request = wire.WireCtlRequest(type=wire.WIRE_TYPE_SIZE, flags=READ, name=name.encode())
        client.send(client.stamp(request, wire.WIRE_OP_CTL))
        asked.append(client.sequence)
    assert [wire.head_of(client.receive(wire.WIRE_OP_CTL)).header.sequence for _ in asked] == asked


def test_the_socket_is_seqpacket_and_private(target, client):
    path = target.socket_of()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stream, pytest.raises(OSError):
        stream.connect(str(path))
    assert path.stat().st_mode & 0o077 == 0


# SAMPLE: the agent looks each control up once and goes by its place from then on


def sample(client, names, first, count):
    """[{name: value}] of one exchange; missing values are omitted."""
    request = wire.WireSampleRequest(first=first, count=count)
    text = b"".join(b"%d" % kind + name.encode() + b"\0" for kind, name in names) + b"\0"
    ctypes.memmove(ctypes.addressof(request) + wire.WireSampleRequest.names.offset, text, len(text))
    reply = client.call(request, wire.WIRE_OP_SAMPLE)
    rows, width = [], 1 + len(names)
    for row in range(reply.rows):
        words = reply.words[row * width : (row + 1) * width]
        rows.append({name: words[1 + i] for i, (_, name) in enumerate(names) if words[0] >> i & 1})
    return rows


def test_a_sample_says_what_reading_one_by_one_does(client):
    names = [(wire.WIRE_TYPE_SIZE, "arenas.bin.*.size"), (wire.WIRE_TYPE_UNSIGNED, "arenas.bin.*.nregs")]
    bins = client.read("arenas.nbins", "unsigned")
    for first in (3, 0, 3):
        for number, row in enumerate(sample(client, names, first, 5), first):
            assert row["arenas.bin.*.size"] == client.read(f"arenas.bin.{number}.size", "size")
            assert row["arenas.bin.*.nregs"] == client.read(f"arenas.bin.{number}.nregs", "unsigned")
    assert [len(row) for row in sample(client, names, bins - 1, 4)] == [2, *map(len, sample(client, names, bins, 3))]
    assert sample(client, names, bins + 1, 2) == [{}, {}]
    others = [(wire.WIRE_TYPE_SIZE, "arenas.lextent.*.size"), (wire.WIRE_TYPE_SIZE, "opt.lg_extent_max_active_fit")]
    for row in sample(client, others, 7, 2):
        assert row["opt.lg_extent_max_active_fit"] == client.read("opt.lg_extent_max_active_fit", "size")
    assert sample(client, names, 0, 1)[0]["arenas.bin.*.size"] == client.read("arenas.bin.0.size", "size")


def test_a_sample_that_begins_where_nothing_is(client):
    names = [(wire.WIRE_TYPE_SIZE, "arenas.bin.*.size")]
    assert sample(client, names, 1_000_000, 2) == [{}, {}]
    assert sample(client, names, 0, 1)[0] == {"arenas.bin.*.size": client.read("arenas.bin.0.size", "size")}
