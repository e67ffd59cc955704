# SPDX-License-Identifier: Apache-2.0
"""Guesses of tokens. A peer has a few that are refused at once; the refusals of the others are delayed."""

import contextlib
import http.client

import pytest
from endpoint import serve

FREE = 5  # PEERS_FREE_FAILURES
HELD = 16  # SERVER_HELD_OF_PEER
TOKEN = "read-0123456789abcdef"
_BODY = b'{"token":"wrong-0123456789abcdef"}'
BY_BEARER = b"GET /api/v1/targets HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer wrong-0123456789abcdef\r\n\r\n"
BY_SESSION = b"POST /api/v1/session HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (
    len(_BODY), _BODY)
GUESSES = [pytest.param(BY_BEARER, id="bearer"), pytest.param(BY_SESSION, id="session")]


@contextlib.contextmanager
def serve_with_token(scratch, *words, port):
    """A server that is asked with TOKEN, which it requires."""
    tokens = scratch / f"tokens-{port}"
    tokens.write_text(f"read {TOKEN} grafana\n")
    tokens.chmod(0o600)
    with serve(scratch, "--require-token", "--token-file", tokens, *words, port=port, curl=["--header", f"Authorization: Bearer {TOKEN}"]) as endpoint:
        yield endpoint


def read_refusal(connection):
    """Of a guess; whether the connection ends with it."""
    answer = http.client.HTTPResponse(connection)
    answer.begin()
    answer.read()
    assert answer.status == 401
    return answer.will_close


def use_up(connection, guess):
    """The guesses of its peer that are refused at once."""
    for _ in range(FREE):
        connection.sendall(guess)
        assert not read_refusal(connection)


def refusals(server, peer):
    """The guesses of PEER that the server has judged, of which it logs the first ten at once."""
    return server.log.read_text().count(f"audit: {peer}:")
