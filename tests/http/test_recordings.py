# SPDX-License-Identifier: Apache-2.0
"""Recordings by `jescope serve`, and their fate when the target or the server ends or another client interferes."""

import signal

import pytest
from endpoint import is_active, is_whole_dump, serve, set_active
from services import DEADLINE, PYTHON, SERVICE, environment, service, started, wait_for


@pytest.fixture
def program(scratch):
    with service(scratch, "--sample", "1KiB") as found:
        yield found


@pytest.fixture
def endpoint(scratch, program):
    with serve(scratch, program.pid) as found:
        found.base += f"/api/v1/targets/{program.pid}"
        yield found


def start(endpoint, duration):
    answer = endpoint.post(f"/recordings?for={duration}")
    assert answer.status in (200, 201, 202), answer
    recording = answer.json()
    assert recording["state"] == "running"
    return recording["id"]


def get(endpoint, number):
    answer = endpoint.get(f"/recordings/{number}")
    assert answer.status == 200, answer
    return answer.json()


def wait_for_end(endpoint, number):
    wait_for(lambda: get(endpoint, number)["state"] != "running", "the recording ends")
    return get(endpoint, number)


def test_ends_with_a_dump(scratch, endpoint, program):
    number = start(endpoint, "500ms")
    assert is_active(scratch, program.pid)
    program.allocate()
    ended = wait_for_end(endpoint, number)
    assert ended["state"] == "done"
    assert not is_active(scratch, program.pid)
    assert is_whole_dump(endpoint.get(f"/recordings/{number}/result").body)
    assert [recording["id"] for recording in endpoint.get("/recordings").json()["recordings"]] == [number]


def test_one_at_a_time(endpoint):
    first = start(endpoint, "1h")
    refused = endpoint.post("/recordings?for=1s")
    assert refused.status in (409, 423, 429), refused
    assert endpoint.post(f"/recordings/{first}/stop").json()["state"] == "done"
    second = start(endpoint, "1h")
    assert second > first
    assert endpoint.ask("DELETE", f"/recordings/{second}").json()["state"] == "done"


def test_somebody_else_switches_profiling_off(scratch, endpoint, program):
    number = start(endpoint, "1h")
    set_active(scratch, program.pid, False)
    assert endpoint.post(f"/recordings/{number}/stop").json()["state"] == "dropped"
    assert endpoint.get("/dumps").json()["dumps"] == []


def test_the_target_dies(endpoint, program):
    number = start(endpoint, "1h")
    program.kill()
    ended = wait_for_end(endpoint, number)
    assert ended["state"] == "failed" and "ended" in str(ended)


def test_clean_end(scratch, program):
    """The recording ends early, with its dump, and profiling is as it was."""
    history = scratch / "clean" / "kept.db"
    with serve(scratch, "--history", history, program.pid) as endpoint:
        endpoint.base += f"/api/v1/targets/{program.pid}"
        number = start(endpoint, "1h")
        endpoint.process.send_signal(signal.SIGTERM)
        assert endpoint.process.wait(DEADLINE) == 0
    assert not is_active(scratch, program.pid)
    with serve(scratch, "--history", history, program.pid) as endpoint:
        endpoint.base += f"/api/v1/targets/{program.pid}"
        wait_for(lambda: endpoint.get("").status == 200, "the target is found")
        assert get(endpoint, number)["state"] == "done"
        assert is_whole_dump(endpoint.get(f"/recordings/{number}/result").body)


def test_killed_server(scratch, program):
    """Nothing stays on: the agent ends a lease that is not renewed."""
    with serve(scratch, program.pid) as endpoint:
        endpoint.base += f"/api/v1/targets/{program.pid}"
        start(endpoint, "1h")
        endpoint.process.kill()
        endpoint.process.wait(DEADLINE)
    assert is_active(scratch, program.pid)
    wait_for(lambda: not is_active(scratch, program.pid), "the lease runs out")


def test_killed_server_of_a_process_without_agent(scratch):
    """The keeper ends it: a process of its own, which outlives the server."""
    variables = environment(scratch, PYTHONMALLOC="malloc", LD_PRELOAD="libjemalloc.so.2", MALLOC_CONF="prof:true,prof_active:false")
    with started([PYTHON, "-c", SERVICE], env=variables) as process:
        pid = int(process.stdout.readline())
        with serve(scratch, pid) as endpoint:
            endpoint.base += f"/api/v1/targets/{pid}"
            assert get(endpoint, start(endpoint, "1h"))["state"] == "running"
            assert is_active(scratch, pid)
            endpoint.process.kill()
            endpoint.process.wait(DEADLINE)
        wait_for(lambda: not is_active(scratch, pid), "the keeper switches it off")
