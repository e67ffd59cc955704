# SPDX-License-Identifier: Apache-2.0
"""The pprof family, with the clients it is for: go tool pprof and jeprof."""

import gzip
import re
import shutil
import subprocess
import time

import pytest
from endpoint import is_whole_dump, serve
from profiles import Pprof, need
from programs import fill, running_redis, unprofiled  # noqa: F401
from services import DEADLINE, environment, free_port

OFTEN = "zmalloc|sds|createObject|setrange|processCommand|call|main"


@pytest.fixture(scope="module")
def server(scratch):
    """Redis, which counts what it has ever allocated, too."""
    with running_redis(scratch, "counting", "--active", "--sample", "4KiB", MALLOC_CONF="prof_accum:true") as redis:
        fill(redis)
        with serve(scratch, redis.pid, port=free_port()) as endpoint:
            endpoint.pid = redis.pid
            endpoint.redis = redis
            yield endpoint


def client(scratch, *words):
    folder = scratch / "client"
    folder.mkdir(exist_ok=True)
    env = environment(scratch) | {"HOME": str(folder), "PPROF_TMPDIR": str(folder), "JEPROF_TMPDIR": str(folder)}
    done = subprocess.run([str(word) for word in words], env=env, capture_output=True, text=True, timeout=DEADLINE * 3, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("path", ["/debug/pprof/heap", "/debug/pprof/allocs"])
@pytest.mark.parametrize("symbolize", ["none", "remote"])
def test_go_tool_pprof(scratch, server, path, symbolize):
    text = client(scratch, need("go"), "tool", "pprof", "-top", "-nodecount=500", f"-symbolize={symbolize}", server.base + path)
    assert "Type: " in text and "flat%" in text
    assert re.search(rf"\s({OFTEN})\w*$", text, re.M), text


def test_go_tool_pprof_of_two_moments(scratch, server):
    text = client(scratch, need("go"), "tool", "pprof", "-top", "-nodecount=500", "-symbolize=none", "-seconds=1",
                  server.base + "/debug/pprof/heap")
    assert "flat%" in text


def test_jeprof_without_a_program(scratch, server):
    text = client(scratch, need("jeprof"), "--text", server.base + "/pprof/heap")
    assert text.startswith("Total: ")
    assert re.search(rf"\s({OFTEN})\w*$", text, re.M), text


def test_jeprof_with_a_program(scratch, server):
    text = client(scratch, need("jeprof"), "--text", shutil.which("redis-check-rdb"), server.base + "/pprof/heap")
    assert text.startswith("Total: ")


def test_jeprof_difference(scratch, server):
    base = server.get("/pprof/heap").body
    (scratch / "base.heap").write_bytes(base)
    fill(server.redis, 400, 32768)
    text = client(scratch, need("jeprof"), "--text", "--base", scratch / "base.heap", server.base + "/pprof/heap")
    assert float(re.match(r"Total: (-?[\d.]+)", text).group(1)) > 0


@pytest.mark.parametrize("path", ["heap", "allocs", "delta_heap?seconds=1", "heap?seconds=1"])
def test_profiles_are_pprof(server, path):
    answer = server.get(f"/debug/pprof/{path}")
    assert (answer.status, answer.type) == (200, "application/octet-stream")
    assert "attachment" in answer.header("content-disposition")
    found = Pprof(answer.body)
    assert found.samples or "seconds" in path


def test_gc_is_understood(server):
    assert server.get("/debug/pprof/heap?gc=1").status == 200


def test_debug_is_text(server):
    answer = server.get("/debug/pprof/heap?debug=1")
    assert answer.status == 200 and answer.type.startswith("text/plain")
    answer.body.decode()


def test_seconds_is_a_difference(server):
    """Earlier allocations do not count, those made in the meantime do."""
    whole = Pprof(server.get("/debug/pprof/heap").body).totals()
    begin = time.monotonic()
    difference = Pprof(server.get("/debug/pprof/heap?seconds=1").body).totals()
    assert time.monotonic() - begin >= 1
    assert abs(difference[-1]) < whole[-1]


@pytest.mark.parametrize("path", ["profile", "goroutine", "block", "mutex", "threadcreate", "trace", "nonsense"])
def test_what_we_do_not_have(server, path):
    answer = server.get(f"/debug/pprof/{path}")
    assert answer.status == 404
    assert answer.header("x-go-pprof") == "1"


def test_index(server):
    answer = server.get("/debug/pprof/")
    assert answer.status == 200
    for name in ("heap", "allocs", "cmdline", "symbol"):
        assert name in answer.text
    assert "goroutine" not in answer.text


@pytest.mark.parametrize("base", ["/pprof", "/debug/pprof"])
def test_symbol(server, base):
    answer = server.get(f"{base}/symbol")
    assert answer.status == 200 and re.match(r"num_symbols: [1-9]\d*\n", answer.text)
    heap = server.get("/pprof/heap").text
    addresses = sorted({word for line in re.findall(r"^@ (.*)$", heap, re.M) for word in line.split()})[:50]
    answer = server.post(f"{base}/symbol", "--data-binary", "+".join(f"0x{int(word, 16):016x}" for word in addresses))
    rows = [line.split("\t", 1) for line in answer.text.splitlines() if "\t" in line]
    assert {int(row[0], 16) for row in rows} <= {int(word, 16) for word in addresses} and rows
    assert any(not name.startswith("0x") for _, name in rows)


def test_symbol_of_nonsense(server):
    for body in ("", "+", "zzz", "0x", "0x" + "f" * 100, "+".join(["0x1"] * 20000)):
        assert server.post("/pprof/symbol", "--data-binary", body).status in (200, 400, 413)


@pytest.mark.parametrize("base", ["/pprof", "/debug/pprof"])
def test_cmdline(server, base):
    answer = server.get(f"{base}/cmdline")
    with open(f"/proc/{server.pid}/cmdline", "rb") as file:
        assert answer.body.rstrip(b"\0\n") == file.read().rstrip(b"\0")


def test_raw_heap_is_symbolized(server):
    """Preceded by its names, so that jeprof needs no program; the rest is jemalloc's own."""
    answer = server.get("/pprof/heap")
    assert answer.status == 200
    raw = answer.body.partition(b"--- heap\n")[2] if answer.body.startswith(b"--- symbol") else answer.body
    assert is_whole_dump(raw)


def test_growth(server):
    assert server.get("/pprof/growth").status in (200, 404)


def test_without_profiling(scratch, unprofiled):  # noqa: F811
    with serve(scratch, unprofiled.pid) as endpoint:
        for path in ("heap", "allocs"):
            answer = endpoint.get(f"/debug/pprof/{path}")
            assert answer.status >= 400 and answer.header("x-go-pprof") == "1"
            assert "prof:true" in answer.text


def test_gzip_is_the_formats_own(server):
    answer = server.get("/debug/pprof/heap", "--header", "Accept-Encoding: gzip")
    assert answer.header("content-encoding") is None
    gzip.decompress(answer.body)
