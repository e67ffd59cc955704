# SPDX-License-Identifier: Apache-2.0
"""Every dialect on a Redis whose jemalloc cannot profile: jescope's own sampler serves."""

import re

import pytest
from endpoint import is_active, serve
from programs import fill, sampled  # noqa: F401
from services import wait_for


def is_sampled(body):
    return body.startswith(b"heap_v2/") and b"\n#sampler jescope 1 since=" in body[:100] and re.search(rb"^#live ", body, re.M)


@pytest.fixture(scope="module")
def server(scratch, sampled):  # noqa: F811
    with serve(scratch, sampled.pid) as endpoint:
        endpoint.pid, endpoint.redis = sampled.pid, sampled
        yield endpoint


@pytest.fixture(autouse=True)
def off(server):
    yield
    assert server.ask("PUT", f"/api/v1/targets/{server.pid}/profiling?active=false").status == 200


def body(answer):
    assert answer.status == 200, answer
    return answer.body


def test_libmtev(scratch, server):
    assert b"prof.active: false\n" in body(server.get("/mtev/heap_profile"))
    assert body(server.get("/mtev/heap_profile?active=true")) == b"Profiling is activated\n"
    assert is_active(scratch, server.pid)
    fill(server.redis, 400)
    assert is_sampled(body(server.get("/mtev/heap_profile?trigger_dump=true")))
    assert b"prof.active: true\n" in body(server.get("/mtev/heap_profile"))
    assert server.get("/mtev/heap_profile?active=false").status == 200
    assert not is_active(scratch, server.pid)


def test_userver(scratch, server):
    """Into a file of the program, as jemalloc would: prof_prefix is jemalloc's default."""
    ask = lambda command: body(server.post(f"/service/jemalloc/prof/{command}"))  # noqa: E731
    assert ask("enable") == b"OK\n" and is_active(scratch, server.pid)
    fill(server.redis, 400)
    before = set(scratch.rglob("jeprof.*.heap"))
    assert ask("dump") == b"OK\n"
    (dump,) = set(scratch.rglob("jeprof.*.heap")) - before
    assert re.fullmatch(rf"jeprof\.{server.pid}\.\d+\.m\d+\.heap", dump.name) and is_sampled(dump.read_bytes())
    assert ask("disable") == b"OK\n" and not is_active(scratch, server.pid)


def test_mesos(scratch, server):
    ask = lambda path: server.get(f"/memory-profiler/{path}")  # noqa: E731
    number = ask("start?duration=5mins").json()["id"]
    assert is_active(scratch, server.pid)
    fill(server.redis, 400)
    assert ask("stop").json()["id"] == str(number)
    assert is_sampled(body(ask("download/raw")))
    assert b"Total: " in body(ask("download/text")) and b"<svg" in body(ask("download/graph"))
    assert not is_active(scratch, server.pid)


def test_pprof(scratch, server):
    assert server.ask("PUT", f"/api/v1/targets/{server.pid}/profiling?active=true").status == 200
    fill(server.redis, 400)
    assert is_sampled(body(server.get("/pprof/heap")))
    for path in ("heap", "allocs"):
        assert body(server.get(f"/debug/pprof/{path}"))[:2] == b"\x1f\x8b"


def test_recording(scratch, server):
    """The native API: a recording is a lease of the sampler, with a dump at its end."""
    answer = server.post(f"/api/v1/targets/{server.pid}/recordings?for=10m")
    assert answer.status == 201
    wait_for(lambda: is_active(scratch, server.pid), "the recording samples")
    fill(server.redis, 400)
    assert server.ask("DELETE", answer.header("location")).status in (200, 202, 204)
    wait_for(lambda: not is_active(scratch, server.pid), "the recording has ended")
    assert is_sampled(body(server.get(f"/api/v1/targets/{server.pid}/dumps/latest")))
