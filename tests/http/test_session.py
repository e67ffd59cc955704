# SPDX-License-Identifier: Apache-2.0
"""Signing in to jescope serve, and attacks on it."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import time

import pytest
from endpoint import make_certificate, parse, serve
from neighbours import NOBODY
from programs import profiled  # noqa: F401
from services import DEADLINE, free_port, wait_for

READ = "read-0123456789abcdef"
CONTROL = "control-0123456789abcdef"
SESSION = "/api/v1/session"
TARGETS = "/api/v1/targets"
LANGUAGE = ["--header", "Accept-Language: en"]


def header(name, value):
    return ["--header", f"{name}: {value}"]


def code(answer):
    return answer.json()["error"]["code"]


def write_tokens(path, *rows):
    path.write_text("".join(f"{role} {token} {name}\n" for role, token, name in rows))
    path.chmod(0o600)
    return path


ALICE = ("control", CONTROL, "alice")
GRAFANA = ("read", READ, "grafana")


@pytest.fixture(scope="module")
def server(scratch, profiled):  # noqa: F811
    tokens = write_tokens(scratch / "tokens", ALICE, GRAFANA)
    with serve(scratch, profiled.pid, "--require-token", "--token-file", tokens, port=free_port()) as endpoint:
        endpoint.pid = profiled.pid
        endpoint.tokens = tokens
        endpoint.purge = f"/api/v1/targets/{profiled.pid}/purge"
        yield endpoint


def own(server):
    """What a browser adds to a request of the server's own page."""
    return [*header("Sec-Fetch-Site", "same-origin"), *header("Origin", server.base), *LANGUAGE]


def post_token(server, token, *options):
    return server.post(SESSION, *header("Content-Type", "application/json"), "--data", json.dumps({"token": token}), *options)


def sign_in(server, token=CONTROL, *options):
    """The Cookie header of a new session."""
    answer = post_token(server, token, *own(server), *options)
    assert answer.status == 201, answer.text
    return header("Cookie", answer.header("set-cookie").partition(";")[0])


def reload(server):
    """The new tokens count once the server has read them."""
    server.process.send_signal(signal.SIGHUP)


def test_no_session_where_another_user_has_localhost(scratch, profiled):  # noqa: F811
    """That user's page would be of the server's origin, and the browser sends its cookies to both."""
    tokens, port = write_tokens(scratch / "tokens-localhost", ALICE), free_port()
    with socket.create_server(("::1", port), family=socket.AF_INET6), \
         serve(scratch, profiled.pid, "--require-token", "--token-file", tokens, port=port) as endpoint:
        cookie = sign_in(endpoint)
        assert endpoint.get(TARGETS, *cookie).status == 200
        name = header("Host", f"localhost:{port}")
        assert endpoint.get(TARGETS, *cookie, *name).status == 401
        assert code(post_token(endpoint, CONTROL, *header("Sec-Fetch-Site", "same-origin"), *name)) == "host_not_allowed"


def test_what_a_stranger_may_know(server):
    answer = server.get(SESSION)
    assert (answer.status, answer.header("cache-control")) == (200, "no-store")
    assert answer.json() == {"role": "none", "name": None, "tokens": True, "session": False, "remaining_seconds": None}
    assert server.get(SESSION, *header("Host", "evil.example")).status == 403


def test_a_session_stands_for_its_token(server):
    answer = post_token(server, CONTROL, *own(server))
    assert answer.status == 201 and CONTROL not in answer.text + str(answer.headers)
    cookie = answer.header("set-cookie")
    port = server.base.rpartition(":")[2]
    assert re.fullmatch(rf"jescope-session-{port}=[0-9a-f]{{64}}; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict", cookie)
    sent = header("Cookie", "theme=dark; " + cookie.partition(";")[0])
    state = server.get(SESSION, *sent).json()
    assert (state["role"], state["name"], state["session"]) == ("control", "alice (127.0.0.1)", True)
    assert 0 < state["remaining_seconds"] <= 43200
    assert server.get(TARGETS, *sent).status == 200
    assert server.post(server.purge, *sent, *own(server)).status == 200
    assert f"audit: alice (127.0.0.1): POST {SESSION}: 201" in server.log.read_text()
    assert cookie.partition("=")[2][:64] not in server.log.read_text()


def test_role_of_the_token_is_that_of_the_session(server):
    sent = sign_in(server, READ)
    assert server.get(SESSION, *sent).json()["role"] == "read"
    assert server.get(TARGETS, *sent).status == 200
    answer = server.post(server.purge, *sent, *own(server))
    assert (answer.status, code(answer)) == (403, "role_too_low")


def test_a_cookie_is_no_permission_to_another_site(server):
    """As a token's sender is no browser, and a cookie's is one."""
    sent = sign_in(server)
    for said, why in [
        (header("Sec-Fetch-Site", "cross-site"), "cross_site"), (header("Sec-Fetch-Site", "same-site"), "cross_site"),
        (header("Origin", "http://evil.example"), "cross_site"), (header("Origin", "null"), "cross_site"),
        (header("Origin", server.base + "0"), "cross_site"), (header("Referer", "http://127.0.0.1:1/"), "cross_site"),
        (header("Sec-Fetch-Site", "none"), "origin_unknown"), ([], "origin_unknown"),
    ]:
        for ask in (lambda said: server.post(server.purge, *sent, *said), lambda said: server.ask("DELETE", SESSION, *sent, *said)):
            answer = ask(said)
            assert (answer.status, code(answer)) == (403, why), said
    for site in ("cross-site", "same-site"):
        assert server.get(TARGETS, *sent, *header("Sec-Fetch-Site", site), *header("Sec-Fetch-Mode", "no-cors")).status == 403
    assert server.get(TARGETS, *sent).status == 200, "it is still signed in"


def test_another_site_cannot_sign_in(server):
    """Or its visitors would work in the session of an attacker."""
    for said in (header("Sec-Fetch-Site", "cross-site"), header("Origin", "http://evil.example"), LANGUAGE):
        answer = post_token(server, CONTROL, *said)
        assert answer.status == 403 and answer.header("set-cookie") is None
    form = ["--data", f"token={CONTROL}", *header("Origin", "http://evil.example")]
    assert server.post(SESSION, *form).status == 403


def test_fixation(server):
    """An id that an attacker has planted never becomes a session, and an old session ends with the next."""
    port = server.base.rpartition(":")[2]
    planted = header("Cookie", f"jescope-session-{port}={'0' * 64}")
    fresh = sign_in(server, CONTROL, *planted)
    assert "0" * 64 not in fresh[1]
    assert server.get(TARGETS, *planted).status == 401
    again = sign_in(server, CONTROL, *fresh)
    assert server.get(TARGETS, *fresh).status == 401
    assert server.get(TARGETS, *again).status == 200
    # Two of them are one too many: either may be another server's.
    both = header("Cookie", again[1].removeprefix("Cookie: ") + "; " + planted[1].removeprefix("Cookie: "))
    assert server.get(TARGETS, *both).status == 401
    elsewhere = header("Cookie", again[1].removeprefix("Cookie: ").replace(port, "1"))
    assert server.get(TARGETS, *elsewhere).status == 401


def test_replay_after_signing_out(server):
    sent = sign_in(server)
    answer = server.ask("DELETE", SESSION, *sent, *own(server))
    assert answer.status == 200 and answer.json()["role"] == "none"
    assert "Max-Age=0" in answer.header("set-cookie")
    answer = server.get(TARGETS, *sent)
    assert (answer.status, code(answer)) == (401, "unauthorized")
    assert server.ask("DELETE", SESSION, *sent, *own(server)).status == 200


@pytest.mark.skipif(os.geteuid() != 0, reason="root alone can be another user")
def test_a_cookie_that_another_user_stole(server):
    """A browser sends it to every port of this machine."""
    sent = sign_in(server)
    done = subprocess.run(server.command("GET", TARGETS, *sent), capture_output=True, timeout=DEADLINE, user=NOBODY, group=NOBODY,
                          extra_groups=[], cwd="/")
    assert parse(done.stdout).status == 401
    assert server.get(TARGETS, *sent).status == 200


def test_streams_end_with_the_session(server):
    sent = sign_in(server)
    client = http.client.HTTPConnection("127.0.0.1", int(server.base.rpartition(":")[2]), timeout=DEADLINE)
    client.request("GET", "/api/v1/events", headers={"Cookie": sent[1].removeprefix("Cookie: ")})
    stream = client.getresponse()
    assert stream.status == 200 and stream.readline() == b"retry: 2000\n"
    for _ in range(3):  # that others sign in and out does not end it
        other = sign_in(server, READ)
        server.ask("DELETE", SESSION, *other, *own(server))
    assert server.post(server.purge, *sent, *own(server)).status == 200
    while not (line := stream.readline()).startswith(b"data: "):
        assert line, "the stream goes on"
    server.ask("DELETE", SESSION, *sent, *own(server))
    end = time.monotonic() + DEADLINE
    while stream.readline():  # it ends, though heartbeats might come for ever
        assert time.monotonic() < end
    client.close()


def test_token_in_a_url_is_refused(server):
    answer = server.post(f"{SESSION}?token={CONTROL}", *own(server))
    assert (answer.status, code(answer)) == (400, "invalid_parameter")
    assert answer.header("set-cookie") is None
    assert CONTROL not in server.log.read_text()
    assert server.get(f"{TARGETS}?token={CONTROL}").status == 401


@pytest.mark.parametrize("body", ["", "{}", '{"token":""}', '{"token":null}', '{"token":["x"]}', '{"token":"\\u0000"}', "token=" + "x" * 3000, "\xff", "{",
                                  f'{{"token":"{CONTROL}","token":"{CONTROL}"}}', f'{{"token":"{CONTROL} "}}', f'{{"tokens":"{CONTROL}"}}'])
def test_no_token(server, body):
    answer = server.post(SESSION, "--data-binary", body, *own(server))
    assert answer.status in (400, 401) and answer.header("set-cookie") is None


def test_a_withdrawn_token_ends_its_sessions(server):
    alice, grafana = sign_in(server), sign_in(server, READ)
    try:
        write_tokens(server.tokens, GRAFANA)
        reload(server)
        wait_for(lambda: server.get(TARGETS, *alice).status == 401, "the token is withdrawn")
        assert server.get(SESSION, *alice).json()["role"] == "none"
        assert server.get(TARGETS, *grafana).status == 200
        write_tokens(server.tokens, ("read", CONTROL, "alice"), GRAFANA)
        reload(server)
        wait_for(lambda: server.get(TARGETS, *alice).status == 200, "the token is back")
        assert server.get(SESSION, *alice).json()["role"] == "read", "with the role that it has now"
    finally:
        write_tokens(server.tokens, ALICE, GRAFANA)
        reload(server)
    wait_for(lambda: server.get(SESSION, *alice).json()["role"] == "control", "the token is as it was")


def test_guesses_are_held_back(scratch):
    tokens = write_tokens(scratch / "few-tokens", ALICE)
    with serve(scratch, "--require-token", "--token-file", tokens, port=free_port()) as endpoint:
        begin = time.monotonic()
        for number in range(7):
            answer = post_token(endpoint, f"a-guess-that-is-wrong-{number}", *own(endpoint))
            assert (answer.status, code(answer)) == (401, "unauthorized")
        assert time.monotonic() - begin > 1, "five at once, then one per second"
        with subprocess.Popen(endpoint.command("POST", SESSION, "--data", "token=another-wrong-guess", *own(endpoint)),
                              stdout=subprocess.PIPE) as waiting:
            sign_in(endpoint)
            assert parse(waiting.communicate(timeout=DEADLINE)[0]).status == 401


def test_with_tls_the_cookie_is_secure(scratch):
    key, pem = scratch / "key.pem", scratch / "cert.pem"
    make_certificate(key, pem, "localhost")
    tokens = write_tokens(scratch / "tls-tokens", ALICE)
    with serve(scratch, "--tls-cert", pem, "--tls-key", key, "--require-token", "--token-file", tokens, port=free_port(), scheme="https",
               curl=["--cacert", str(pem)]) as endpoint:
        endpoint.curl = ["--cacert", str(pem)]
        in_clear = header("Origin", endpoint.base.replace("https:", "http:"))
        assert code(post_token(endpoint, CONTROL, *in_clear)) == "cross_site", "who is between may have made that page"
        cookie = post_token(endpoint, CONTROL, *own(endpoint)).header("set-cookie")
        assert cookie.startswith("__Host-jescope-session-") and cookie.endswith("; HttpOnly; SameSite=Strict; Secure")
        assert endpoint.get(TARGETS, *header("Cookie", cookie.partition(";")[0])).status == 200
        assert endpoint.get(TARGETS, *header("Cookie", cookie.partition(";")[0].removeprefix("__Host-"))).status == 401


def test_without_tokens_there_is_nothing_to_sign_in_with(scratch):
    with serve(scratch, port=free_port()) as endpoint:
        state = endpoint.get(SESSION).json()
        assert (state["role"], state["tokens"], state["session"]) == ("control", False, False)
        assert code(post_token(endpoint, CONTROL, *own(endpoint))) == "no_tokens"
        assert endpoint.get(TARGETS, *header("Cookie", f"jescope-session-1={'0' * 64}")).status == 200
