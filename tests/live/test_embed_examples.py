# SPDX-License-Identifier: Apache-2.0
"""The programs of examples/ do what docs/embedding.md says of them."""

import json
import os
import pathlib
import pwd
import subprocess
import urllib.error
import urllib.request

import pytest
from sanitized import renders
from victims import BUILD, DEADLINE, eventually, start_time

JESCOPE = BUILD / "src/cli/jescope"


def example(name):
    path = BUILD / "examples" / name
    if not path.exists():
        pytest.skip(f"{name} was not built: it needs libjemalloc-dev and its compiler or library")
    return path


@pytest.fixture
def environment(sockets):
    conf = "prof:true,prof_active:true,lg_prof_sample:0"
    path = f"{JESCOPE.parent}:/usr/bin:/bin"
    return {"PATH": path, "MALLOC_CONF": conf, "JESCOPE_SOCKET_DIR": str(sockets), "HOME": str(sockets)}


@pytest.fixture(params=["service", "sockets"])
def service(request, environment):
    """(process, base of the URLs, base of jescope's)"""
    process = subprocess.Popen(
        [example(request.param)], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        mounted = process.stdout.readline().strip()
        base = "/".join(mounted.split("/")[:3])
        yield process, base, mounted.rstrip("/")
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def get(url, data=None):
    """(status, content type, body)"""
    try:
        with urllib.request.urlopen(url, data, timeout=DEADLINE) as reply:
            return reply.status, reply.headers.get("Content-Type"), reply.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers.get("Content-Type"), error.read()


@renders
def test_jescopes_routes_beside_the_services_own(service):
    _, base, mounted = service
    assert get(f"{base}/work")[0] in (200, 204)
    status, kind, body = get(f"{mounted}/mtev/memory.json")
    assert (status, kind) == (200, "application/json") and "jemalloc" in json.loads(body)
    status, _, body = get(f"{mounted}/mtev/heap_profile?trigger_dump=true")
    assert status == 200 and body.startswith(b"heap_v2/1\n")
    assert get(f"{mounted}/nothing")[0] == 404
    status, _, body = get(f"{mounted}/api/v1/targets/self/profiling", data=b"active=false")
    assert status == 200, body
    assert b"prof.active: false" in get(f"{mounted}/mtev/heap_profile")[2]
    status, _, body = get(f"{mounted}/debug/pprof/heap")
    assert status == 200 and body.startswith(b"\x1f\x8b"), body


@renders
def test_a_recording_from_start_to_report(service):
    _, base, mounted = service
    get(f"{mounted}/mtev/heap_profile?active=false")
    assert get(f"{mounted}/memory-profiler/start?duration=10mins")[0] == 200
    for _ in range(10):
        get(f"{base}/work")
    assert get(f"{mounted}/memory-profiler/stop")[0] == 200
    status, _, body = get(f"{mounted}/memory-profiler/download/text")
    assert status == 200 and (b"do_work" in body or b"answer" in body)


def test_the_tool_reaches_it_until_its_end(service, environment):
    process, _, _ = service
    socket = pathlib.Path(environment["JESCOPE_SOCKET_DIR"]) / f"{process.pid}.{start_time(process.pid)}.sock"
    eventually(socket.exists, "the library listens")
    out = subprocess.run([JESCOPE, "status", "--json", f"unix:{socket}"], env=environment, check=True, capture_output=True)
    assert json.loads(out.stdout)["pid"] == process.pid
    process.stdin.close()
    assert process.wait(DEADLINE) == 0


def test_top_shows_it_by_its_url(service, environment):
    """What it does not tell of itself is known of a process of this machine."""
    process, _, mounted = service

    def top(*words):
        url = f"{mounted}/targets/self"
        return subprocess.run([JESCOPE, "top", *words, url], env=environment, check=True, capture_output=True, text=True).stdout

    [target] = json.loads(top("--json", "--count=1"))["targets"]
    assert target["unique"] == f"{process.pid}.{start_time(process.pid)}" and target["state"] == "live"
    assert target["user"] == pwd.getpwuid(os.geteuid()).pw_name and target["arguments"] == str(process.args[0])
    group = pathlib.Path(f"/proc/{process.pid}/cgroup").read_text()
    assert target["control_group"] in [line.split(":", 2)[2] for line in group.splitlines()]
    assert target["sample"]["rss"] > 0
    by_server = subprocess.run([JESCOPE, "top", "--once", mounted], env=environment, check=True, capture_output=True, text=True).stdout
    assert f" {process.pid} " in by_server, "a server without a list of targets is one"
    status = subprocess.run([JESCOPE, "status", "--json", mounted], env=environment, check=True, capture_output=True)
    assert json.loads(status.stdout)["pid"] == process.pid
    shown = top("--once")
    assert "live allocations" in shown and "Memory: RSS" in shown and "reached by server" in shown and "Arenas" in shown


def test_rust(environment, tmp_path):
    done = subprocess.run([example("ffi"), tmp_path / "heap"], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("1000 blocks held, ")
    out = subprocess.run([JESCOPE, "report", tmp_path / "heap"], env=environment, check=True, capture_output=True)
    assert b"ffi::fill" in out.stdout


def test_rust_without_profiling_is_sampled(environment, tmp_path):
    environment["MALLOC_CONF"] = "prof:false"
    done = subprocess.run([example("ffi"), tmp_path / "heap"], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert b"#sampler jescope 1 " in (tmp_path / "heap").read_bytes()
