# SPDX-License-Identifier: Apache-2.0
"""The resources that one client can use of jescope serve are bounded."""

import contextlib
import http.client
import json
import select
import signal
import socket
import subprocess
import time

import pytest
from endpoint import answers, serve
from guesses import GUESSES, HELD, read_refusal, refusals, serve_with_token, use_up
from programs import profiled  # noqa: F401
from services import DEADLINE, free_port, service, wait_for
from test_headroom import group  # noqa: F401


def connect(port):
    connection = socket.create_connection(("127.0.0.1", port), timeout=DEADLINE)
    return connection


def read_all(connection):
    """Until the server hangs up."""
    answer = b""
    while True:
        try:
            more = connection.recv(65536)
        except ConnectionResetError:
            return answer
        if not more:
            return answer
        answer += more


def figures(endpoint):
    text = endpoint.get("/metrics").text
    return {line.split()[0]: float(line.split()[1]) for line in text.splitlines() if line.startswith("jescope_http")}


@pytest.fixture(scope="module")
def server(scratch, profiled):  # noqa: F811
    port = free_port()
    with serve(scratch, profiled.pid, "--timeout", "1s", port=port) as endpoint:
        endpoint.port = port
        endpoint.pid = profiled.pid
        yield endpoint


REQUEST = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"


@pytest.mark.parametrize("begin", [b"", b"G", b"GET /healthz HT", REQUEST, REQUEST + b"X: ",
                                   b"POST /service/jemalloc/prof/stat HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n1"])
def test_silent_client_is_disconnected(server, begin):
    with connect(server.port) as connection:
        connection.sendall(begin)
        assert read_all(connection) == b""


@pytest.mark.parametrize("begin", [REQUEST + b"X-Long: ",
                                   b"POST /service/jemalloc/prof/stat HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60000\r\n\r\n"])
def test_busy_but_slow_client_is_disconnected(server, begin):
    """A byte from time to time does not keep a connection open: the total time counts."""
    with connect(server.port) as connection:
        connection.sendall(begin)
        connection.settimeout(0.1)
        end = time.monotonic() + DEADLINE
        while time.monotonic() < end:
            try:
                connection.sendall(b"x")
                if connection.recv(1) == b"":
                    return
            except TimeoutError:
                continue
            except ConnectionError:
                return
    pytest.fail("still connected")


def test_idle_connection_is_closed(server):
    with connect(server.port) as connection:
        connection.sendall(REQUEST + b"\r\n")
        answer = read_all(connection)
    assert answer.startswith(b"HTTP/1.1 200 ") and answer.endswith(b"ok\n")


def test_client_that_does_not_read_is_disconnected(server):
    before = figures(server)["jescope_http_connections_slow_total"]
    with connect(server.port) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        # Enough answers that no buffer in between holds them.
        try:
            for _ in range(4000):
                connection.sendall(b"GET /api/v1/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n")
        except ConnectionError:
            pass
        wait_for(lambda: figures(server)["jescope_http_connections_slow_total"] > before, "the disconnection")


def test_connections(scratch, profiled):  # noqa: F811
    port = free_port()
    with serve(scratch, profiled.pid, "--max-connections=30", "--max-connections-per-peer=20", port=port) as endpoint:
        connections = [connect(port) for _ in range(25)]
        try:
            # The last five take the places of the first, which have no request yet; the others stay open.
            assert [read_all(connection) for connection in connections[:5]] == [b""] * 5
            for connection in connections[5:]:
                connection.sendall(REQUEST + b"Connection: close\r\n\r\n")
                assert read_all(connection).startswith(b"HTTP/1.1 200")
        finally:
            for connection in connections:
                connection.close()
        wait_for(lambda: figures(endpoint)["jescope_http_connections"] == 1, "room again")
        assert figures(endpoint)["jescope_http_connections_refused_total"] == 5


def test_connections_without_a_request_make_room_for_their_user(scratch, profiled):  # noqa: F811
    """As a page of another site can have them opened, by WebRTC; those that have had a request stay."""
    port = free_port()
    with serve(scratch, profiled.pid, "--max-connections-per-peer=4", port=port) as endpoint, contextlib.ExitStack() as stack:
        asked = stack.enter_context(connect(port))
        asked.sendall(REQUEST + b"\r\n")
        assert asked.recv(12) == b"HTTP/1.1 200"
        for number in range(40):
            stack.enter_context(connect(port)).sendall(b"\0\3" if number % 2 else b"GET /he")
        for _ in range(3):
            assert endpoint.get("/healthz").status == 200
        asked.sendall(REQUEST + b"Connection: close\r\n\r\n")
        assert b"HTTP/1.1 200" in read_all(asked)


@pytest.mark.parametrize("sent", [
    REQUEST + b"\r\n",
    b"POST /service/jemalloc/prof/stat HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nabc"])
def test_requests_of_connections_that_make_room(scratch, profiled, sent):  # noqa: F811
    """They have arrived, wholly or in part, when their connections are ended."""
    port = free_port()
    with serve(scratch, profiled.pid, "--max-connections-per-peer=4", port=port) as endpoint, contextlib.ExitStack() as stack:
        for _ in range(12):
            stack.enter_context(connect(port)).sendall(sent)
        with contextlib.suppress(subprocess.CalledProcessError):
            subprocess.run(endpoint.command("GET", "/healthz"), capture_output=True, check=True, timeout=DEADLINE)
        stack.close()
        wait_for(lambda: answers(endpoint), "there is room again")


def test_connections_with_requests_are_refused_above_the_limit(scratch, profiled):  # noqa: F811
    """Those before it, which have had a request, stay."""
    port = free_port()
    with serve(scratch, profiled.pid, "--max-connections-per-peer=4", port=port), contextlib.ExitStack() as stack:
        def ask(connection):
            with contextlib.suppress(ConnectionError):
                connection.sendall(REQUEST + b"\r\n")
                return connection.recv(4096).startswith(b"HTTP/1.1 200")
            return False
        held = [stack.enter_context(connect(port))]
        while len(held) < 10 and ask(held[-1]):
            held.append(stack.enter_context(connect(port)))
        # Perhaps that which has asked whether the server runs was still there.
        assert len(held) in (4, 5)
        assert all(ask(connection) for connection in held[:-1])


def test_long_things(server):
    assert server.get("/api/v1/targets?" + "a" * 8200).status == 414
    assert server.get("/?" + "a" * 8000).status == 200
    assert server.get("/healthz", "--header", "X-Long: " + "a" * 20000).status == 431


def test_long_body(server, tmp_path):
    long = tmp_path / "body"
    long.write_bytes(b"a" * 70000)
    answer = server.post("/service/jemalloc/prof/stat", "--data-binary", f"@{long}", "--header", "Expect:")
    assert (answer.status, json.loads(answer.body)["error"]["code"]) == (413, "body_too_large")
    # One of unknown length is read to its end, and refused then.
    answer = server.post("/service/jemalloc/prof/stat", "--data-binary", f"@{long}", "--header", "Transfer-Encoding: chunked",
                         "--header", "Expect:")
    assert answer.status == 413


def test_many_headers(server):
    many = [word for number in range(400) for word in ("--header", f"X-{number}: {'y' * 50}")]
    assert server.get("/healthz", *many).status == 431


def test_rate(scratch, profiled):  # noqa: F811
    port = free_port()
    with serve(scratch, profiled.pid, "--rate=5", port=port):
        with connect(port) as connection:
            replies = connection.makefile("rb")
            statuses = []
            wait = None
            for _ in range(100):
                connection.sendall(REQUEST + b"\r\n")
                status, headers = read_reply(replies)
                statuses.append(status)
                if status == 429:
                    wait = int(headers["retry-after"])
                    break
            # How much of the first burst is left depends on how often the server was asked whether it is there.
            assert set(statuses) <= {200, 429} and wait == 1

            def served_again():
                connection.sendall(REQUEST + b"\r\n")
                return read_reply(replies)[0] == 200

            wait_for(served_again, "a request after the time that Retry-After names")


def test_rate_of_heads_before_their_bodies(scratch, profiled):  # noqa: F811
    """Requests whose heads come before it is known what they cost."""
    port = free_port()
    with serve(scratch, profiled.pid, "--rate=100", port=port), contextlib.ExitStack() as stack:
        connections = [stack.enter_context(connect(port)) for _ in range(180)]
        for connection in connections:
            connection.sendall(b"GET /api/v1/openapi.json HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\nContent-Length: 1\r\n\r\n")
        for connection in connections:
            connection.sendall(b"&")
        statuses = [read_reply(connection.makefile("rb"))[0] for connection in connections]
        # How many are refused depends on the time that all take; there were none.
        assert set(statuses) == {200, 429}, statuses


def read_reply(replies):
    status = int(replies.readline().split()[1])
    headers = {}
    while (line := replies.readline().strip()) != b"":
        name, _, value = line.decode().partition(":")
        headers[name.lower()] = value.strip()
    replies.read(int(headers.get("content-length", 0)))
    return status, headers


def test_streams_of_events(scratch, profiled):  # noqa: F811
    port = free_port()
    with serve(scratch, profiled.pid, port=port) as endpoint:
        streams = [connect(port) for _ in range(65)]
        try:
            for stream in streams:
                stream.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            firsts = [stream.recv(15) for stream in streams]
            assert firsts.count(b"HTTP/1.1 200 OK") == 64
            assert sum(first.startswith(b"HTTP/1.1 503") for first in firsts) == 1
            # The others are served all the while.
            assert endpoint.get("/healthz").status == 200
        finally:
            for stream in streams:
                stream.close()


def test_garbage(server):
    for bytes_ in (b"\x00" * 100, b"\x16\x03\x01\x02\x00" + b"a" * 200, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\r\n" * 1000,
                   b"GET / HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n"):
        with connect(server.port) as connection:
            connection.sendall(bytes_)
            answer = read_all(connection)
            assert answer == b"" or answer.split()[1][:1] in (b"4", b"5"), bytes_
    assert server.get("/healthz").status == 200


def test_requests_that_take_their_time(scratch, profiled):  # noqa: F811
    """Two may occupy a thread; others get 429, and other requests are served."""
    with serve(scratch, profiled.pid) as endpoint:
        paths = [f"/debug/pprof/heap?seconds={seconds}" for seconds in (3, 4)]
        running = [subprocess.Popen(endpoint.command("GET", path), stdout=subprocess.PIPE) for path in paths]
        wait_for(lambda: figures(endpoint)["jescope_http_requests_waiting"] == 3, "both are under way")
        answer = endpoint.get("/debug/pprof/heap?seconds=5")
        assert (answer.status, answer.header("retry-after"), answer.json()["error"]["code"]) == (429, "5", "crowded")
        assert endpoint.get("/mtev/heap_profile").status == 200
        assert endpoint.get("/mtev/heap_profile?trigger_dump=true").status == 200
        assert [process.communicate(timeout=DEADLINE)[0].split()[1] for process in running] == [b"200", b"200"]
        assert endpoint.get("/debug/pprof/heap?seconds=1").status == 200


def test_a_dump_without_headroom_is_refused(scratch, group):  # noqa: F811
    """By the target's memory control group; reported before a recording begins, and overridden by force=true."""
    with service(scratch) as python:
        group.take(python.pid)
        group.limit(group.usage() + (1 << 20))
        with serve(scratch, python.pid) as endpoint:
            endpoint.base += f"/api/v1/targets/{python.pid}"
            for answer in (endpoint.post("/dumps"), endpoint.get("/dumps/now"), endpoint.post("/recordings?for=1h")):
                error = answer.json()["error"]
                assert answer.status == 507 and error["code"] == "no_headroom", answer
                assert "memory control group" in error["message"] and "force=true" in error["hint"]
            assert endpoint.post("/dumps?force=true").status == 201
            assert endpoint.get("/dumps/now?force=true").status == 200
            # What one request overrides is not overridden for the next one, of another dialect.
            endpoint.base = endpoint.base.replace("/api/v1", "")
            assert "memory control group" in endpoint.post("/service/jemalloc/prof/dump").body.decode()
            endpoint.base = endpoint.base.replace("/targets", "/api/v1/targets")
            started = endpoint.post("/recordings?for=1h&force=true")
            assert started.status == 201, started
            assert endpoint.ask("DELETE", f"/recordings/{started.json()['id']}").json()["state"] == "done"


def test_a_connection_that_ends_ends_no_other(server):
    """Requests share answers, but a client whose request came in chunks is disconnected, and others are not."""
    plain = b"GET /pprof/heap HTTP/1.1\r\nHost: localhost\r\n"
    chunked = plain + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    connections = [connect(server.port) for _ in range(9)]
    try:
        # They all come at once.
        server.process.send_signal(signal.SIGSTOP)
        for i, connection in enumerate(connections):
            connection.sendall(chunked if i % 3 == 1 else plain + b"\r\n")
        server.process.send_signal(signal.SIGCONT)
        answers = [http.client.HTTPResponse(connection) for connection in connections]
        for i, answer in enumerate(answers):
            answer.begin()
            assert answer.status == 200 and answer.will_close == (i % 3 == 1)
    finally:
        server.process.send_signal(signal.SIGCONT)
        for connection in connections:
            connection.close()


@contextlib.contextmanager
def guessing(scratch, guess, count, each=1):
    """A server, and COUNT connections whose EACH guesses come at once, after those that are refused without a delay."""
    port = free_port()
    with serve_with_token(scratch, port=port) as endpoint, contextlib.ExitStack() as stack:
        use_up(stack.enter_context(connect(port)), guess)
        connections = [stack.enter_context(connect(port)) for _ in range(count)]
        endpoint.process.send_signal(signal.SIGSTOP)
        for connection in connections:
            connection.sendall(guess * each)
        endpoint.process.send_signal(signal.SIGCONT)
        yield endpoint, connections


@pytest.mark.parametrize("guess", GUESSES)
def test_refusals_that_are_held_back_are_bounded(scratch, guess):
    """Beyond that, a guess costs its peer the connection at once."""
    with guessing(scratch, guess, HELD + 8) as (_, connections):
        ended = []
        while len(ended) < 8:
            ready = select.select([c for c in connections if c not in ended], [], [], DEADLINE)[0]
            assert ready, f"{len(ended)} connections ended"
            ended += [connection for connection in ready if read_refusal(connection)]


@pytest.mark.parametrize("guess", GUESSES)
def test_refusals_that_are_held_back_end_with_their_clients(scratch, guess):
    """They would be held for up to ten seconds."""
    with guessing(scratch, guess, 10) as (endpoint, connections):
        wait_for(lambda: refusals(endpoint, "127.0.0.1") >= 10, "they are held back")
        for connection in connections:
            connection.close()
        wait_for(lambda: figures(endpoint)["jescope_http_requests_abandoned_total"] > 0, "the server has noticed")
        wait_for(lambda: figures(endpoint)["jescope_http_connections"] <= 2, "nothing is left of them")


@pytest.mark.parametrize("guess", GUESSES)
def test_refusals_that_are_held_back_do_not_delay_the_end(scratch, guess):
    """Nor do those of requests that have arrived behind them."""
    with guessing(scratch, guess, HELD, each=4) as (endpoint, connections):
        wait_for(lambda: refusals(endpoint, "127.0.0.1") >= 10, "the server holds some back")
        begin = time.monotonic()
        endpoint.process.terminate()
        assert endpoint.process.wait(DEADLINE) == 0
        assert time.monotonic() - begin < 5
        for connection in connections:
            read_all(connection)
