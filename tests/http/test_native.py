# SPDX-License-Identifier: Apache-2.0
"""The native API of one target, asked as docs/api.md has it."""

import json

import pytest
from endpoint import is_active, is_whole_dump, serve, set_active
from programs import fill, profiled, unprofiled  # noqa: F401
from services import wait_for

# What a report of each format begins with, or has in it.
FORMATS = {
    "raw": b"heap_v2/",
    "text": b" in use, ",
    "tree": b"100.0%",
    "folded": b";",
    "flamegraph": b"<svg",
    "callgraph": b"digraph",
    "callgraph-svg": b"<svg",
    "speedscope": b"https://www.speedscope.app/file-format-schema.json",
    "pprof": b"\x1f\x8b",
    "symbolized": b"--- symbol",
    "source": b"",
    "json": b"{",
}
# A value for each option of a report that is neither of a choice nor a boolean.
VALUES = {"base": "latest", "count": "3", "min-fraction": "0.01", "edge-fraction": "0.01", "focus": "zmalloc|main", "ignore": "nothing",
          "exclude": "nothing", "retain": "zmalloc|main", "thread": "1"}


@pytest.fixture(scope="module")
def server(scratch, profiled):  # noqa: F811
    set_active(scratch, profiled.pid, True)
    fill(profiled)
    set_active(scratch, profiled.pid, False)
    with serve(scratch, profiled.pid) as endpoint:
        endpoint.pid = profiled.pid
        endpoint.redis = profiled
        assert ask(endpoint, "dumps", "POST", 201)["bytes"] > 0
        yield endpoint


def path(endpoint, rest):
    return f"/api/v1/targets/{endpoint.pid}/{rest}"


def ask(endpoint, rest, method="GET", status=200):
    answer = endpoint.ask(method, path(endpoint, rest))
    assert (answer.status, answer.type) == (status, "application/json"), answer
    return answer.json()


def refused(endpoint, rest, method, status, code):
    error = ask(endpoint, rest, method, status)["error"]
    assert error["code"] == code and error["message"] and error["hint"]


def test_a_lease_ends_by_itself(scratch, server):
    lease = ask(server, "profiling?active=true&for=1s", "POST")["lease"]
    assert 0 < lease["remaining_seconds"] <= 1 and lease["active"] and not lease["restores"]
    assert is_active(scratch, server.pid)
    wait_for(lambda: ask(server, "profiling")["lease"] is None, "the lease is over")
    assert not is_active(scratch, server.pid)


def test_a_lease_is_renewed_and_ended(scratch, server):
    lease = ask(server, "profiling?active=true&for=5s", "PUT")["lease"]["id"]
    refused(server, "profiling?active=true&for=5s", "PUT", 409, "busy")
    assert ask(server, f"profiling/leases/{lease}?for=100s", "PUT")["lease"]["remaining_seconds"] > 90
    assert ask(server, f"profiling/leases/{lease}", "DELETE")["lease"] is None
    assert not is_active(scratch, server.pid)
    assert server.ask("DELETE", path(server, f"profiling/leases/{lease}")).status in (404, 409)


def test_a_recording(scratch, server):
    answer = server.post(path(server, "recordings?for=2s"))
    assert answer.status == 201
    started = answer.json()
    assert answer.header("location") == path(server, f"recordings/{started['id']}")
    assert started["state"] == "running" and 1 < started["remaining_seconds"] <= 2
    refused(server, "recordings?for=1s", "POST", 409, "busy")
    refused(server, f"recordings/{started['id']}/result", "GET", 409, "running")
    assert is_active(scratch, server.pid)
    fill(server.redis)
    one = f"recordings/{started['id']}"
    done = wait_for(lambda: next((row for row in [ask(server, one)] if row["state"] == "done"), None), "the recording is done")
    assert done["remaining_seconds"] == 0 and done["duration_seconds"] >= 1.99  # both ends are cut to milliseconds
    assert not is_active(scratch, server.pid)
    result = server.get(path(server, one + "/result"))
    assert is_whole_dump(result.body) and result.header("content-disposition").startswith("attachment; filename=")
    assert result.body == server.get(path(server, f"dumps/{done['dump']}")).body
    assert "zmalloc" in server.get(path(server, one + "/result?format=text")).text
    assert ask(server, "recordings")["recordings"][0] == done


@pytest.mark.parametrize("how", ["DELETE", "stop"])
def test_a_recording_is_ended_early(scratch, server, how):
    number = ask(server, "recordings?for=1h", "POST", 201)["id"]
    one = f"recordings/{number}"
    done = ask(server, one, "DELETE") if how == "DELETE" else ask(server, one + "/stop", "POST")
    assert done["state"] == "done" and done["duration_seconds"] < 3600
    assert is_whole_dump(server.get(path(server, one + "/result")).body)
    assert not is_active(scratch, server.pid)


def test_a_recording_that_others_end(scratch, server):
    number = ask(server, "recordings?for=1s", "POST", 201)["id"]
    set_active(scratch, server.pid, False)
    wait_for(lambda: ask(server, f"recordings/{number}")["state"] == "dropped", "the recording is dropped")
    assert ask(server, f"recordings/{number}")["dump"] is None
    assert server.get(path(server, f"recordings/{number}/result")).status in (404, 409, 410)


def test_every_format_is_there(server):
    description = server.get("/api/v1/openapi.json").json()
    parameters = description["paths"]["/api/v1/targets/{target}/dumps/{dump}"]["get"]["parameters"]
    (formats,) = [row["schema"]["enum"] for row in parameters if row["name"] == "format"]
    assert set(formats) == set(FORMATS)


@pytest.mark.parametrize("name", FORMATS)
def test_format(server, name):
    options = "&focus=zmalloc" if name == "source" else ""
    answer = server.get(path(server, f"dumps/latest?format={name}{options}"))
    assert answer.status == 200, answer.text
    assert FORMATS[name] in answer.body
    if name in ("json", "speedscope"):
        assert json.loads(answer.body)


def test_every_option_of_a_report(server):
    description = server.get("/api/v1/openapi.json").json()
    parameters = description["paths"]["/api/v1/targets/{target}/dumps/{dump}"]["get"]["parameters"]
    options = [row for row in parameters if row["in"] == "query" and row["name"] != "format"]
    assert len(options) > 15
    for row in options:
        schema = row["schema"]
        values = schema.get("enum") or (["true"] if schema["type"] == "boolean" else [VALUES[row["name"]]])
        for value in values:
            if (row["name"], value) == ("sort", "change"):
                value += "&base=latest"
            form = "callgraph" if row["name"] == "edge-fraction" else "tree" if row["name"] == "callers" else "text"
            answer = server.get(path(server, f"dumps/latest?format={form}&{row['name']}={value}"))
            assert answer.status == 200, (row["name"], value, answer.text)


def test_a_difference(server):
    base = ask(server, "dumps", "POST", 201)["id"]
    ask(server, "profiling?active=true", "PUT")
    fill(server.redis, 400)
    ask(server, "profiling?active=false", "PUT")
    later = ask(server, "dumps", "POST", 201)["id"]
    answer = server.get(path(server, f"dumps/{later}?format=text&base={base}"))
    assert "against" in answer.text and "zmalloc" in answer.text
    assert "zmalloc" not in server.get(path(server, f"dumps/{later}?format=text&base={later}")).text
    refused(server, f"dumps/{later}?format=text&base=123456", "GET", 404, "not_found")


def test_dumps_are_listed_newest_first(server):
    number = ask(server, "dumps", "POST", 201)["id"]
    rows = ask(server, "dumps")["dumps"]
    assert rows[0]["id"] == number and [row["id"] for row in rows] == sorted((row["id"] for row in rows), reverse=True)
    assert server.get(path(server, "dumps/latest")).body == server.get(path(server, f"dumps/{number}")).body


def test_a_kept_dump_has_a_tag(server):
    number = ask(server, "dumps", "POST", 201)["id"]
    for query in ("", "?format=flamegraph"):
        where = path(server, f"dumps/{number}{query}")
        tag = server.get(where).header("etag")
        again = server.get(where, "--header", f"If-None-Match: {tag}")
        assert (again.status, again.body, again.header("etag")) == (304, b"", tag)


def test_statistics(server):
    assert "stats.arenas" in server.get(path(server, "statistics")).json()["jemalloc"]
    text = server.get(path(server, "statistics?format=text"))
    assert text.type.startswith("text/plain") and text.text.startswith("___ Begin jemalloc statistics ___")
    assert len(server.get(path(server, "statistics?format=text&options=gmablxe")).body) < len(text.body)


def test_decay(server):
    before = ask(server, "decay")
    assert ask(server, "decay?dirty_ms=1234", "PUT")["dirty_ms"] == 1234
    assert ask(server, "decay") == before | {"dirty_ms": 1234}
    assert ask(server, f"decay?dirty_ms={before['dirty_ms']}", "PUT") == before


@pytest.mark.parametrize("what", ["purge", "decay"])
def test_pages_are_returned(server, what):
    found = ask(server, what, "POST")
    assert found["resident_before"] > 0 and found["resident_after"] > 0


def test_background_threads(server):
    ask(server, "background-thread?enabled=false", "PUT")
    assert ask(server, "background-thread?enabled=true&max=2", "PUT") == {"enabled": True, "max": 2}
    assert ask(server, "background-thread") == {"enabled": True, "max": 2}
    refused(server, "background-thread?max=0", "PUT", 400, "invalid_parameter")
    assert ask(server, "background-thread?enabled=false", "PUT")["enabled"] is False


def test_reset(server):
    ask(server, "profiling?active=true", "PUT")
    fill(server.redis)
    ask(server, "profiling?active=false", "PUT")
    found = ask(server, "reset?sample=8KiB", "POST")
    assert found["sample_bytes"] == 8192 and found["reset_at"]
    assert b"\n@ " not in server.get(path(server, "dumps/now")).body
    assert ask(server, "reset?sample=4KiB", "POST")["sample_bytes"] == 4096


def test_controls(server):
    assert ask(server, "controls/opt.narenas")["value"] > 0
    assert ask(server, "controls/version")["value"].startswith("5.3")
    refused(server, "controls/prof.dump?value=/tmp/x", "PUT", 403, "not_allowed")
    refused(server, "controls/arena.0.reset", "POST", 403, "not_allowed")
    refused(server, "controls/arenas.dirty_decay_ms?value=abc", "PUT", 400, "invalid_parameter")


@pytest.mark.parametrize("rest, method, code", [
    ("recordings", "POST", "missing_parameter"),
    ("recordings?for=1y", "POST", "invalid_parameter"),
    ("profiling?active=perhaps", "PUT", "invalid_parameter"),
    ("profiling?x=1", "GET", "unknown_parameter"),
    ("dumps/latest?format=nonsense", "GET", "invalid_parameter"),
    ("dumps/latest?format=text&focus=(", "GET", "invalid"),
])
def test_what_cannot_be_meant(server, rest, method, code):
    refused(server, rest, method, 400, code)


def test_a_target_that_cannot_be_profiled(scratch, unprofiled):  # noqa: F811
    with serve(scratch, unprofiled.pid) as endpoint:
        endpoint.pid = unprofiled.pid
        assert ask(endpoint, "profiling")["available"] is False
        for rest, method in (("profiling?active=true", "PUT"), ("recordings?for=1s", "POST"), ("dumps", "POST"), ("reset", "POST")):
            error = ask(endpoint, rest, method, 409)["error"]
            assert "prof:true" in error["message"] + error["hint"]
        assert "stats.arenas" in endpoint.get(path(endpoint, "statistics")).json()["jemalloc"]
