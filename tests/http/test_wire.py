# SPDX-License-Identifier: Apache-2.0
"""Requests byte by byte: ambiguous requests are refused, and a smuggled request is never answered."""

import re
import socket
import ssl

import pytest
from endpoint import make_certificate, serve
from services import DEADLINE, free_port, wait_for

HOST = b"Host: localhost\r\n"
SMUGGLED = b"GET /smuggled HTTP/1.1\r\n" + HOST + b"\r\n"
SIZE = str(len(SMUGGLED)).encode()


@pytest.fixture(scope="module")
def server(scratch):
    with serve(scratch, port=free_port()) as endpoint:
        yield endpoint


@pytest.fixture(scope="module")
def secure(scratch):
    key, cert = scratch / "key.pem", scratch / "cert.pem"
    make_certificate(key, cert, "wire")
    with serve(scratch, "--tls-cert", cert, "--tls-key", key, port=free_port(), scheme="https", curl=["--cacert", cert]) as endpoint:
        endpoint.context = ssl.create_default_context(cafile=cert)
        yield endpoint


def connect(endpoint):
    address = ("127.0.0.1", int(endpoint.base.rpartition(":")[2]))
    raw = socket.create_connection(address, timeout=DEADLINE)
    return endpoint.context.wrap_socket(raw, server_hostname="127.0.0.1") if hasattr(endpoint, "context") else raw


def read_to_the_end(connection):
    answer = b""
    try:
        while block := connection.recv(65536):
            answer += block
    except ConnectionResetError:  # the server did not read all that was sent
        pass
    return answer


def heads(answer):
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) ", answer)]


def get(*headers, path=b"/healthz", method=b"GET", version=b"HTTP/1.1"):
    return b"\r\n".join([b" ".join([method, path, version]), *headers]) + b"\r\n"


REFUSED = {
    "CL.TE": get(HOST.strip(), b"Content-Length: 5", b"Transfer-Encoding: chunked", method=b"POST") + b"\r\n0\r\n\r\n" + SMUGGLED,
    "TE.CL": get(HOST.strip(), b"Transfer-Encoding: chunked", b"Content-Length: 5", method=b"POST") + b"\r\n0\r\n\r\n" + SMUGGLED,
    "CL.CL": get(HOST.strip(), b"Content-Length: 0", b"Content-Length: " + SIZE) + b"\r\n" + SMUGGLED,
    "CL.CL, equal": get(HOST.strip(), b"Content-Length: 0", b"Content-Length: 0") + b"\r\n" + SMUGGLED,
    "CL list": get(HOST.strip(), b"Content-Length: 0, " + SIZE) + b"\r\n" + SMUGGLED,
    "CL blank": get(HOST.strip(), b"Content-Length : " + SIZE) + b"\r\n" + SMUGGLED,
    "CL tab": get(HOST.strip(), b"Content-Length\t: " + SIZE) + b"\r\n" + SMUGGLED,
    "CL with a sign": get(HOST.strip(), b"Content-Length: +" + SIZE) + b"\r\n" + SMUGGLED,
    "CL in hexadecimal": get(HOST.strip(), b"Content-Length: 0x10") + b"\r\n" + SMUGGLED,
    "CL empty": get(HOST.strip(), b"Content-Length:") + b"\r\n" + SMUGGLED,
    "CL beyond 64 bits": get(HOST.strip(), b"Content-Length: " + b"9" * 30) + b"\r\n" + SMUGGLED,
    "CL continued": get(HOST.strip(), b"Content-Length: " + SIZE[:1], b" " + SIZE[1:]) + b"\r\n" + SMUGGLED,
    "CL continues": get(HOST.strip(), b"X-A: b", b"\tContent-Length: " + SIZE) + b"\r\n" + SMUGGLED,
    "CL after a blank": get(b" Content-Length: " + SIZE, HOST.strip()) + b"\r\n" + SMUGGLED,
    "CL behind a NUL": get(HOST.strip(), b"X-A: b\0\r\nContent-Length: " + SIZE) + b"\r\n" + SMUGGLED,
    "CL behind a CR": get(HOST.strip(), b"X-A: b\rContent-Length: " + SIZE) + b"\r\n" + SMUGGLED,
    "CL behind a LF": get(HOST.strip(), b"X-A: b\nContent-Length: 0") + b"\r\n" + SMUGGLED,
    "LF at the end": get(HOST.strip()) + b"\n" + SMUGGLED,
    "LF after the first line": b"GET /healthz HTTP/1.1\n" + HOST + b"\r\n" + SMUGGLED,
    "TE of an unknown kind": get(HOST.strip(), b"Transfer-Encoding: xchunked", method=b"POST") + b"\r\n0\r\n\r\n" + SMUGGLED,
    "TE identity": get(HOST.strip(), b"Transfer-Encoding: identity") + b"\r\n" + SMUGGLED,
    "TE list": get(HOST.strip(), b"Transfer-Encoding: gzip, chunked", method=b"POST") + b"\r\n0\r\n\r\n" + SMUGGLED,
    "TE twice": get(HOST.strip(), b"Transfer-Encoding: chunked", b"Transfer-Encoding: x", method=b"POST") + b"\r\n0\r\n\r\n" + SMUGGLED,
    "TE blank": get(HOST.strip(), b"Transfer-Encoding : chunked", method=b"POST") + b"\r\n0\r\n\r\n" + SMUGGLED,
    "TE of HTTP/1.0": get(HOST.strip(), b"Transfer-Encoding: chunked", b"Connection: keep-alive", method=b"POST", version=b"HTTP/1.0") +
    b"\r\n0\r\n\r\n" + SMUGGLED,
    "chunk without its end": get(HOST.strip(), b"Transfer-Encoding: chunked", method=b"POST") + b"\r\n5\r\nhelloXX0\r\n\r\n" + SMUGGLED,
    "chunk of no size": get(HOST.strip(), b"Transfer-Encoding: chunked", method=b"POST") + b"\r\nzz\r\n\r\n" + SMUGGLED,
    "two Hosts": get(HOST.strip(), b"Host: evil.example") + b"\r\n" + SMUGGLED,
    "no Host": get(b"Accept: */*") + b"\r\n" + SMUGGLED,
    "Host with more behind it": get(b"Host: [::1]evil.example") + b"\r\n" + SMUGGLED,
    "Host with a user": get(b"Host: localhost:80@evil.example") + b"\r\n" + SMUGGLED,
    "another host in the path": get(HOST.strip(), path=b"http://evil.example/healthz") + b"\r\n" + SMUGGLED,
    "two tokens": get(HOST.strip(), b"Authorization: Bearer a", b"Authorization: Bearer b") + b"\r\n" + SMUGGLED,
    "two origins": get(HOST.strip(), b"Origin: http://localhost", b"Origin: http://evil.example") + b"\r\n" + SMUGGLED,
    "a name that is none": get(HOST.strip(), b"X(a): b") + b"\r\n" + SMUGGLED,
    "an empty name": get(HOST.strip(), b": b") + b"\r\n" + SMUGGLED,
    "no colon": get(HOST.strip(), b"X-A") + b"\r\n" + SMUGGLED,
    "a control character": get(HOST.strip(), b"X-A: \x1b[2J") + b"\r\n" + SMUGGLED,
    "a blank in the path": get(HOST.strip(), path=b"/health z") + b"\r\n" + SMUGGLED,
    "a method that is none": get(HOST.strip(), method=b"G(T") + b"\r\n" + SMUGGLED,
    "HTTP/0.9": b"GET /healthz\r\n" + SMUGGLED,
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_one_answer_and_the_end_of_the_connection(server, name):
    with connect(server) as connection:
        connection.sendall(REFUSED[name])
        answer = read_to_the_end(connection)
    assert heads(answer) == [400], answer


@pytest.mark.parametrize("name", ["CL.TE", "CL.CL", "CL blank", "CL continued", "CL with a sign", "CL behind a LF", "no Host"])
def test_refused_over_tls_and_in_pieces(secure, name):
    request = REFUSED[name]
    with connect(secure) as connection:
        for at in range(0, len(request), 11):
            try:
                connection.sendall(request[at:at + 11])
            except (BrokenPipeError, ConnectionResetError):
                break
        answer = read_to_the_end(connection)
    assert heads(answer) in ([400], []), answer  # a reset may take the answer along
    assert b"smuggled" not in answer


@pytest.mark.parametrize("name", ["CL.TE", "CL.CL", "CL blank", "CL continued"])
def test_refused_on_a_connection_that_was_kept(server, name):
    with connect(server) as connection:
        connection.sendall(get(HOST.strip()) + b"\r\n")
        wait_for(lambda: connection.recv(65536), "the first answer")
        connection.sendall(REFUSED[name])
        assert heads(read_to_the_end(connection)) == [400]


# ---- what must keep working ----

ACCEPTED = [
    get(HOST.strip()),
    get(b"host:localhost"),
    get(b"HOST: \t localhost", b"X-Blanks: a \t"),
    get(HOST.strip(), b"X-Empty:", b"X-Twice: a", b"X-Twice: b", b"Cookie: a=b; c=d", b"Accept: text/html, */*;q=0.1"),
    get(HOST.strip(), b"Content-Length: 0"),
    get(HOST.strip(), b"User-Agent: caf\xc3\xa9 (tab\there)"),
    get(HOST.strip(), path=b"http://localhost/healthz"),
    get(b"Host: [::1]:7469"),
    *(get(HOST.strip(), b"X-Long: " + b"a" * size) for size in (200, 1000, 3000, 7000, 12000)),
    *(get(HOST.strip(), *[b"X-%d: %d" % (number, number) for number in range(count)]) for count in (5, 50)),
]


@pytest.mark.parametrize("pieces", [1 << 20, 700, 1])
@pytest.mark.parametrize("kind", ["plain", "tls"])
def test_sound_requests_on_one_connection(request, kind, pieces):
    endpoint = request.getfixturevalue("server" if kind == "plain" else "secure")
    requests = [row + b"\r\n" for row in ACCEPTED if pieces > 1 or len(row) < 400]
    with connect(endpoint) as connection:
        for text in requests:
            for at in range(0, len(text), pieces):
                connection.sendall(text[at:at + pieces])
            answer = connection.recv(65536)
            while not answer.endswith(b"ok\n"):
                block = connection.recv(65536)
                assert block, (text, answer)
                answer += block
            assert heads(answer) == [200], (text, answer)


def test_a_query_is_no_path(server):
    """For a proxy, and for us, what follows the question mark is no path."""
    with connect(server) as connection:
        connection.sendall(get(HOST.strip(), b"Connection: close", path=b"http://localhost?/healthz") + b"\r\n")
        answer = read_to_the_end(connection)
        assert heads(answer) == [200] and not answer.endswith(b"\r\n\r\nok\n")


def test_pipelined_requests_with_bodies(server):
    body = b"active=true"
    post = get(HOST.strip(), b"Content-Length: %d" % len(body), method=b"POST", path=b"/api/v1") + b"\r\n" + body
    chunked = get(HOST.strip(), b"Transfer-Encoding: chunked", method=b"POST", path=b"/api/v1") + b"\r\nb\r\n" + body + b"\r\n0\r\n\r\n"
    with connect(server) as connection:
        connection.sendall(post * 5 + chunked + SMUGGLED)
        assert heads(read_to_the_end(connection)) == [405] * 6


def test_nothing_follows_chunks_that_end_with_a_bare_lf(server):
    with connect(server) as connection:
        connection.sendall(get(HOST.strip(), b"Transfer-Encoding: chunked", method=b"POST") + b"\r\n5\nhello\n0\n\n" + SMUGGLED)
        assert len(heads(read_to_the_end(connection))) == 1


def one_answer(connection):
    """The head of the next answer, whose body is read too."""
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += connection.recv(65536)
    head, _, body = answer.partition(b"\r\n\r\n")
    left = int(re.search(rb"Content-Length: (\d+)", head)[1]) - len(body)
    while left > 0:
        left -= len(connection.recv(left))
    return head


@pytest.mark.parametrize("known", [False, True])
def test_an_answer_that_ends_its_connection_ends_no_other(server, known):
    """All clients share the answers of the page."""
    page = [HOST.strip(), b"Accept: text/html"]
    with connect(server) as connection:
        connection.sendall(get(*page, path=b"/") + b"\r\n")
        head = one_answer(connection)
    if b" 200 " not in head.splitlines()[0]:
        pytest.skip("jescope was built without the page: esbuild is not installed")
    tag = [b"If-None-Match: " + re.search(rb"ETag: (\S+)", head)[1]] if known else []
    for path, more in (b"/", tag), (b"/healthz", []):
        with connect(server) as connection:
            connection.sendall(get(*page, *more, b"Transfer-Encoding: chunked", path=path) + b"\r\n0\r\n\r\n" + SMUGGLED)
            last = read_to_the_end(connection)
        assert heads(last) == [304 if more else 200] and b"\r\nConnection: close\r\n" in last
        with connect(server) as connection:
            for _ in range(2):
                connection.sendall(get(*page, path=path) + b"\r\n")
                head = one_answer(connection)
                assert head.startswith(b"HTTP/1.1 200 ") and b"Connection: close" not in head


@pytest.mark.parametrize("length", [[], [b"Content-Length: 0"]])
@pytest.mark.parametrize("method, status", [(b"GET", 200), (b"POST", 405)])
def test_a_request_behind_one_that_expects_to_continue_without_a_body(server, method, status, length):
    """RFC 9110, 10.1.1: no client may ask for this, and 100 may be sent or not; but both requests have an answer."""
    with connect(server) as connection:
        ask = get(HOST.strip(), b"Expect: 100-continue", *length, method=method) + b"\r\n"
        connection.sendall(ask + ask + get(HOST.strip(), b"Connection: close") + b"\r\n")
        answer = read_to_the_end(connection)
    assert [code for code in heads(answer) if code != 100] == [status, status, 200], answer


def test_a_request_behind_a_body_that_was_expected(server):
    body = b"active=true"
    post = get(HOST.strip(), b"Expect: 100-continue", b"Content-Length: %d" % len(body), method=b"POST") + b"\r\n" + body
    with connect(server) as connection:
        connection.sendall(post * 2 + get(HOST.strip(), b"Connection: close") + b"\r\n")
        assert [code for code in heads(read_to_the_end(connection)) if code != 100] == [405, 405, 200]


@pytest.mark.parametrize("kind", ["server", "secure"])
@pytest.mark.parametrize("version", [b"HTTP/1.1", b"HTTP/1.0"])
def test_nothing_follows_the_head_of_a_stream(request, kind, version):
    """A proxy that keeps its connection would take it for the beginning of another client's answer."""
    endpoint = request.getfixturevalue(kind)
    with connect(endpoint) as connection:
        ask = get(HOST.strip(), b"Connection: keep-alive", path=b"/api/v1/events", method=b"HEAD", version=version)
        connection.sendall(ask + b"\r\n" + SMUGGLED)
        head, blank, rest = read_to_the_end(connection).partition(b"\r\n\r\n")
    assert heads(head) == [200] and (blank, rest) == (b"\r\n\r\n", b"")
    fields = head.lower().split(b"\r\n")
    assert b"content-type: text/event-stream" in fields and fields.count(b"connection: close") == 1
    assert not re.search(rb"content-length|transfer-encoding", head, re.I)  # neither is known before GET


def test_http_1_0_without_host(server):
    with connect(server) as connection:
        connection.sendall(get(version=b"HTTP/1.0") + b"\r\n")
        assert heads(read_to_the_end(connection)) == [200]


@pytest.mark.parametrize("kind", ["server", "secure"])
@pytest.mark.parametrize("count", [65, 300, 4000])
def test_many_parameters_are_answered(request, kind, count):
    endpoint = request.getfixturevalue(kind)
    with connect(endpoint) as connection:
        connection.sendall(get(HOST.strip(), path=b"/healthz?" + b"&".join([b"a"] * count)) + b"\r\n")
        answer = read_to_the_end(connection)
    assert heads(answer) == [414] and b"64 parameters" in answer


def test_as_many_parameters_and_bytes_as_are_possible(server):
    query = b"/nothing?" + b"&".join([b"a"] * 64)
    with connect(server) as connection:
        connection.sendall(get(HOST.strip(), b"Connection: close", path=query + b"a" * (8192 - len(query))) + b"\r\n")
        answer = read_to_the_end(connection)
    assert heads(answer) == [404]
