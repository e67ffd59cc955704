# SPDX-License-Identifier: Apache-2.0
"""Dumps that clients send to look at."""

import contextlib
import gzip
import http.client
import os
import pathlib
import signal
import socket
import subprocess

import pytest
from endpoint import parse, serve
from neighbours import NOBODY
from programs import fill, profiled  # noqa: F401
from services import DEADLINE, JESCOPE, environment, free_port, started, wait_for

CONTROL, READ = "control-0123456789abcdef", "read-0123456789abcdef"
LIMIT = 64 << 20
DUMP = """--- symbol
binary=/bin/app
0x1000 malloc
0x2000 grows
0x4000 main
---
--- heap
heap profile: {count}: {bytes} [0: 0] @ heapprofile
{count}: {bytes} [0: 0] @ 0x1000 0x2000 0x4000

MAPPED_LIBRARIES:
00001000-00100000 r-xp 00000000 08:01 17 /bin/app
"""


@pytest.fixture(scope="module")
def server(scratch, profiled):  # noqa: F811
    with serve(scratch, profiled.pid, port=free_port()) as endpoint:
        endpoint.pid = profiled.pid
        endpoint.program = profiled
        yield endpoint


@pytest.fixture(scope="module")
def guarded(scratch, profiled):  # noqa: F811
    tokens = scratch / "tokens"
    tokens.write_text(f"control {CONTROL} alice\nread {READ} bob\n")
    tokens.chmod(0o600)
    port = free_port()
    with serve(scratch, profiled.pid, "--require-token", "--token-file", tokens, port=port) as endpoint:
        endpoint.port = port
        yield endpoint


def bearer(token):
    return ["--header", f"Authorization: Bearer {token}"]


def send(server, tmp_path, content, *options, query=""):
    file = tmp_path / "sent"
    file.write_bytes(content)
    return server.post(f"/api/v1/files{query}", "--data-binary", f"@{file}", "--header", "Content-Type: application/octet-stream", *options)


def sent(server, tmp_path, content, *options, query=""):
    """The path of a file that was sent."""
    answer = send(server, tmp_path, content, *options, query=query)
    assert answer.status == 201, answer.text
    path = f"/api/v1/files/{answer.json()['id']}"
    assert answer.header("location") == path
    return path


def text_of(count):
    return DUMP.format(count=count, bytes=1000 * count).encode()


def code_of(answer):
    return answer.json()["error"]["code"]


def test_opened_by_the_same_reports(server, tmp_path):
    path = sent(server, tmp_path, text_of(100), query="?name=a%3Cb%3E.heap&time=1700000000")
    assert server.get(path).json() | {"id": 0, "sent": 0} == {"id": 0, "name": "a<b>.heap", "bytes": len(text_of(100)), "sent": 0, "kept": False,
                                                             "idle_seconds": 900}
    assert server.get(f"{path}/dump").body == text_of(100)
    table = server.get(f"{path}/dump?format=text")
    assert table.status == 200 and "grows" in table.text and "a<b>.heap" in table.text
    page = server.get(f"{path}/dump?format=page").json()
    assert (page["source"]["time"], page["graph"]["total"][0]) == (1700000000, 100000)
    zoomed = server.get(f"{path}/dump?format=page&part=graph&width=100").json()
    assert zoomed["graph"]["total"][0] == 100000
    folded = server.get(f"{path}/dump?format=folded&focus=grows")
    assert folded.text.splitlines()[-1] == "main;grows 100000"


def test_two_files_compared(server, tmp_path):
    first = sent(server, tmp_path, text_of(100)).rpartition("/")[2]
    second = sent(server, tmp_path, gzip.compress(text_of(5000)))
    for _ in range(2):
        page = server.get(f"{second}/dump?format=page&base={first}").json()
        assert (page["graph"]["total"][0], page["graph"]["base"][0]) == (5000000, 100000)
    assert "5000000" in server.get(f"{second}/dump?format=json").text
    for base in ("17", "latest", "x"):
        answer = server.get(f"{second}/dump?format=page&base={base}")
        assert (answer.status, code_of(answer)) == (404, "not_found"), answer.text


def test_what_is_no_dump(server, tmp_path):
    """The child that reads it says what is wrong, and where."""
    for content in (b"hello\n", b"\x00" * 100, gzip.compress(text_of(7))[:-20], b"<svg onload=alert(1)>\n"):
        answer = server.get(sent(server, tmp_path, content) + "/dump?format=page")
        assert (answer.status, code_of(answer)) == (422, "unreadable"), answer.text
        assert "/proc/" not in answer.text and "the dump" in answer.json()["error"]["message"]
    path = sent(server, tmp_path, text_of(3))
    for query, status in (("focus=(", 400), ("value=moon", 400), ("format=nonsense", 400), ("moon=1", 400), ("format=source", 403)):
        assert server.get(f"{path}/dump?{'' if 'format' in query else 'format=page&'}{query}").status == status, query


def test_what_is_not_there(server, tmp_path):
    for path in ("17", "0", "x", "99999999999999999999999", "-1"):
        for rest in ("", "/dump", "/dump?format=page"):
            answer = server.get(f"/api/v1/files/{path}{rest}")
            assert (answer.status, code_of(answer)) == (404, "not_found")
    assert code_of(server.post("/api/v1/files")) == "empty"
    assert send(server, tmp_path, text_of(1), query="?time=x").status == 400


@pytest.mark.parametrize("options", [["--expect100-timeout", str(DEADLINE)], ["--header", "Expect:", "--header", "Transfer-Encoding: chunked"]],
                         ids=["announced", "chunked"])
def test_what_is_too_large(server, tmp_path, options):
    file = tmp_path / "large"
    with open(file, "wb") as out:
        out.truncate(LIMIT + 1)
    answer = server.post("/api/v1/files", "--data-binary", f"@{file}", *options)
    assert (answer.status, code_of(answer)) == (413, "body_too_large") and "gzip" in answer.text


def test_other_requests_have_short_bodies_still(server, tmp_path):
    file = tmp_path / "long"
    file.write_bytes(b"x" * (65 << 10))
    answer = server.post(f"/api/v1/targets/{server.pid}/purge", "--data-binary", f"@{file}")
    assert (answer.status, code_of(answer)) == (413, "body_too_large") and "64 KiB" in answer.text


def test_so_many_are_received_at_once(server):
    """Further ones are refused before their bodies."""
    port = int(server.base.rpartition(":")[2])
    clients = []
    try:
        for _ in range(2):
            client = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE)
            client.putrequest("POST", "/api/v1/files")
            client.putheader("Content-Length", "1000")
            client.endheaders(b"x")
            clients.append(client)
        wait_for(lambda: server.post("/api/v1/files", "--data-binary", "x").status == 429, "a third is refused once the server has read both heads")
    finally:
        for client in clients:
            client.close()
    wait_for(lambda: server.post("/api/v1/files", "--data-binary", "x").status == 201, "there is room again")


def test_kept_only_if_asked(guarded, tmp_path):
    control, read = bearer(CONTROL), bearer(READ)
    assert send(guarded, tmp_path, text_of(1)).status == 401
    path = sent(guarded, tmp_path, text_of(1), *read, query="?name=x")
    assert guarded.get("/api/v1/files", *control).json() == {"files": []}
    assert guarded.post(f"{path}/keep", *read).status == 403 and guarded.ask("DELETE", path, *read).status == 403
    assert guarded.get(path).status == 401
    kept = guarded.post(f"{path}/keep", *control).json()
    assert kept["kept"] and kept["idle_seconds"] is None
    assert [file["name"] for file in guarded.get("/api/v1/files", *control).json()["files"]] == ["x"]
    assert guarded.ask("DELETE", path, *control).status == 200
    assert guarded.get("/api/v1/files", *control).json() == {"files": []} and guarded.get(path, *control).status == 404
    assert "/keep: 200" in guarded.log.read_text()


def test_a_client_that_is_not_admitted_takes_no_place(guarded, tmp_path):
    """Also while its refusal is delayed, since it has sent wrong tokens before."""
    head = "HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer wrong-0123456789abcdef\r\n"
    guesses = [f"GET /healthz {head}\r\n"] * 8 + [f"POST /api/v1/files {head}Content-Length: 5\r\n\r\n"] * 2
    with contextlib.ExitStack() as stack:
        for guess in guesses:
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", guarded.port), timeout=DEADLINE))
            connection.sendall(guess.encode())
        assert send(guarded, tmp_path, text_of(3), *bearer(READ)).status == 201


@pytest.mark.parametrize("header", ["Origin: http://evil.example", "Sec-Fetch-Site: cross-site"])
def test_pages_of_other_sites_send_nothing(server, tmp_path, header):
    answer = send(server, tmp_path, text_of(1), "--header", header)
    assert answer.status == 403 and code_of(answer) in ("cross_site", "origin_unknown")


def ask_as(user, server, method, path, *options):
    done = subprocess.run(server.command(method, path, *options), capture_output=True, timeout=DEADLINE + 10, user=user, group=user, extra_groups=[],
                          cwd="/")
    assert done.returncode == 0, done.stderr.decode()
    return parse(done.stdout)


@pytest.mark.skipif(os.geteuid() != 0, reason="becoming another user needs root")
def test_a_dump_names_files_for_its_machines_users_only(server, tmp_path):
    """Whatever files a dump names, a client that could not read them without the server learns nothing of them."""
    assert server.ask("PUT", f"/api/v1/targets/{server.pid}/profiling?active=true").status == 200
    fill(server.program, count=400)
    raw = server.get(f"/api/v1/targets/{server.pid}/dumps/now").body
    path = sent(server, tmp_path, raw)
    assert "main" in server.get(f"{path}/dump?format=folded").text, "root sees the names in the program's files"
    for query in ("format=folded", "format=page", "format=symbolized", "format=json"):
        other = ask_as(NOBODY, server, "GET", f"{path}/dump?{query}")
        assert other.status == 200 and "redis-" in other.text and "dictAdd" not in other.text and "zmalloc" not in other.text, query
    assert server.post(f"{path}/keep").status == 200
    assert ask_as(NOBODY, server, "GET", "/api/v1/files").json() == {"files": []}, "another user's are not listed"
    assert server.ask("DELETE", path).status == 200


@contextlib.contextmanager
def for_other_machines(scratch, *words):
    """A server at 10.9.0.1 in a network of its own, and what asks it from an address there."""
    script = 'ip link set lo up && for i in 1 2 3; do ip address add 10.9.0.$i/24 dev lo; done && exec "$@"'
    command = [JESCOPE, "serve", "--listen=10.9.0.1:8080", "--insecure", "--blackbox=off", "--every=0", *words]

    def asking(address, path, *options):
        curl = ["curl", "--silent", "--include", "--max-time", str(DEADLINE), "--interface", address, *options, f"http://10.9.0.1:8080{path}"]
        return subprocess.Popen(["nsenter", f"--net=/proc/{process.pid}/ns/net", *curl], stdout=subprocess.PIPE)

    with started(["unshare", "--net", "sh", "-c", script, "sh", *map(str, command)], env=environment(scratch), cwd=scratch) as process:
        wait_for(lambda: answer_of(asking("10.9.0.1", "/healthz")).status == 200, "it serves")
        yield process.pid, asking


def answer_of(curl):
    return parse(curl.communicate(timeout=DEADLINE)[0] or b"HTTP/1.1 0\r\n\r\n")


def reporting(pid):
    """The processes below PID that make reports, without their own children."""
    try:
        if b"\0report\0" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes():
            return [pid]
        below = [child for task in pathlib.Path(f"/proc/{pid}/task").iterdir() for child in (task / "children").read_text().split()]
    except OSError:  # it has ended
        return []
    return [report for child in below for report in reporting(child)]


@pytest.mark.skipif(subprocess.run(["unshare", "--net", "ip", "link"], capture_output=True, check=False).returncode != 0, reason="no network of its own")
def test_reports_of_one_client_elsewhere_hold_up_no_others(scratch, tmp_path, profiled):  # noqa: F811
    long = tmp_path / "long"
    many = b"".join(b"\n1: 8 [0: 0] @ 0x%x 0x2000 0x4000" % number for number in range(300000))
    long.write_bytes(text_of(100).replace(b"\n100:", many + b"\n100:"))
    short = tmp_path / "short"
    short.write_bytes(text_of(100))
    how = ["--header", "Origin: http://10.9.0.1:8080", "--header", "Content-Type: application/octet-stream", "--header", "Expect:"]
    with for_other_machines(scratch, profiled.pid) as (server, asking), contextlib.ExitStack() as stopped:
        paths = {}
        for address, file in (("10.9.0.2", long), ("10.9.0.3", short)):
            answer = answer_of(asking(address, "/api/v1/files", "--data-binary", f"@{file}", *how))
            paths[address] = f"/api/v1/files/{answer.json()['id']}/dump?format=text"
        slow = [asking("10.9.0.2", paths["10.9.0.2"]) for _ in range(2)]
        for report in wait_for(lambda: len(found := reporting(server)) == 2 and found, "two reports are being made"):
            os.kill(int(report), signal.SIGSTOP)
            stopped.callback(os.kill, int(report), signal.SIGCONT)
        assert answer_of(asking("10.9.0.3", paths["10.9.0.3"])).status == 200
        stopped.close()
        assert [answer_of(curl).status for curl in slow] == [200, 200]
