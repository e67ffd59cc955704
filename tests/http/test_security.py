# SPDX-License-Identifier: Apache-2.0
"""Access control of jescope serve."""

import contextlib
import http.client
import os
import re
import signal
import socket
import stat
import subprocess
import time

import pytest
from endpoint import Endpoint, is_active, make_certificate, parse, serve, set_active
from programs import profiled  # noqa: F401
from services import DEADLINE, environment, free_port, jescope, wait_for

READ = "read-0123456789abcdef"
CONTROL = "control-0123456789abcdef"
TOGGLE = "/mtev/heap_profile?active=true"
STATUS = "/mtev/heap_profile"


@pytest.fixture(scope="module")
def server(scratch, profiled):  # noqa: F811
    with serve(scratch, profiled.pid, port=free_port()) as endpoint:
        endpoint.pid = profiled.pid
        yield endpoint


@pytest.fixture
def idle(scratch, server):
    set_active(scratch, server.pid, False)
    return server


def header(name, value):
    return ["--header", f"{name}: {value}"]


def error_code(answer):
    return answer.json()["error"]["code"]


def write_tokens(scratch, name="tokens", mode=0o600):
    path = scratch / name
    path.write_text(f"# who\nread {READ} grafana\ncontrol {CONTROL} alice\n")
    path.chmod(mode)
    return path


# ---- caches ----


@pytest.mark.parametrize("path, control", [
    ("/api/v1/targets", "private, no-cache"), (STATUS, "private, no-cache"), ("/metrics", "private, no-cache"),
    ("/api/v1/targets/none", "private, no-cache"), ("/api/v1/session", "no-store")])
def test_caches_give_answers_to_nobody_else(server, path, control):
    """What a client sees depends on its user, token or session."""
    assert server.get(path).header("cache-control") == control


# ---- Host ----


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1", "127.4.5.6:99", "[::1]:7469"])
def test_own_names(server, host):
    assert server.get(STATUS, *header("Host", host)).status == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:7469", "localhost.evil.example", "10.0.0.1", "127.0.0.1.evil.example"])
@pytest.mark.parametrize("path", [STATUS, "/", "/api/v1/targets", "/metrics", TOGGLE])
def test_rebound_name(idle, scratch, host, path):
    answer = idle.get(path, *header("Host", host))
    assert (answer.status, error_code(answer)) == (403, "host_not_allowed")
    assert not is_active(scratch, idle.pid)


@pytest.mark.parametrize("path", ["/", "/sw.js", "/assets/main.js", "/healthz", STATUS, TOGGLE])
@pytest.mark.parametrize("host", ["127.0.0.1", "evil.example"])
def test_service_worker_of_an_earlier_server_is_replaced(idle, scratch, path, host):
    """One that another user registered while he had the port; a failure would leave it in the browser."""
    answer = idle.get(path, *header("Service-Worker", "script"), *header("Host", host))
    assert (answer.status, answer.type, answer.header("cache-control")) == (200, "text/javascript", "no-store")
    assert "self.registration.unregister()" in answer.text
    assert not is_active(scratch, idle.pid)


@contextlib.contextmanager
def listening(address, port):
    """Another user's program, which listens at ADDRESS."""
    with socket.create_server((address, port), family=socket.AF_INET6 if ":" in address else socket.AF_INET) as listener:
        yield listener


@pytest.mark.parametrize("own, other", [("127.0.0.1", "[::1]"), ("[::1]", "127.0.0.1")])
def test_no_other_user_has_localhost(scratch, profiled, own, other):  # noqa: F811
    """A page that another user serves at one address of localhost would be of the same origin as the server at the other one."""
    port = free_port()
    with serve(scratch, f"--listen={own}:{port}", profiled.pid) as endpoint:
        assert endpoint.log.read_text().count("serving on") == 2, "what was named"
        with pytest.raises(OSError, match="in use"), listening(other.strip("[]"), port):
            pass
        for address in (own, other):
            url = Endpoint(endpoint.process, f"http://{address}:{port}", [])
            assert url.get(STATUS, *header("Host", f"localhost:{port}")).status == 200


@pytest.mark.parametrize("own, other", [("127.0.0.1", "[::1]"), ("[::1]", "127.0.0.1")])
def test_localhost_that_another_user_has(scratch, profiled, own, other):  # noqa: F811
    """It is not the server's name then, not for a session either."""
    port = free_port()
    with listening(other.strip("[]"), port), serve(scratch, f"--listen={own}:{port}", profiled.pid) as endpoint:
        assert f"'localhost' is not accepted as the name of this server, since another program may listen on {other}:{port}; " \
               f"use http://{own}:{port}\n" in endpoint.log.read_text()
        url = Endpoint(endpoint.process, f"http://{own}:{port}", [])
        assert url.get(STATUS).status == 200
        for path in (STATUS, "/", TOGGLE):
            assert error_code(url.get(path, *header("Host", f"localhost:{port}"))) == "host_not_allowed"
        assert endpoint.get(STATUS).status == 200, "by the unix socket"


def test_configured_name(scratch, profiled):  # noqa: F811
    with serve(scratch, profiled.pid, "--host-name", "mem.example.org") as endpoint:
        assert endpoint.get(STATUS, *header("Host", "mem.example.org:80")).status == 200
        assert endpoint.get(STATUS, *header("Host", "other.example.org")).status == 403


# ---- other sites ----


@pytest.mark.parametrize("said", [
    ("Sec-Fetch-Site", "cross-site"),
    ("Sec-Fetch-Site", "same-site"),
    ("Origin", "https://evil.example"),
    ("Origin", "http://127.0.0.1:1"),
    ("Origin", "null"),
])
def test_other_site_changes_nothing(idle, scratch, said):
    navigation = header("Sec-Fetch-Mode", "navigate")
    answer = idle.get(TOGGLE, *header(*said), *navigation)
    # libmtev's own words for a refusal.
    assert (answer.status, answer.reason, answer.type, answer.body) == (403, "DENIED", "text/html", b"")
    assert idle.post("/service/jemalloc/prof/enable", *header(*said)).status == 403
    assert idle.get("/memory-profiler/start", *header(*said), *navigation).status == 403
    assert error_code(idle.ask("PUT", f"/api/v1/targets/{idle.pid}/profiling", *header(*said))) == "cross_site"
    assert not is_active(scratch, idle.pid)


def test_own_pages_may(idle, scratch):
    host = idle.base.removeprefix("http://")
    answer = idle.get(TOGGLE, *header("Sec-Fetch-Site", "same-origin"), *header("Origin", f"http://{host}"))
    assert answer.status == 200
    assert is_active(scratch, idle.pid)


# The table of docs/serve.md: the origin of a request that changes something, and whether it may.
LANGUAGE = ("Accept-Language", "en-US,en;q=0.5")
ORIGINS = [
    ("Sec-Fetch-Site: same-origin", [("Sec-Fetch-Site", "same-origin"), LANGUAGE], True),
    ("Sec-Fetch-Site: none", [("Sec-Fetch-Site", "none"), ("Sec-Fetch-Mode", "navigate")], False),
    ("Sec-Fetch-Site: none", [("Sec-Fetch-Site", "none")], False),
    ("own Origin", [("Origin", "{own}"), LANGUAGE], True),
    ("own Origin", [("Sec-Fetch-Site", "none"), ("Origin", "{own}")], True),
    ("own Referer", [("Referer", "{own}/index.html"), LANGUAGE], True),
    ("foreign Referer", [("Referer", "http://evil.example/{own}")], False),
    ("foreign Referer", [("Referer", "{own}.evil.example/")], False),
    ("foreign Referer", [("Referer", "about:blank")], False),
    ("marks of a browser", [LANGUAGE], False),
    ("marks of a browser", [("Upgrade-Insecure-Requests", "1")], False),
    ("marks of a browser", [("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")], False),
    ("marks of a browser", [("Accept", "image/avif,image/webp,*/*;q=0.8")], False),
    ("marks of a browser", [("Sec-Fetch-Mode", "no-cors")], False),
    ("marks of a browser", [("User-Agent", "Mozilla/5.0 (X11; Linux x86_64)"), ("Accept-Language", "*")], False),
    ("nothing", [("User-Agent", "node"), ("Accept-Language", "*"), ("Sec-Fetch-Mode", "cors")], True),
    ("nothing", [("Accept-Language", "*"), ("Sec-Fetch-Mode", "cors")], True),  # fetch() of Node.js
    ("nothing", [("Accept", "application/json")], True),
    ("nothing", [], True),
]


@pytest.mark.parametrize("row, said, may", ORIGINS)
def test_what_a_change_must_say_of_its_origin(idle, scratch, row, said, may):
    own = idle.base
    options = [word for name, value in said for word in header(name, value.format(own=own))]
    answer = idle.get(TOGGLE, *options)
    assert (answer.status, answer.reason) == ((200, "OK") if may else (403, "DENIED")), row
    assert is_active(scratch, idle.pid) == may
    set_active(scratch, idle.pid, False)
    answer = idle.get("/memory-profiler/start?duration=1secs", *options)
    assert answer.status == (200 if may else 403)
    assert is_active(scratch, idle.pid) == may
    if not may:
        assert error_code(answer) == ("cross_site" if row == "foreign Referer" else "origin_unknown")
    wait_for(lambda: not is_active(scratch, idle.pid), "the run is over")


def test_reading_by_a_link_but_not_as_a_part(idle):
    cross = header("Sec-Fetch-Site", "cross-site")
    link = [*cross, *header("Sec-Fetch-Mode", "navigate")]
    assert idle.get("/memory-profiler/state", *link, *header("Sec-Fetch-User", "?1")).status == 200
    assert error_code(idle.get("/memory-profiler/state", *link)) == "cross_site"
    assert idle.get("/", *link).status == 200, "as where a page is loaded again that was reached by a link"
    answer = idle.get("/memory-profiler/state", *cross, *header("Sec-Fetch-Mode", "no-cors"))
    assert (answer.status, error_code(answer)) == (403, "cross_site")


@pytest.mark.parametrize("said, may", [
    ([("Sec-Fetch-Dest", "document"), ("Sec-Fetch-User", "?1")], True),
    ([("Sec-Fetch-Dest", "document")], False),  # location.href = ..., which window.stop() ends before the answer
    ([("Sec-Fetch-Dest", "iframe"), ("Sec-Fetch-User", "?1")], False),
    ([("Sec-Fetch-Dest", "frame"), ("Sec-Fetch-User", "?1")], False),
    ([("Sec-Fetch-Dest", "embed"), ("Sec-Fetch-User", "?1")], False),
    ([("Sec-Fetch-Dest", "object"), ("Sec-Fetch-User", "?1")], False),
    ([("Sec-Fetch-Dest", "document"), ("Sec-Fetch-User", "?1"), ("Sec-Purpose", "prefetch;prerender")], False),
])
def test_other_sites_cause_no_dumps_unseen(server, said, may):
    """What a hidden frame or a script may repeat all day, or a browser does before it is asked to."""
    words = [word for name, value in [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate"), *said] for word in header(name, value)]
    answer = server.get(f"/api/v1/targets/{server.pid}/dumps/now", *words)
    assert answer.status == (200 if may else 403), answer.body[:200]
    assert may or error_code(answer) == "cross_site"


@pytest.mark.parametrize("said, may", [
    ([("Sec-Purpose", "prefetch"), ("Referer", "http://evil.example/")], False),  # by speculation rules of any page
    ([("Sec-Purpose", "prefetch")], False),  # the same with no-referrer
    ([("Sec-Purpose", "prefetch;prerender")], False),
    ([("Purpose", "prefetch")], False),
    ([("X-Moz", "prefetch")], False),
    ([("Referer", "http://evil.example/")], False),
    ([("Origin", "http://evil.example")], False),
    ([], True),
])
def test_other_sites_cause_no_dumps_by_speculation(server, said, may):
    """For what Chromium fetches before its user asks for it, it says that no site has caused it."""
    words = [word for name, value in [("Sec-Fetch-Site", "none"), ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "document"), *said]
             for word in header(name, value)]
    answer = server.get(f"/api/v1/targets/{server.pid}/dumps/now", *words)
    assert answer.status == (200 if may else 403), answer.body[:200]
    assert may or error_code(answer) == "cross_site"


def test_the_page_may_be_prerendered(server):
    """While its address is typed in: the page and what it reads, which says that its own page has caused it."""
    ahead = header("Sec-Purpose", "prefetch;prerender")
    assert server.get("/", *ahead, *header("Sec-Fetch-Site", "none"), *header("Sec-Fetch-Mode", "navigate")).status == 200
    assert server.get("/api/v1/targets", *ahead, *header("Sec-Fetch-Site", "same-origin")).status == 200
    assert error_code(server.get("/api/v1/targets", *ahead)) == "cross_site"


# A handshake as Chromium sends it has no Fetch Metadata.
WEB_SOCKET = [("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13"), ("Sec-WebSocket-Key", "8Eq2MbMT0wSIcAvdk+Eq/w==")]


@pytest.mark.parametrize("said, may", [
    ([("Origin", "https://evil.example"), *WEB_SOCKET], False),
    ([("Origin", "null"), *WEB_SOCKET], False),
    ([("Origin", "http://127.0.0.1:1")], False),
    ([("Origin", "{own}")], True),
    ([("Referer", "https://evil.example/")], True),  # a link, in a browser without Fetch Metadata
])
def test_other_sites_cause_no_dumps_by_web_sockets(server, said, may):
    words = [word for name, value in said for word in header(name, value.format(own=server.base))]
    answer = server.get(f"/api/v1/targets/{server.pid}/dumps/now", *words)
    assert answer.status == (200 if may else 403), answer.body[:200]
    assert may or error_code(answer) == "cross_site"


def test_answers_forbid_embedding(server):
    page = server.get("/")
    assert "frame-ancestors 'none'" in page.header("content-security-policy")
    assert page.header("cross-origin-opener-policy") == "same-origin"
    for answer in (page, server.get(STATUS), server.get("/nowhere")):
        assert answer.header("x-content-type-options") == "nosniff"
        assert answer.header("cross-origin-resource-policy") == "same-origin"


def test_scripts_of_reports_have_an_origin_of_their_own(server):
    """A name that became a script would not have the page's."""
    report = server.get(f"/api/v1/targets/{server.pid}/dumps/now?format=flamegraph")
    assert report.status == 200 and report.header("content-type").startswith("image/svg")
    assert report.header("content-security-policy").startswith("sandbox allow-scripts;")


# ---- files ----


def test_source_lines_are_not_sent_unless_switched_on(scratch, server, profiled, tmp_path):  # noqa: F811
    source = f"/api/v1/targets/{server.pid}/dumps/now?format=source&count=0"
    answer = server.get(source)
    assert (answer.status, error_code(answer)) == (403, "source_not_allowed")
    assert "--allow-source" in answer.json()["error"]["hint"]
    config = tmp_path / "serve.conf"
    config.write_text("[serve]\nallow-source=true\n")
    with serve(scratch, profiled.pid, "--config", config) as endpoint:
        assert endpoint.get(source).status == 200
        config.write_text("[serve]\nallow-source=false\n")
        endpoint.process.send_signal(signal.SIGHUP)
        wait_for(lambda: endpoint.get(source).status == 403, "the reload takes the permission back")


# ---- tokens and roles ----


@pytest.fixture(scope="module")
def guarded(scratch, profiled):  # noqa: F811
    tokens = write_tokens(scratch)
    with serve(scratch, profiled.pid, "--token-file", tokens, "--require-token", port=free_port()) as endpoint:
        endpoint.pid = profiled.pid
        yield endpoint


def bearer(token):
    return header("Authorization", f"Bearer {token}")


@pytest.mark.parametrize("sent", [[], bearer("nonsense"), bearer(""), bearer(READ[:-1]), bearer(READ + "x"), ["--user", f"read:{READ}"]])
def test_token_needed(guarded, sent):
    # Invalid tokens are delayed, a missing one is not.
    for path in ("/api/v1/targets", "/metrics", "/", "/nowhere", "/memory-profiler/state") if not sent else ("/api/v1/targets",):
        answer = guarded.get(path, *sent)
        assert (answer.status, error_code(answer)) == (401, "unauthorized")
        assert answer.header("www-authenticate").startswith("Bearer")


@pytest.mark.parametrize("method", ["GET", "OPTIONS"])
@pytest.mark.parametrize("sent", [[], bearer("nonsense")])
def test_b26_denied_in_the_words_of_libmtev(guarded, method, sent):
    for path in ("/mtev/memory.json", STATUS, TOGGLE, f"/targets/{guarded.pid}{STATUS}"):
        answer = guarded.ask(method, path, *sent)
        assert (answer.status, answer.reason, answer.type, answer.body) == (403, "DENIED", "text/html", b"")


def test_wrong_tokens_are_held_back_and_right_ones_are_not(scratch, profiled):  # noqa: F811
    with serve(scratch, profiled.pid, "--token-file", write_tokens(scratch), "--require-token", port=free_port()) as endpoint:
        begin = time.monotonic()
        for number in range(8):
            answer = endpoint.get("/api/v1/targets", *bearer(f"a-token-that-is-none-{number}"))
            assert (answer.status, error_code(answer)) == (401, "unauthorized")
        assert time.monotonic() - begin > 2  # five at once, then one per second
        with subprocess.Popen(endpoint.command("POST", "/api/v1/targets", "--data", "x", *bearer("wrong-again-and-again")),
                              stdout=subprocess.PIPE) as waiting:
            right = time.monotonic()
            assert endpoint.get("/api/v1/targets", *bearer(READ)).status == 200
            assert time.monotonic() - right < 1 or waiting.poll() is None
            assert parse(waiting.communicate(timeout=DEADLINE)[0]).status == 401
        # One that is held back does not keep the server from its end.
        with subprocess.Popen(endpoint.command("GET", "/api/v1/targets", *bearer("wrong-again-and-again")), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as waiting:
            endpoint.process.terminate()
            assert endpoint.process.wait(DEADLINE) == 0
            waiting.communicate(timeout=DEADLINE)


def test_reader_reads(scratch, guarded):
    set_active(scratch, guarded.pid, False)
    assert guarded.get(STATUS, *bearer(READ)).status == 200
    assert guarded.get("/memory-profiler/state", *bearer(READ)).status == 200
    # What reads may be a POST.
    assert guarded.post("/service/jemalloc/prof/stat", *bearer(READ)).text.startswith("___ Begin jemalloc")
    assert guarded.post("/memory-profiler/state", *bearer(READ)).status == 200
    assert guarded.post("/debug/pprof/symbol", *bearer(READ)).status == 200
    answer = guarded.post("/service/jemalloc/prof/enable", *bearer(READ))
    assert (answer.status, error_code(answer)) == (403, "role_too_low")
    assert guarded.get(TOGGLE, *bearer(READ)).reason == "DENIED"
    assert not is_active(scratch, guarded.pid)


def test_controller_controls(scratch, guarded):
    set_active(scratch, guarded.pid, False)
    assert guarded.get(TOGGLE, *bearer(CONTROL)).status == 200
    assert is_active(scratch, guarded.pid)


def test_token_makes_the_name_unimportant(guarded):
    assert guarded.get(STATUS, *bearer(READ), *header("Host", "mem.example.org")).status == 200


def test_token_counts_where_none_is_needed(scratch, profiled):  # noqa: F811
    set_active(scratch, profiled.pid, False)
    with serve(scratch, profiled.pid, "--token-file", write_tokens(scratch)) as endpoint:
        assert endpoint.get(STATUS).status == 200
        assert endpoint.get(TOGGLE, *bearer(READ)).status == 403
        assert endpoint.get(STATUS, *bearer("wrong-0123456789abcdef")).status == 403
        assert endpoint.get("/metrics", *bearer("wrong-0123456789abcdef")).status == 401
        assert not is_active(scratch, profiled.pid)
        assert endpoint.get(TOGGLE).status == 200


# ---- the audit ----


def lines(endpoint):
    return [line for line in endpoint.log.read_text().splitlines() if "audit:" in line]


def test_audit_tells_changes(scratch, guarded):
    before = len(lines(guarded))
    guarded.get(STATUS, *bearer(CONTROL))
    guarded.get(TOGGLE, *bearer(CONTROL))
    guarded.get(TOGGLE, *bearer(READ))
    guarded.get("/mtev/heap_profile?active=%0aaudit%20forged", *bearer(CONTROL))
    told = lines(guarded)[before:]
    assert len(told) == 3
    name = f"redis-server ({guarded.pid})"
    assert told[0].endswith(f"audit: alice (127.0.0.1): GET {TOGGLE} on {name}: 200")
    assert told[1].endswith(f"audit: grafana (127.0.0.1): GET {TOGGLE}: 403")
    assert told[2].endswith(f"active=%0aaudit%20forged on {name}: 200")
    assert CONTROL not in guarded.log.read_text()


def test_audit_tells_who_was_refused(scratch):
    with serve(scratch, "--token-file", write_tokens(scratch), "--require-token", port=free_port()) as endpoint:
        before = len(lines(endpoint))
        for path in ("/api/v1/targets", "/memory-profiler/start?x=%0ay"):
            assert endpoint.get(path).status == 401
        assert endpoint.post("/nowhere", *bearer("wrong-0123456789abcdef")).status == 401
        assert endpoint.get(STATUS).status == 403
        told = [line.partition("audit: ")[2] for line in lines(endpoint)[before:]]
        assert told == ["127.0.0.1: GET /api/v1/targets: 401", "127.0.0.1: GET /memory-profiler/start?x=%0ay: 401",
                        "127.0.0.1: POST /nowhere: 401", f"127.0.0.1: GET {STATUS}: 403"]
        assert "wrong-0123456789abcdef" not in endpoint.log.read_text()


def test_audit_tells_refused_hosts_and_counts_what_it_leaves_out(scratch, profiled):  # noqa: F811
    count = 200
    with serve(scratch, profiled.pid, port=free_port()) as endpoint:
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", int(endpoint.base.rpartition(":")[2]), timeout=DEADLINE)) as client:
            for _ in range(count):
                client.request("GET", "/metrics", headers={"Host": "evil.example"})
                answer = client.getresponse()
                assert answer.status == 403 and answer.read()
        told = lines(endpoint)
        assert told[0].endswith("audit: 127.0.0.1: GET /metrics: 403")
        assert 10 <= len(told) < count / 2
        wait_for(lambda: left_out(endpoint) > 0, "what was left out is counted")
        refused = [line for line in lines(endpoint) if line.endswith("GET /metrics: 403")]
        assert len(refused) + left_out(endpoint) == count
        # A change is still logged.
        assert endpoint.get(TOGGLE).status == 200 and lines(endpoint)[-1].endswith(": 200")


def test_changes_do_not_flood_the_audit(scratch, profiled):  # noqa: F811
    """Changes beyond a rate are refused, so that each change has its line."""
    path = "/api/v1/targets/none/purge"
    with serve(scratch, profiled.pid, port=free_port()) as endpoint:
        begin = time.monotonic()
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", int(endpoint.base.rpartition(":")[2]), timeout=DEADLINE)) as client:
            statuses = [status_of(client, "POST", path) for _ in range(1500)]
        most = 200 + 50 * (time.monotonic() - begin) + 1
        told = [line for line in lines(endpoint) if line.endswith(f"POST {path}: 404")]
        assert set(statuses) <= {404, 429} and len(told) == statuses.count(404) <= most


def test_changes_of_files_do_not_flood_the_audit(scratch, profiled):  # noqa: F811
    with serve(scratch, profiled.pid, port=free_port()) as endpoint:
        path = f"/api/v1/files/{endpoint.post('/api/v1/files', '--data-binary', 'heap_v2/1').json()['id']}/keep"
        begin = time.monotonic()
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", int(endpoint.base.rpartition(":")[2]), timeout=DEADLINE)) as client:
            statuses = [status_of(client, "POST", path) for _ in range(1500)]
        most = 200 + 50 * (time.monotonic() - begin) + 1
        told = [line for line in lines(endpoint) if line.endswith(f"POST {path}: 200")]
        assert set(statuses) == {200, 429} and len(told) == statuses.count(200) <= most


def status_of(client, method, path):
    client.request(method, path)
    answer = client.getresponse()
    answer.read()
    return answer.status


def left_out(endpoint):
    return sum(int(count) for count in re.findall(r"audit: 127\.0\.0\.1: (\d+) more refused requests", endpoint.log.read_text()))


def test_audit_names_the_user_of_a_unix_socket(scratch, profiled):  # noqa: F811
    with serve(scratch, profiled.pid) as endpoint:
        assert endpoint.get(TOGGLE).status == 200
        assert f"audit: uid {os.geteuid()}: GET {TOGGLE}" in endpoint.log.read_text()


# ---- addresses ----


def refusal(scratch, *words):
    done = jescope(scratch, "serve", *words, check=False)
    assert done.returncode in (1, 2)
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    return done.stderr


@pytest.fixture(scope="module")
def certificate(scratch):
    key, pem = scratch / "key.pem", scratch / "cert.pem"
    make_certificate(key, pem, "first")
    return pem, key


@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0"])
def test_others_need_tokens_and_tls(scratch, certificate, address):
    pem, key = certificate
    tokens, tls = ["--token-file", write_tokens(scratch)], ["--tls-cert", pem, "--tls-key", key]
    for words in ([], tokens, tls):
        said = refusal(scratch, "--listen", address, *words)
        assert "others can reach" in said and "--token-file" in said and "--insecure" in said
    said = refusal(scratch, "--listen", "127.0.0.1:0", "--listen", address)
    assert "others can reach" in said


def test_settings_that_do_not_go_together(scratch, certificate):
    pem, key = certificate
    assert "--tls-key" in refusal(scratch, "--tls-cert", pem)
    assert "--token-file" in refusal(scratch, "--require-token")
    other = scratch / "other.pem"
    make_certificate(scratch / "other.key", other, "other")
    assert str(other) in refusal(scratch, "--listen", "127.0.0.1:0", "--tls-cert", other, "--tls-key", key)


def test_secrets_that_others_can_read(scratch, certificate):
    pem, key = certificate
    said = refusal(scratch, "--listen", "127.0.0.1:0", "--token-file", write_tokens(scratch, "open-tokens", 0o644))
    assert "open-tokens" in said and "chmod 600" in said
    open_key = scratch / "open.key"
    open_key.write_bytes(key.read_bytes())
    open_key.chmod(0o644)
    said = refusal(scratch, "--listen", "127.0.0.1:0", "--tls-cert", pem, "--tls-key", open_key)
    assert "open.key" in said and "chmod 600" in said


def test_bad_addresses(scratch):
    for address in ("example.org:80", "::1:80", "unix:relative", "127.0.0.1:x"):
        assert address in refusal(scratch, "--listen", address)


def test_unix_socket_is_ours_alone(scratch, profiled):  # noqa: F811
    with serve(scratch, profiled.pid) as endpoint:
        path = endpoint.curl[1]
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        if os.geteuid() == 0:
            # Another user, even where the file's mode is not what keeps him out.
            os.chmod(path, 0o666)
            os.chmod(os.path.dirname(path), 0o711)
            command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *endpoint.command("GET", "/healthz")]
            assert subprocess.run(command, capture_output=True, timeout=DEADLINE).returncode != 0
        assert endpoint.get("/healthz").status == 200


# ---- TLS ----


@pytest.fixture(scope="module")
def encrypted(scratch, profiled, certificate):  # noqa: F811
    pem, key = certificate
    port = free_port()
    config = scratch / "tls.conf"
    config.write_text(f"[serve]\ntls-cert={pem}\ntls-key={key}\ntoken-file={write_tokens(scratch, 'tls-tokens')}\n")
    with serve(scratch, profiled.pid, "--config", config, port=port, scheme="https", curl=["--insecure"]) as endpoint:
        yield endpoint


def peer_name(port):
    done = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{port}"], input=b"", capture_output=True, timeout=DEADLINE)
    found = re.search(rb"subject=.*CN ?= ?(\w+)", done.stdout)
    return found and found.group(1).decode()


def test_tls(encrypted, certificate):
    pem, _ = certificate
    assert encrypted.get(STATUS).status == 200
    assert encrypted.get("/mtev/nowhere").reason == "NOT FOUND"
    checked = Endpoint(encrypted.process, encrypted.base, ["--cacert", str(pem)])
    assert checked.get("/healthz").body == b"ok\n"


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_old_tls_is_refused(encrypted, version):
    done = subprocess.run(encrypted.command("GET", "/healthz", "--tls-max", version, "--ciphers", "DEFAULT@SECLEVEL=0"),
                          capture_output=True, timeout=DEADLINE)
    assert done.returncode == 35  # no handshake


def succeeds(port, *words):
    """Whether a handshake that offers what WORDS say does."""
    done = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{port}", *words], input=b"", capture_output=True, timeout=DEADLINE)
    return done.returncode == 0


def test_handshakes_that_cost_the_server_much_are_refused(encrypted):
    port = int(encrypted.base.rpartition(":")[2])
    for group in ("X25519", "P-256", "P-384"):
        assert succeeds(port, "-tls1_3", "-groups", group), group
    for group in ("P-521", "X448", "ffdhe2048", "ffdhe8192"):
        assert not succeeds(port, "-tls1_3", "-groups", group), group
    assert succeeds(port, "-tls1_3", "-groups", "ffdhe8192:P-521:P-256")  # a cheap one among others is enough


def test_old_key_exchanges_are_refused(scratch, profiled):  # noqa: F811
    pem, key = scratch / "rsa-cert.pem", scratch / "rsa-key.pem"
    make_certificate(key, pem, "rsa", ["rsa:2048"])
    port = free_port()
    with serve(scratch, profiled.pid, "--tls-cert", pem, "--tls-key", key, port=port, scheme="https", curl=["--insecure"]):
        for group in ("X25519", "P-256", "P-384"):
            assert succeeds(port, "-tls1_2", "-groups", group), group
        for cipher in ("DHE", "kRSA"):
            assert not succeeds(port, "-tls1_2", "-cipher", cipher), cipher


def test_plain_http_on_a_tls_port_gets_nothing(encrypted):
    port = int(encrypted.base.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=DEADLINE) as connection:
        connection.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
        assert b"200" not in connection.recv(4096)


def test_new_certificate_and_tokens_by_sighup(scratch, encrypted, certificate):
    pem, key = certificate
    port = int(encrypted.base.rpartition(":")[2])
    assert peer_name(port) == "first"
    make_certificate(key, pem, "second")
    (scratch / "tls-tokens").write_text("read another-0123456789abcdef bob\n")
    encrypted.process.send_signal(1)
    wait_for(lambda: peer_name(port) == "second", "the new certificate")
    assert encrypted.get(STATUS, *bearer("another-0123456789abcdef")).status == 200
    assert encrypted.get("/metrics", *bearer(READ)).status == 401


def test_a_token_that_was_withdrawn_reads_no_more_events(scratch, profiled):  # noqa: F811
    tokens = write_tokens(scratch, "withdrawn-tokens")
    port = free_port()
    with serve(scratch, profiled.pid, "--require-token", "--token-file", tokens, port=port) as endpoint:
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE)
        client.request("GET", "/api/v1/events", headers={"Authorization": f"Bearer {READ}"})
        stream = client.getresponse()
        assert stream.status == 200 and stream.readline() == b"retry: 2000\n"
        tokens.write_text(f"control {CONTROL} alice\n")
        endpoint.process.send_signal(signal.SIGHUP)
        end = time.monotonic() + DEADLINE
        while stream.readline():  # it ends, though heartbeats might come for ever
            assert time.monotonic() < end
        assert endpoint.get("/api/v1/events", *bearer(READ)).status == 401
        client.close()


def test_bad_reload_changes_nothing(scratch, profiled):  # noqa: F811
    tokens = write_tokens(scratch, "reloaded-tokens")
    with serve(scratch, profiled.pid, "--token-file", tokens) as endpoint:
        tokens.write_text("admin nonsense\n")
        endpoint.process.send_signal(1)
        wait_for(lambda: "nothing was changed" in endpoint.log.read_text(), "the complaint")
        assert endpoint.get(STATUS, *bearer(READ)).status == 200


# ---- paths ----


@pytest.mark.parametrize("path", [
    "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/api/v1/targets/..%2f..%2fetc%2fpasswd",
    "/targets/..%2f1/mtev/heap_profile", "/memory-profiler/download/raw?id=/etc/passwd", "/etc/passwd", "/targets//mtev/heap_profile",
])
def test_paths_name_no_files(server, path):
    answer = server.get(path)
    assert answer.status in (400, 404)
    assert b"root:" not in answer.body


def test_paths_that_are_none(server):
    for path in ("/%00", "/%zz", "/%"):
        assert error_code(server.get(path)) == "bad_path"
    port = int(server.base.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=DEADLINE) as connection:
        connection.sendall(b"GET http://localhost/healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert b" 200 " in connection.makefile("rb").readline()


def test_environment_is_not_needed(scratch):
    """A server that may not serve any client fails immediately, also without any variable."""
    env = {"PATH": "/usr/bin:/bin", "JESCOPE_SOCKET_DIR": environment(scratch)["JESCOPE_SOCKET_DIR"]}
    done = jescope(scratch, "serve", "--listen", "nowhere", check=False, env=env)
    assert done.returncode == 2 or done.returncode == 1
