# SPDX-License-Identifier: Apache-2.0
"""Without a token, a user gets through a loopback address what he could do himself, and no more."""

import contextlib
import ctypes
import http.client
import itertools
import json
import os
import pathlib
import re
import resource
import select
import signal
import socket
import stat
import struct
import subprocess

import pytest
from endpoint import Endpoint, is_active, serve
from guesses import GUESSES, refusals, serve_with_token, use_up
from neighbours import NOBODY, ask_as, hostile
from programs import profiled  # noqa: F401
from services import DEADLINE, JESCOPE, children, environment, free_port, service, started, wait_for

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="becoming another user needs root")

OTHER = 65533
ABRUPT = 200
ARRIVALS = 3000
HEADS = 16
PIECES_MS = 30000  # half of libmicrohttpd's timeout
PIECES = 8000  # of a head, less than it may have
FEW = 200  # descriptors
SLOW = 60  # packet sockets
SLOW_KEPT = 8  # connections that wait as long as the first one is closed
END_S = 3  # a third of what closing their packet sockets takes
LARGE = 60 << 20
UNREAD = 280 << 10
UNREAD_ASKED = 40
SHARE_OF_TARGET = 16
CROWD = 400
SEARCHED = 100  # processes of a user
GROUPED = 200  # the same
LOOKS_S = 0.45  # a quarter of a second, and what else an answer takes
SO_TIMESTAMPNS = 35  # of asm-generic/socket.h
TCP_ESTABLISHED, TCP_CLOSE_WAIT = "01", "08"  # of net/tcp_states.h
CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000


@pytest.fixture
def neighbours(folder, scratch, profiled):  # noqa: F811
    """Root's server for a target of root's and one of nobody's."""
    with hostile(folder, 1, "flip") as [stranger], serve(scratch, "--every=0", port=free_port()) as server:
        wait_for(lambda: {profiled.pid, stranger} <= set(seen_by(0, server)), "both targets are found")
        server.own, server.stranger = profiled.pid, stranger
        yield server


def seen_by(user, server, *options):
    return [row["pid"] for row in ask_as(user, server, "GET", "/api/v1/targets", *options).json()["targets"]]


def test_each_user_sees_his_own(neighbours):
    """Programs of other tests, which may be anyone's, are there as well."""
    theirs = seen_by(NOBODY, neighbours)
    assert neighbours.stranger in theirs and neighbours.own not in theirs
    assert not {neighbours.own, neighbours.stranger} & set(seen_by(OTHER, neighbours))
    assert {neighbours.own, neighbours.stranger} <= set(seen_by(0, neighbours))


@pytest.mark.parametrize("path", ["/api/v1/targets/{}", "/api/v1/targets/{}/statistics", "/api/v1/targets/{}/dumps/now",
                                  "/api/v1/targets/{}/growth", "/targets/{}/mtev/heap_profile", "/metrics?target={}", "/api/v1/targets/{}/series?metric=allocated"])
def test_others_are_not_there_to_read(neighbours, path):
    path = path.format(neighbours.own)
    assert neighbours.get(path).status in (200, 404, 409)  # root's own answer may be kept for the next who asks
    refused = ask_as(NOBODY, neighbours, "GET", path)
    assert refused.status == 404 and f"no target '{neighbours.own}'" in refused.text


def test_pages_of_others_are_not_there(neighbours):
    """Nor are those whose page tree the server has kept for another."""
    taken = neighbours.post(f"/api/v1/targets/{neighbours.own}/dumps")
    assert taken.status == 201, taken.text
    path = f"/api/v1/targets/{neighbours.own}/dumps/{taken.json()['id']}?format=page"
    assert neighbours.get(path).json()["format"] == "jescope-page"
    for part in ("", "&part=graph&width=50", "&part=table"):
        refused = ask_as(NOBODY, neighbours, "GET", path + part)
        assert refused.status == 404 and f"no target '{neighbours.own}'" in refused.text


def test_dumps_of_another_user_are_no_base(folder, scratch):
    """A dump is compared with those of all targets of its user (that these are no dumps is said later), and with no others."""
    with hostile(folder, 2, "small") as [one, other], hostile(folder, 1, "small", user=0) as [own], \
            serve(scratch, "--every=0", port=free_port()) as server:
        wait_for(lambda: {one, other, own} <= set(seen_by(0, server)), "they are found")
        ids = {pid: server.post(f"/api/v1/targets/{pid}/dumps").json()["id"] for pid in (one, other, own)}

        def compared(user, pid, base, form):
            return ask_as(user, server, "GET", f"/api/v1/targets/{pid}/dumps/{ids[pid]}?format={form}&base={ids[base]}")
        for form in ("page", "json"):
            for user in (NOBODY, 0):
                assert compared(user, one, other, form).status != 404
                refused = compared(user, one, own, form)
                assert refused.status == 404 and f"no such dump: {ids[own]}" in refused.text
            assert compared(0, own, one, form).status == 404
        assert ask_as(NOBODY, server, "GET", f"/api/v1/targets/{one}/dumps/{ids[other]}?format=json").status == 404, "it is a base alone"


def test_dumps_of_a_process_that_takes_on_a_user_are_no_base_of_his(folder, scratch):
    with hostile(folder, 1, "small", user=0, disguise=[NOBODY]) as [disguised], hostile(folder, 2, "small") as pids, \
            serve(scratch, "--every=0", port=free_port()) as server:
        wait_for(lambda: {disguised, *pids} <= set(seen_by(0, server)), "they are found")
        ids = {pid: server.post(f"/api/v1/targets/{pid}/dumps").json()["id"] for pid in (disguised, *pids)}
        for form in ("page", "json"):
            path = f"/api/v1/targets/{pids[0]}/dumps/{ids[pids[0]]}?format={form}&base="
            assert ask_as(NOBODY, server, "GET", f"{path}{ids[pids[1]]}").status != 404
            refused = ask_as(NOBODY, server, "GET", f"{path}{ids[disguised]}")
            assert refused.status == 404 and f"no such dump: {ids[disguised]}" in refused.text


def test_samples_of_a_process_that_takes_on_a_user_are_not_his(folder, scratch):
    """His next process of the same name does not continue them."""
    later = folder / "later"
    later.mkdir()
    with serve(scratch, "--every=0", port=free_port()) as server:
        def series(pid):
            rows = server.get("/api/v1/targets").json()["targets"]
            return next((row["series"] for row in rows if row["pid"] == pid), None)
        with hostile(folder, 1, "small", user=0, disguise=[NOBODY]) as [disguised]:
            wait_for(lambda: series(disguised), "it is found")
            theirs = series(disguised)
        wait_for(lambda: not series(disguised), "it has ended")
        with hostile(later, 1, "small") as [own]:
            wait_for(lambda: series(own), "his is found")
            assert series(own) != theirs


@pytest.mark.parametrize("path", ["/api/v1/targets/{}/purge", "/api/v1/targets/{}/recordings?for=1s", "/api/v1/targets/{}/dumps"])
def test_others_are_not_there_to_change(neighbours, scratch, path):
    refused = ask_as(NOBODY, neighbours, "POST", path.format(neighbours.own))
    assert refused.status == 404 and not is_active(scratch, neighbours.own)
    assert f"127.0.0.1 uid {NOBODY}: POST" in neighbours.log.read_text()


def test_metrics_are_of_the_own_targets(neighbours):
    text = ask_as(NOBODY, neighbours, "GET", "/metrics").text
    found = set(re.findall(r'target="(\d+)"', text))
    assert str(neighbours.stranger) in found and str(neighbours.own) not in found
    assert "jescope_http_connections" not in text and "jescope_http_connections" in neighbours.get("/metrics").text


def test_events_are_of_the_own_targets(neighbours):
    neighbours.post(f"/api/v1/targets/{neighbours.own}/purge")
    heard = subprocess.run(neighbours.command("GET", "/api/v1/events", "--header", "Last-Event-ID: 0", "--max-time", "2"), text=True,
                           capture_output=True, user=NOBODY, group=NOBODY, extra_groups=[], cwd="/").stdout
    told = [json.loads(line[6:]) for line in heard.splitlines() if line.startswith("data: ")]
    found = {event["target"] for event in told}
    assert str(neighbours.stranger) in found and str(neighbours.own) not in found


def test_process_that_takes_on_a_user_is_not_his(folder, scratch):
    """Root's file server, while it acts for nobody: nobody could not reach its agent himself."""
    with hostile(folder, 1, "flip", user=0, disguise=[NOBODY]) as [disguised], serve(scratch, "--every=0", port=free_port()) as server:
        wait_for(lambda: disguised in seen_by(0, server), "it is found")
        assert disguised not in seen_by(NOBODY, server)
        assert ask_as(NOBODY, server, "POST", f"/api/v1/targets/{disguised}/purge").status == 404


def gone(server):
    return {row["pid"] for row in server.get("/api/v1/targets?state=gone").json()["targets"]}


def dump_and_end(folder, server, count, user):
    with hostile(folder, count, "small", user=user) as pids:
        wait_for(lambda: set(pids) <= set(seen_by(0, server)), "they are found")
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", int(server.base.rpartition(":")[2]), timeout=DEADLINE)) as client:
            for pid in pids:
                client.request("POST", f"/api/v1/targets/{pid}/dumps")
                answer = client.getresponse()
                assert answer.status == 201, answer.read()
                answer.read()
    wait_for(lambda: not set(pids) & set(seen_by(0, server)), "they have ended")
    return pids


def test_targets_that_have_ended_are_kept_of_each_user(folder, scratch):
    """32 are, and one user's many do not take another's place."""
    with serve(scratch, "--every=0", port=free_port()) as server:
        [own] = dump_and_end(folder, server, 1, 0)
        others = dump_and_end(folder, server, 34, NOBODY)
        assert own in gone(server) and len(gone(server) & {own, *others}) == 32


def request_and_leave(port, request):
    """Closes the socket at once: the kernel then shows it as one of root's."""
    with socket.create_connection(("127.0.0.1", port), timeout=DEADLINE) as connection:
        connection.sendall(request)


def test_client_that_leaves_is_not_taken_for_root(neighbours, scratch):
    port = int(neighbours.base.rpartition(":")[2])
    request = f"POST /api/v1/targets/{neighbours.own}/recordings?for=60s HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
            for _ in range(ABRUPT):
                request_and_leave(port, request)
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert neighbours.get("/healthz").status == 200
    assert not is_active(scratch, neighbours.own)
    assert not re.search(r"audit: 127\.0\.0\.1: POST .*: 20", neighbours.log.read_text())


def test_token_is_for_all(folder, scratch, profiled, read_token):  # noqa: F811
    with serve(scratch, "--every=0", *read_token.options, profiled.pid, port=free_port()) as server:
        assert seen_by(NOBODY, server) == []
        assert seen_by(NOBODY, server, *read_token.headers) == [profiled.pid]


def test_trusting_all_users(scratch, profiled):  # noqa: F811
    with serve(scratch, "--trust-local", profiled.pid, port=free_port()) as server:
        assert seen_by(NOBODY, server) == [profiled.pid]


def test_ipv6(scratch, profiled):  # noqa: F811
    with serve(scratch, "--listen", "[::1]:0", profiled.pid) as server:
        port = wait_for(lambda: re.search(r"\[::1\]:(\d+)", server.log.read_text()), "it says where it serves").group(1)
        server.base, server.curl = f"http://[::1]:{port}", []
        assert seen_by(0, server) == [profiled.pid] and seen_by(NOBODY, server) == []


def connect_as(user, port, count):
    """Idle connections of this process, whose sockets another user has made."""
    os.seteuid(user)
    try:
        return [socket.create_connection(("127.0.0.1", port), timeout=DEADLINE) for _ in range(count)]
    finally:
        os.seteuid(0)


def test_idle_connections_of_many_users_make_room(scratch, profiled):  # noqa: F811
    """Of the user who has most; root, who connects last, does not need it."""
    with serve(scratch, "--max-connections=8", "--max-connections-per-peer=6", profiled.pid, port=free_port()) as server, \
            contextlib.ExitStack() as stack:
        port = int(server.base.rpartition(":")[2])
        for user, count in ((OTHER - 1, 5), (OTHER - 2, 3)):
            for connection in connect_as(user, port, count):
                stack.enter_context(connection)
        for _ in range(3):
            assert ask_as(NOBODY, server, "GET", "/healthz").status == 200
            assert server.get("/healthz").status == 200
        own = connect_as(OTHER, port, 2)
        for connection in own:
            stack.enter_context(connection)
        for connection in own:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert answered(connection)


@pytest.mark.parametrize("path", ["statistics?format=json", "events"], ids=["awaited", "being-sent"])
def test_answers_make_room(scratch, profiled, path):  # noqa: F811
    """Of the user who has most of them, if no connection is idle: a target that does not answer, or a client that does not read, lets them last."""
    port = free_port()
    path = path if path == "events" else f"targets/{profiled.pid}/{path}"
    with serve(scratch, "--max-connections=8", "--max-connections-per-peer=6", "--trust-local", "--every=0", profiled.pid, port=port) as server, \
            contextlib.ExitStack() as stack:
        wait_until_none_counts(port)
        stack.enter_context(stopped(profiled.pid))
        held = [stack.enter_context(asking(port, f"/api/v1/{path}", OTHER - 1 - n // 5)) for n in range(8)]
        wait_for(lambda: unread(port) == 0, "the requests are read")
        if path == "events":
            assert all(answered(connection) for connection in held)
        for _ in range(3):
            assert ask_as(NOBODY, server, "GET", "/healthz").status == 200
        assert server.process.poll() is None


@pytest.mark.parametrize("guess", GUESSES)
def test_refusals_that_are_held_back_make_room(scratch, guess):
    """However the tokens were guessed."""
    port = free_port()
    with serve_with_token(scratch, "--max-connections=8", "--max-connections-per-peer=6", port=port) as server, contextlib.ExitStack() as stack:
        for user, count in ((OTHER - 1, 5), (OTHER - 2, 3)):
            connections = [stack.enter_context(connection) for connection in connect_as(user, port, count)]
            use_up(connections[0], guess)
            for connection in connections:
                connection.sendall(guess * 4)
            wait_for(lambda: refusals(server, f"127.0.0.1 uid {user}") >= 5 + count, "these are held back")
        for _ in range(3):
            assert ask_as(NOBODY, server, "GET", "/api/v1/targets").status == 200


def test_answers_to_strangers_that_are_not_read_make_room(scratch):
    """The page and its parts need no token; what fills the buffers of a connection would keep it until its deadline."""
    port = free_port()
    with serve_with_token(scratch, "--max-connections=8", "--max-connections-per-peer=6", port=port) as server, contextlib.ExitStack() as stack:
        script = re.search(r'src="(/assets/[^"]*\.js)"', server.get("/", "--header", "Accept: text/html").text).group(1)
        for user, count in ((OTHER - 1, 5), (OTHER - 2, 3)):
            for connection in connect_as(user, port, count):
                stack.enter_context(connection)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                connection.sendall(f"GET {script} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode() * 20)
                assert connection.recv(64, socket.MSG_PEEK).startswith(b"HTTP/1.1 200")
        for _ in range(3):
            assert ask_as(NOBODY, server, "GET", "/api/v1/targets").status == 200


def test_connections_leave_descriptors(scratch, profiled):  # noqa: F811
    """Where the server may have few, idle connections of a user do not take them all."""
    def few():
        resource.setrlimit(resource.RLIMIT_NOFILE, (FEW, FEW))
    port = free_port()
    command = [JESCOPE, "serve", "--blackbox=off", "--every=0", "--listen", f"127.0.0.1:{port}", profiled.pid]
    with started(command, env=environment(scratch), preexec_fn=few, stderr=subprocess.PIPE) as process, contextlib.ExitStack() as stack:
        while "serving on" not in process.stderr.readline():
            pass
        for connection in connect_as(OTHER, port, FEW):
            stack.enter_context(connection)
        for _ in range(3):
            with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE)) as client:
                client.request("GET", f"/api/v1/targets/{profiled.pid}/statistics")
                assert client.getresponse().status == 200


@contextlib.contextmanager
def serve_all_users(path, scratch, *words):
    """On a unix socket that all may use."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        path.chmod(0o666)
        listener.listen(ARRIVALS)
        command = ["/bin/sh", "-c", 'export LISTEN_PID=$$; exec "$@"', "sh", JESCOPE, "serve", "--blackbox=off", "--every=0", *words]
        with started(command, env=environment(scratch, LISTEN_FDS="1"), preexec_fn=lambda: os.dup2(listener.fileno(), 3), close_fds=False) as process:
            server = Endpoint(process, "http://localhost", ["--unix-socket", str(path)])
            assert server.get("/healthz").status == 200
            yield server


def ask_unread(user, path, request):
    """A connection of USER that gets its answer or is refused, of which no more is read than its beginning."""
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(DEADLINE)
    os.seteuid(user)
    try:
        connection.connect(str(path))
        connection.sendall(request)
        connection.recv(1)
    except (BrokenPipeError, ConnectionResetError):
        pass
    finally:
        os.seteuid(0)
    return connection


def is_admitted(user, server):
    return subprocess.run(server.command("GET", "/healthz", "--fail"), capture_output=True, timeout=DEADLINE + 10, user=user, group=user,
                          extra_groups=[], cwd="/").returncode == 0


def relays(server):
    tasks = pathlib.Path(f"/proc/{server.process.pid}/task").glob("*/comm")
    return sum(task.read_text() == "relay\n" for task in tasks)


def test_unread_answers_count_as_connections(folder, scratch, profiled):  # noqa: F811
    """Of a unix socket, where they are unread when the connection has ended. They make room for others."""
    path = folder / "socket"
    with serve_all_users(path, scratch, "--max-connections-per-peer=4", "--max-connections=4", profiled.pid) as server, contextlib.ExitStack() as stack:
        script = re.search(r'src="(/assets/page-[^"]*)"', server.get("/", "--header", "Accept: text/html").text)[1]
        get = f"GET {script} HTTP/1.1\r\nHost: localhost\r\n"
        # More than the client's socket takes, and less than that and our side of the relay take.
        count = UNREAD // len(server.get(script).body)
        request = (f"{get}\r\n" * count + f"{get}Connection: close\r\n\r\n").encode()
        for _ in range(UNREAD_ASKED):
            stack.enter_context(ask_unread(OTHER, path, request))
        # Those of refused connections may be about to end.
        assert relays(server) < UNREAD_ASKED // 2
        # As soon as the connections have ended.
        wait_for(lambda: is_admitted(NOBODY, server), "another user is answered")
        assert server.get("/healthz").status == 200


def connections_refused(server):
    return int(re.search(r"^jescope_http_connections_refused_total (\d+)", server.get("/metrics").text, re.MULTILINE)[1])


def connect_unix(user, path):
    connection = socket.socket(socket.AF_UNIX)
    os.seteuid(user)
    try:
        connection.connect(str(path))  # waits while the queue is full, as it would not with a timeout
    finally:
        os.seteuid(0)
    connection.settimeout(DEADLINE)
    return connection


def queue_up(user, path, sent):
    """Connections of USER that have ended when the server sees them. A third has sent nothing, another one the descriptor SENT. Their number."""
    for number in range(ARRIVALS):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.setblocking(False)
            os.seteuid(user)
            try:
                connection.connect(str(path))
            except BlockingIOError:
                return number
            finally:
                os.seteuid(0)
            if number % 3 == 1:
                connection.send(b"x")
            elif number % 3 == 2:
                socket.send_fds(connection, [b"x"], [sent.fileno()])
    return ARRIVALS


def test_a_user_has_a_share_of_the_connections_that_begin_at_a_unix_socket(folder, scratch):
    """Root has none."""
    path = folder / "socket"
    with serve_all_users(path, scratch, f"--max-connections-per-peer={ARRIVALS}", f"--max-connections={ARRIVALS}") as server, \
            contextlib.ExitStack() as stack:
        kept, sent = (stack.enter_context(end) for end in socket.socketpair())
        with stopped(server.process.pid):
            queued = queue_up(OTHER, path, sent)
        if queued < ARRIVALS:
            pytest.skip(f"the system's queue of a socket has {queued} places")
        wait_for(lambda: connections_refused(server) > 0, "some were refused", PIECES_MS / 1000)
        assert is_admitted(NOBODY, server)
        for _ in range(FEW):
            with connect_unix(0, path) as connection:
                connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                assert answered(connection)


def is_closing(server):
    for task in pathlib.Path(f"/proc/{server.process.pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError):  # it has ended
            if (task / "comm").read_text() == "closing\n" and (task / "children").read_text():
                return True
    return False


def send_slow(path, count, server):
    """COUNT connections of OTHER, each with descriptors that the kernel closes slowly. FALSE: he has no user namespaces.

    SERVER is stopped meanwhile, so that the references it has to them are the last ones."""
    with stopped(server.process.pid):
        sender = os.fork()
        if sender == 0:
            send_slow_as_other(path, count)
        return os.waitstatus_to_exitcode(os.waitpid(sender, 0)[1]) == 0


def send_slow_as_other(path, count):
    """The same, in a process of its own, which ends."""
    status = 1
    try:
        os.setgroups([])
        os.setresgid(OTHER, OTHER, OTHER)
        os.setresuid(OTHER, OTHER, OTHER)
        if ctypes.CDLL(None).unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0:
            for _ in range(count):
                with socket.socket(socket.AF_UNIX) as connection, contextlib.ExitStack() as stack:
                    connection.connect(str(path))
                    packets = [stack.enter_context(socket.socket(socket.AF_PACKET, socket.SOCK_RAW)) for _ in range(SLOW)]
                    socket.send_fds(connection, [b"x"], [packet.fileno() for packet in packets])
            status = 0
    finally:
        os._exit(status)


def test_descriptors_that_are_slow_to_close_do_not_delay_the_end(folder, scratch):
    """Nor the answers to others."""
    path = folder / "socket"
    with serve_all_users(path, scratch) as server:
        if not send_slow(path, 1, server):
            pytest.skip("users have no user namespaces here")
        wait_for(lambda: is_closing(server), "a child closes the first ones")
        assert send_slow(path, SLOW_KEPT, server)
        assert is_admitted(NOBODY, server)
        server.process.terminate()
        server.process.wait(END_S)


def test_a_user_has_a_share_of_heads_in_pieces_at_a_unix_socket(folder, scratch):
    path = folder / "socket"
    with serve_all_users(path, scratch, "--timeout=1h") as server, contextlib.ExitStack() as stack:
        connections = [stack.enter_context(connect_unix(OTHER, path)) for _ in range(HEADS)]
        end = select.poll()
        for connection in connections:
            end.register(connection, select.POLLRDHUP)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            for byte in itertools.chain(b"GET / HTTP/1.1\r\nX: ", itertools.repeat(ord("x"), PIECES)):
                for connection in connections:
                    connection.sendall(bytes([byte]))
        assert end.poll(PIECES_MS), "one is ended"
        assert is_admitted(NOBODY, server)


def test_what_a_client_has_not_received_counts_as_a_connection(scratch, profiled):  # noqa: F811
    """The kernel would keep it without an end when the connection has ended."""
    with serve(scratch, "--max-connections-per-peer=4", profiled.pid, port=free_port()) as server, contextlib.ExitStack() as stack:
        port = int(server.base.rpartition(":")[2])
        script = re.search(r'src="(/assets/page-[^"]*)"', server.get("/", "--header", "Accept: text/html").text)[1]
        request = f"GET {script} HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n".encode()
        wait_until_none_counts(port)
        for _ in range(4):
            connection = stack.enter_context(socket.socket())
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            connection.settimeout(DEADLINE)
            connection.connect(("127.0.0.1", port))
            connection.sendall(request)
            assert connection.recv(12) == b"HTTP/1.1 200"
        # Those of this user, who has nothing left, and of another one.
        with socket.create_connection(("127.0.0.1", port), timeout=DEADLINE) as more:
            more.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert not answered(more)
        assert ask_as(NOBODY, server, "GET", "/healthz").status == 200
        # These ends reset the connections. What the kernel counts as unsent after that must not count for 10 s.
        stack.close()
        wait_for(lambda: is_admitted(0, server), "there is room again", 8)


def test_one_user_has_a_share_of_the_connections(scratch, profiled):  # noqa: F811
    """From whatever loopback address they come."""
    with serve(scratch, "--max-connections-per-peer=4", profiled.pid, port=free_port()) as server, contextlib.ExitStack() as stack:
        port = int(server.base.rpartition(":")[2])
        held = []
        wait_until_none_counts(port)
        for number in range(12):
            connection = stack.enter_context(socket.socket())
            connection.bind((f"127.0.0.{1 + number % 6}", 0))
            connection.settimeout(DEADLINE)
            connection.connect(("127.0.0.1", port))
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            held.append(connection)
        assert sum(answered(connection) for connection in held) == 4
        assert ask_as(NOBODY, server, "GET", "/healthz").status == 200


def subordinate(scratch, *words):
    """`jescope serve WORDS` on a machine where ids from 100000 are subordinate to nobody."""
    (scratch / "subuid").write_text("nobody:100000:65536\n")
    (scratch / "serve.log").touch()
    script = f'mount --bind {scratch}/subuid /etc/subuid && exec "$@" >{scratch}/serve.log 2>&1'
    return started(["/usr/bin/unshare", "--mount", "--propagation=private", "/bin/sh", "-c", script, "sh", JESCOPE, "serve", "--blackbox=off",
                    "--every=0", *words], env=environment(scratch))


@pytest.mark.skipif(not os.path.exists("/etc/subuid"), reason="this machine has no subordinate ids")
def test_subordinate_ids_count_as_their_users(folder, scratch):
    """For the limits, and not for what they see."""
    port = free_port()
    with hostile(folder, 1, "flip") as [stranger], subordinate(scratch, f"--listen=127.0.0.1:{port}", "--max-connections-per-peer=4") as process, \
            contextlib.ExitStack() as stack:
        wait_for(lambda: "serving on" in (scratch / "serve.log").read_text(), "it serves")

        server = Endpoint(process, f"http://127.0.0.1:{port}", [])
        wait_for(lambda: stranger in seen_by(NOBODY, server), "the target is found")
        assert stranger not in seen_by(100001, server)
        assert ask_as(100001, server, "POST", f"/api/v1/targets/{stranger}/purge").status == 404
        assert f"127.0.0.1 uid {NOBODY} (subordinate uid 100001): POST" in (scratch / "serve.log").read_text()
        wait_until_none_counts(port)
        held = [stack.enter_context(asking(port, "/healthz", 100000 + n)) for n in range(12)]
        assert sum(answered(connection) for connection in held) == 4
        with contextlib.closing(asking(port, "/healthz", OTHER)) as other:
            assert answered(other)


def ask_for_stream(user, port):
    """A connection of USER's that has asked for events."""
    os.seteuid(user)
    try:
        connection = socket.create_connection(("127.0.0.1", port), DEADLINE)
    finally:
        os.seteuid(0)
    connection.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
    return connection


def test_one_user_has_a_share_of_the_streams(scratch, profiled):  # noqa: F811
    """64 of 256; beyond, a stream is refused, which neither ends the others nor costs another user."""
    with serve(scratch, "--every=0", profiled.pid, port=free_port()) as server, contextlib.ExitStack() as stack:
        port = int(server.base.rpartition(":")[2])
        for user in range(OTHER, OTHER - 4, -1):
            held = [stack.enter_context(ask_for_stream(user, port)) for _ in range(65)]
            firsts = [connection.recv(4096) for connection in held]
            assert sum(first.startswith(b"HTTP/1.1 200") for first in firsts) == 64
            refused, = (first for first in firsts if not first.startswith(b"HTTP/1.1 200"))
            assert refused.startswith(b"HTTP/1.1 503") and b"this peer has 64 event streams open already" in refused
        with ask_for_stream(OTHER - 4, port) as late, ask_for_stream(OTHER - 4, port) as more, ask_for_stream(0, port) as own:
            assert late.recv(4096).startswith(b"HTTP/1.1 200"), "a user with none has room beside those who have most"
            answer = more.recv(4096)
            assert answer.startswith(b"HTTP/1.1 503") and b"256 event streams are open already" in answer
            assert own.recv(4096).startswith(b"HTTP/1.1 200"), "root has room beside them"
        assert ask_as(NOBODY, server, "GET", "/healthz").status == 200


def begin_upload(user, port, size, sent):
    """A connection of USER's that has sent the first SENT of SIZE bytes of a file."""
    [connection] = connect_as(user, port, 1)
    connection.sendall(b"POST /api/v1/files HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % size + bytes(sent))
    return connection


def upload(user, port, size=5):
    with begin_upload(user, port, size, size) as connection:
        return status_of(connection)


def test_users_who_send_files_leave_places_for_others(scratch, profiled):  # noqa: F811
    with serve(scratch, "--every=0", profiled.pid, port=free_port()) as server, contextlib.ExitStack() as stack:
        port = int(server.base.rpartition(":")[2])
        for user in (OTHER, OTHER, OTHER - 1, OTHER - 1, OTHER - 2):
            stack.enter_context(begin_upload(user, port, 5, 4))
        wait_for(lambda: upload(OTHER - 2, port) == 429, "two users have all common places, a third one has one beside them")
        assert upload(OTHER - 3, port) == 201


def test_users_who_send_files_leave_memory_for_others(scratch, profiled):  # noqa: F811
    """Six large ones, which would together take all of it: not all are received, and a small one is."""
    with serve(scratch, "--every=0", profiled.pid, port=free_port()) as server, contextlib.ExitStack() as stack:
        port = int(server.base.rpartition(":")[2])
        files = [stack.enter_context(begin_upload(OTHER - n, port, LARGE, LARGE - 1)) for n in range(6)]
        assert upload(OTHER - 6, port) == 201
        for connection in files:
            connection.sendall(b"x")
        statuses = {status_of(connection) for connection in files}
        assert statuses == {201, 429}
        assert upload(OTHER, port) == 201


def test_one_user_has_a_share_of_the_waits(folder, scratch, profiled):  # noqa: F811
    """Two requests that take as long as they say; another user's are done meanwhile, and dumps have threads of their own."""
    secret = "a-token-that-may-control"
    tokens = folder / "tokens"
    tokens.write_text(f"control {secret} operator\n")
    tokens.chmod(0o600)
    token = ("--header", f"Authorization: Bearer {secret}")
    path = f"/targets/{profiled.pid}/debug/pprof/heap?seconds="
    with serve(scratch, "--every=0", f"--token-file={tokens}", profiled.pid, port=free_port()) as server:
        held = [subprocess.Popen(server.command("GET", f"{path}300", *token), stdout=subprocess.DEVNULL) for _ in range(2)]
        try:
            wait_for(lambda: "\njescope_http_requests_waiting 3\n" in server.get("/metrics", *token).text, "two are under way")
            assert server.get(f"{path}1", *token).status == 429
            assert ask_as(NOBODY, server, "GET", f"{path}1", *token).status == 200
            for _ in range(8):
                assert server.get(f"/targets/{profiled.pid}/mtev/heap_profile", *token).status == 200
        finally:
            for process in held:
                process.kill()
                process.wait()


def answered(connection):
    try:
        return connection.recv(64).startswith(b"HTTP/1.1 200")
    except ConnectionResetError:
        return False


@contextlib.contextmanager
def stopped(pid):
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def asking(port, path, user=0):
    """A connection of USER, who has asked for PATH."""
    os.seteuid(user)
    try:
        connection = socket.create_connection(("127.0.0.1", port), timeout=DEADLINE)
    finally:
        os.seteuid(0)
    connection.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    return connection


def connections_to(port):
    """The rows of the kernel's table, split."""
    rows = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return [row for row in rows if row[1].endswith(f":{port:04X}")]


def unread(port):
    """Bytes that the server has yet to read of its connections."""
    return sum(int(row[4].partition(":")[2], 16) for row in connections_to(port))


def wait_until_none_counts(port):
    """Until the server has closed the connections that its clients have."""
    wait_for(lambda: not any(row[3] in (TCP_ESTABLISHED, TCP_CLOSE_WAIT) for row in connections_to(port)), "the server closes them")


def arrival(connection):
    """The time at which the kernel received the first byte of an answer with status 200: that the test itself is late does not matter."""
    data, control, _, _ = connection.recvmsg(1, socket.CMSG_SPACE(16))
    (level, kind, stamp), = control
    assert (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPNS)
    assert (data + connection.recv(64)).startswith(b"HTTP/1.1 200")
    return struct.unpack("qq", stamp)


def readable(connections):
    return select.select(connections, [], [], 0)[0]


def status_of(connection):
    return int(connection.makefile("rb").readline().split()[1])


def test_one_user_has_a_share_of_what_waits_for_a_target(scratch, profiled):  # noqa: F811
    port = free_port()
    paths = [f"/api/v1/targets/{profiled.pid}/statistics?format=text&options={letters}"
             for n in range(3) for letters in map("".join, itertools.combinations("abdegh", n))]
    with serve(scratch, profiled.pid, "--trust-local", "--every=0", port=port), contextlib.ExitStack() as stack:
        with stopped(profiled.pid):
            mine = [stack.enter_context(asking(port, path)) for path in paths]
            wait_for(lambda: len(readable(mine)) == len(paths) - SHARE_OF_TARGET, "what is above the share is refused")
            refused = readable(mine)
            other = stack.enter_context(asking(port, paths[-1], NOBODY))
        assert {status_of(connection) for connection in refused} == {429}
        assert {status_of(connection) for connection in (other, *mine) if connection not in refused} == {200}


def test_one_user_has_a_share_of_the_threads_that_write_metrics(scratch, profiled):  # noqa: F811
    """Who comes last is not answered last. The server has read all requests before it can write the first answer."""
    port = free_port()
    with serve(scratch, profiled.pid, "--trust-local", "--every=0", port=port) as server, contextlib.ExitStack() as stack:
        with stopped(profiled.pid):
            with stopped(server.process.pid):
                crowd = [stack.enter_context(asking(port, "/metrics")) for _ in range(CROWD)]
                other = stack.enter_context(asking(port, "/metrics", NOBODY))
            wait_for(lambda: unread(port) == 0, "all requests are read")
        arrived = arrival(other)
        assert sum(arrival(connection) < arrived for connection in crowd) < CROWD / 2


def test_a_search_for_a_target_is_charged(folder, scratch):
    """To say that there is no such target, all of a user's processes are looked at: it counts against his allowance, as does what he sent
    before it was known."""
    port = free_port()
    with hostile(folder, SEARCHED, "flip") as pids, serve(scratch, *pids, "--every=0", port=port) as server, contextlib.ExitStack() as stack:
        with stopped(server.process.pid):
            asked = [stack.enter_context(asking(port, f"/api/v1/targets/none-{i}/statistics", NOBODY)) for i in range(CROWD)]
        statuses = {connection.recv(64).split()[1] for connection in asked}
        # How many are searched for depends on the time that it takes; all were.
        assert b"429" in statuses and statuses <= {b"404", b"429"}, statuses
        assert server.get("/healthz").status == 200


def processor_time(pid):
    """That of the first thread of a process, in seconds."""
    ticks = pathlib.Path(f"/proc/{pid}/task/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


def test_processes_with_many_groups_do_not_hold_up_the_server(folder, scratch):
    """As root of a user namespace has them. To look at one takes the kernel milliseconds, almost a second for all of these."""
    with hostile(folder, GROUPED, "flip", groups=range(1 << 16)) as pids, serve(scratch, *pids, "--every=0", port=free_port()) as server:
        for path in ("/api/v1/targets", "/metrics", "/targets/none/mtev/memory.json"):
            wait_for(lambda: ask_as(NOBODY, server, "GET", "/healthz").status == 200, "he may ask again")
            begun = processor_time(server.process.pid)
            assert ask_as(NOBODY, server, "GET", path).status in (200, 404)
            assert processor_time(server.process.pid) - begun < LOOKS_S, path


def test_root_serves_root_alone_unless_told_otherwise(scratch):
    """On a unix socket in /run/jescope."""
    script = 'mount -t tmpfs none /run && exec "$@"'
    with open(scratch / "default.log", "w") as log, \
         started(["/usr/bin/unshare", "--mount", "--propagation=private", "/bin/sh", "-c", script, "sh", JESCOPE, "serve", "--blackbox=off", "--every=0"],
                 env=environment(scratch), stdout=log, stderr=log) as process:
        wait_for(lambda: "serving on unix:/run/jescope/serve.sock" in (scratch / "default.log").read_text(), "it serves")
        facts = os.stat(f"/proc/{process.pid}/root/run/jescope/serve.sock")
        assert stat.S_ISSOCK(facts.st_mode) and stat.S_IMODE(facts.st_mode) == 0o600 and facts.st_uid == 0


def test_own_user_needs_no_token(folder, scratch):
    """A server that is not root's: for its own user and root."""
    home = folder / "home"
    home.mkdir()
    os.chown(home, NOBODY, NOBODY)
    port = free_port()
    with open(folder / "own.log", "w") as log, \
         started([JESCOPE, "serve", "--blackbox=off", "--listen", f"127.0.0.1:{port}", "--every=0"], env=environment(home), stdout=log, stderr=log,
                 user=NOBODY, group=NOBODY, extra_groups=[], cwd="/"):
        wait_for(lambda: "serving on" in (folder / "own.log").read_text(), "it serves")
        for user, whole in ((NOBODY, True), (0, True), (OTHER, False)):
            done = subprocess.run(["curl", "-s", f"http://127.0.0.1:{port}/metrics"], capture_output=True, text=True, user=user, group=user,
                                  extra_groups=[], cwd="/", timeout=DEADLINE)
            assert ("jescope_http_connections" in done.stdout) == whole, user


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_what_is_kept_is_the_owners_alone(scratch, profiled):  # noqa: F811
    """Whatever the umask."""
    subprocess.run([JESCOPE, "dump", str(profiled.pid), "-o", scratch / "private.heap"], check=True, env=environment(scratch), umask=0,
                   capture_output=True, timeout=DEADLINE)
    with serve(scratch, "--history", scratch / "new" / "kept.db", "--every=100ms", profiled.pid):
        wait_for(lambda: (scratch / "new" / "kept.db-wal").exists(), "a sample is written")
        assert mode_of(scratch / "new") == 0o700
        assert {mode_of(path) for path in (scratch / "new").iterdir()} == {0o600}
    assert mode_of(scratch / "private.heap") == 0o600


# ---- no threads, no processes ----


def limit_processes(pid, count):
    subprocess.run(["prlimit", f"--pid={pid}", f"--nproc={count}:"], check=True, user=NOBODY, group=NOBODY, extra_groups=[], cwd="/")


@contextlib.contextmanager
def as_nobody(folder, port, **options):
    home = folder / "home"
    home.mkdir()
    (home / "agents").mkdir(mode=0o700)
    for path in (home, home / "agents"):
        os.chown(path, NOBODY, NOBODY)
    with open(folder / "log", "w") as log, \
         started([JESCOPE, "serve", "--blackbox=off", "--listen", f"127.0.0.1:{port}", "--every=0"], env=environment(home), stdout=log, stderr=log,
                 user=NOBODY, group=NOBODY, extra_groups=[], cwd="/", **options) as process:
        yield process


def test_server_without_more_threads_answers(folder, scratch):
    """All it needs are there from the start; what needs another process is an error, soon."""
    port = free_port()
    with hostile(folder, 1, "flip") as [stranger], as_nobody(folder, port) as process:
        wait_for(lambda: "serving on" in (folder / "log").read_text(), "it serves")
        limit_processes(process.pid, 1)
        for path, status in (("/metrics", "200"), (f"/api/v1/targets/{os.getpid()}", "404"), ("/api/v1/targets", "200")):
            done = subprocess.run(["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--max-time", "20", f"http://127.0.0.1:{port}{path}"],
                                  capture_output=True, text=True, timeout=DEADLINE)
            assert done.stdout == status, path
        assert process.poll() is None


def test_server_that_gets_no_threads_does_not_start(folder):
    """An error that says what to do, and no abort."""
    done = subprocess.run(["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "prlimit", "--nproc=8:8", JESCOPE, "serve",
                           "--listen", f"127.0.0.1:{free_port()}"], env=environment(folder), capture_output=True, text=True,
                          timeout=DEADLINE, cwd="/")
    assert done.returncode == 1 and "threads" in done.stderr and "ulimit -u" in done.stderr


# ---- names ----


def row_of(server, pid):
    rows = server.get("/api/v1/targets").json()["targets"]
    return next((row for row in rows if row["pid"] == pid), None)


def named_service(scratch, name):
    """A service of root's, called NAME."""
    return renamed(service(scratch), name)


@contextlib.contextmanager
def renamed(running, name):
    with running as program:
        program.rename(name)
        yield program


def test_impostor_does_not_become_the_service(folder, scratch):
    """While the service that was named is away, another user's process of this name is not it."""
    name = f"n{os.getpid()}"
    with named_service(scratch, name) as first, serve(scratch, "--every=100ms", name) as server:
        wait_for(lambda: row_of(server, first.pid), "the service is found")
        with hostile(folder, 1, "flip", name) as [impostor]:
            assert row_of(server, first.pid) and not row_of(server, impostor)
            first.kill()
            wait_for(lambda: "is now the name of another service" in server.log.read_text(), "the impostor is refused")
            assert not row_of(server, impostor)
            with named_service(scratch, name) as second:
                assert wait_for(lambda: row_of(server, second.pid), "the service is found again")["series"] == name
                assert not row_of(server, impostor)


def test_impostor_does_not_write_into_the_series(folder, scratch):
    """Nor through a restart of the server: the history knows whose a name is."""
    name = f"s{os.getpid()}"
    history = scratch / "owners" / "kept.db"
    with named_service(scratch, name) as first, serve(scratch, "--every=100ms", "--history", history) as server:
        assert wait_for(lambda: row_of(server, first.pid), "the service is found")["series"] == name
    with hostile(folder, 1, "flip", name) as [impostor]:
        with serve(scratch, "--every=100ms", "--history", history) as server:
            assert wait_for(lambda: row_of(server, impostor), "the impostor is found")["series"] == f"{name}.uid{NOBODY}"
        with named_service(scratch, name) as second, serve(scratch, "--every=100ms", "--history", history) as server:
            assert wait_for(lambda: row_of(server, second.pid), "the service is found")["series"] == name
            assert row_of(server, impostor)["series"].startswith(f"{name}.uid")


# ---- privileges ----


def status_field(pid, field):
    return re.search(rf"^{field}:\s*(\S+)", open(f"/proc/{pid}/status").read(), re.M).group(1)


def threads(pid):
    return [f"{pid}/task/{task}" for task in os.listdir(f"/proc/{pid}/task")]


NEEDED = 1 << 19 | 1 << 1 | 1 << 2 | 1 << 7 | 1 << 6


def check_capabilities(pid, needed):
    for task in threads(pid):
        for field in ("CapPrm", "CapEff", "CapBnd", "CapInh", "CapAmb"):
            assert int(status_field(task, field), 16) & ~needed == 0, field
        assert status_field(task, "NoNewPrivs") == "1"


def parts(server):
    """The processes that stay root for a server: the broker, and those that it has started."""
    (broker,) = children(server.process.pid)
    return [broker, *children(broker)]


def test_roots_server_is_another_user(scratch, profiled, read_token):  # noqa: F811
    """In every thread, with no capability at all, while it does all that is asked. What stays root has four capabilities."""
    with serve(scratch, *read_token.options) as server:
        assert len(threads(server.process.pid)) > 4
        for task in threads(server.process.pid):
            ids = re.search(r"^Uid:\s*(.*)$", open(f"/proc/{task}/status").read(), re.M).group(1).split()
            assert len(set(ids)) == 1 and ids[0] != "0"
            assert re.search(r"^Groups:\s*$", open(f"/proc/{task}/status").read(), re.M)
        check_capabilities(server.process.pid, 0)
        assert os.stat(f"/proc/{server.process.pid}/mem").st_uid == 0  # no process of that user can trace it
        for pid in parts(server):
            assert status_field(pid, "Uid") == "0"
            check_capabilities(pid, NEEDED)
        statistics = f"/api/v1/targets/{profiled.pid}/statistics"
        wait_for(lambda: server.get(statistics, *read_token.headers).status == 200, "the target is found, and gives its statistics")


def test_roots_server_may_stay_one_process(scratch, read_token):
    """As --user=root says: then it keeps what reaching other users' processes takes, and no more."""
    with serve(scratch, "--user=root", *read_token.options) as server:
        assert children(server.process.pid) == []
        assert status_field(server.process.pid, "Uid") == "0"
        check_capabilities(server.process.pid, NEEDED)


def test_a_user_with_other_processes_is_warned_of(scratch):
    """Each of them can end the server; of a user that was named nothing is said."""
    with serve(scratch) as server, serve(scratch, "--user=nobody") as named:
        makes_do = "there is no user 'jescope'" in server.log.read_text()
        assert makes_do == (subprocess.run(["id", "jescope"], capture_output=True).returncode != 0)
        assert "there is no user" not in named.log.read_text()


def test_a_server_of_its_user_is_not_roots_server(scratch, profiled):  # noqa: F811
    """Who has the uid that root's server became has no rights there that others do not have."""
    port = free_port()
    with serve(scratch, "--user=nobody", port=port) as server:
        wait_for(lambda: row_of(server, profiled.pid), "root sees the target")
        done = subprocess.run(["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", f"http://127.0.0.1:{port}/api/v1/targets/{profiled.pid}"],
                              capture_output=True, text=True, user=NOBODY, group=NOBODY, extra_groups=[], cwd="/", timeout=DEADLINE)
        assert done.stdout == "404"


def is_running(pid):
    try:
        return status_field(pid, "State") not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize("whose", ["server", "broker"])
def test_one_part_ends_with_the_other(scratch, profiled, whose):  # noqa: F811
    """Killed: the other one does not stay behind, and the server says what has happened."""
    with serve(scratch, profiled.pid) as server:
        assert server.get(f"/api/v1/targets/{profiled.pid}/statistics").status == 200
        roots = parts(server)
        os.kill(server.process.pid if whose == "server" else roots[0], signal.SIGKILL)
        status = server.process.wait(DEADLINE)
        wait_for(lambda: not any(is_running(pid) for pid in roots), "the parts of root's end")
    if whose == "broker":
        assert status == 1 and "has ended, and so does the server" in server.log.read_text()


def write_private(path, text):
    path.write_text(text)
    path.chmod(0o600)


def reads_with(server, secret):
    return server.get("/api/v1/targets", "--header", f"Authorization: Bearer {secret}").status


def test_settings_are_read_again_by_another_user(scratch, tmp_path):
    """Tokens and configuration are root's alone."""
    first, second, tokens, config = "a-first-secret-of-roots", "a-second-secret-of-roots", tmp_path / "tokens", tmp_path / "serve.conf"
    write_private(config, f"[serve]\nrequire-token=true\ntoken-file={tokens}\n")
    write_private(tokens, f"read {first} reader\n")
    with serve(scratch, f"--config={config}") as server:
        assert (reads_with(server, first), reads_with(server, second)) == (200, 401)
        write_private(tokens, f"read {second} reader\n")
        server.process.send_signal(signal.SIGHUP)
        wait_for(lambda: "read again" in server.log.read_text(), "a reload")
        assert (reads_with(server, first), reads_with(server, second)) == (401, 200)
        moved = tmp_path / "moved"
        write_private(moved, f"read {first} reader\n")
        write_private(config, f"[serve]\nrequire-token=true\ntoken-file={moved}\n")
        server.process.send_signal(signal.SIGHUP)
        wait_for(lambda: server.log.read_text().count("read again") == 2, "a second reload")
        assert (reads_with(server, first), reads_with(server, second)) == (200, 401)


@pytest.mark.parametrize("name", ["history", "blackbox-directory"])
def test_a_link_of_another_user_gives_no_directory_away(scratch, name):
    """Root makes directories for the server's user, and gives it empty ones."""
    folder, link = scratch / f"of-root-{name}", scratch / f"link-{name}"
    folder.mkdir(mode=0o755)
    link.symlink_to(folder)
    os.chown(link, 65532, 65532, follow_symlinks=False)
    for below in ("", "new"):
        place = link / below / "kept.db" if name == "history" else link / below
        words = [f"--{name}={place}"] + (["--blackbox=off"] if name == "history" else [])
        done = subprocess.run(["timeout", "5", JESCOPE, "serve", *words, "--listen", f"unix:{scratch}/unused"], env=environment(scratch),
                              capture_output=True, text=True, check=False)
        assert done.returncode != 0
        assert not list(folder.iterdir()) and folder.stat().st_uid == 0, done


def test_history_that_the_user_cannot_write(scratch):
    """An error that says which user, and what to do; nothing else's directory is given away."""
    folder = scratch / "shared"
    folder.mkdir(mode=0o755)
    (folder / "something").write_text("else")
    done = subprocess.run([JESCOPE, "serve", "--blackbox=off", "--listen", f"unix:{scratch}/unused", "--history", folder / "kept.db"], env=environment(scratch),
                          capture_output=True, text=True, timeout=DEADLINE)
    assert done.returncode == 1 and "runs as user" in done.stderr and "--user=root" in done.stderr
    assert folder.stat().st_uid == 0


def test_unknown_user(scratch):
    for options, why in (({}, "no user named"), ({"user": NOBODY, "group": NOBODY, "extra_groups": []}, "only root's server")):
        done = subprocess.run([JESCOPE, "serve", "--blackbox=off", "--listen", f"127.0.0.1:{free_port()}", "--user=nosuchuser"], env=environment(scratch),
                              capture_output=True, text=True, timeout=DEADLINE, cwd="/", **options)
        assert done.returncode == 2 and why in done.stderr


def test_secrets_are_not_dumped(folder, tmp_path):
    """Another process of the server's user can neither trace it nor read its memory."""
    secret = folder / "tokens"
    secret.write_text("control 0123456789abcdef0123 me\n")
    secret.chmod(0o600)
    os.chown(secret, NOBODY, NOBODY)
    for options, owner in (([], NOBODY), ([f"--token-file={secret}"], 0)):
        with started([JESCOPE, "serve", "--blackbox=off", "--listen", f"127.0.0.1:{free_port()}", "--every=0", *options], env=environment(folder),
                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, user=NOBODY, group=NOBODY, extra_groups=[], cwd="/") as process:
            assert "serving on" in process.stderr.readline()
            assert os.stat(f"/proc/{process.pid}/mem").st_uid == owner
