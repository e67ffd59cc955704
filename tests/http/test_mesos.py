# SPDX-License-Identifier: Apache-2.0
"""Mesos' /memory-profiler: one test a row of the conformance table, by its number."""

import json
import pathlib
import re
import shutil
import stat
import time

import pytest
from endpoint import is_active, is_whole_dump, serve, set_active
from programs import fill, foreign, old_unprofiled, profiled, running_redis, standin, unbuilt, unprofiled  # noqa: F401
from services import jescope, wait_for

BASE = "/memory-profiler"
PLAIN = "text/plain; charset=utf-8"
ENDPOINTS = ("start", "stop", "statistics", "state", "download/raw", "download/text", "download/graph")
DOWNLOADS = ("raw", "text", "graph")
NOTHING = {"raw": "Cannot access raw profile: Not yet generated.\n", "text": "No source profile exists: Not yet generated.\n",
           "graph": "No source profile exists: Not yet generated.\n"}
IN_PROGRESS = ("A profiling run is currently in progress. To download results of the previous run, please pass an 'id' "
               "explicitly.\n")
UNITS = "supported units are 'ns', 'us', 'ms', 'secs', 'mins', 'hrs', 'days', and 'weeks'"


@pytest.fixture
def ready(scratch, profiled):  # noqa: F811
    """A Redis that can be profiled and is not, behind a server that knows of no run."""
    set_active(scratch, profiled.pid, False)
    with serve(scratch, profiled.pid) as endpoint:
        endpoint.pid = profiled.pid
        endpoint.redis = profiled
        yield endpoint


def ask(endpoint, path, method="GET"):
    return endpoint.ask(method, f"{BASE}/{path}")


def refused(answer, body, status=400):
    assert (answer.status, answer.type, answer.text) == (status, PLAIN, body)


def get_json(endpoint, path):
    """The object that the answer is: in Mesos' form, keys in order, nothing between them, no line end."""
    answer = ask(endpoint, path)
    assert (answer.status, answer.type) == (200, "application/json"), answer
    value = answer.json()
    numbers = re.sub(r'("remaining_seconds":)[\d.e+-]+', r"\g<1>0", answer.text)
    again = json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    assert numbers == re.sub(r'("remaining_seconds":)[\d.e+-]+', r"\g<1>0", again)
    return value


def start(endpoint, duration=None):
    return get_json(endpoint, "start" if duration is None else f"start?duration={duration}")


def stop(endpoint):
    return get_json(endpoint, "stop")


def whole_state(endpoint):
    return get_json(endpoint, "state")


def state(endpoint):
    return whole_state(endpoint)["memory_profiler"]


def run(endpoint):
    """A whole run; its id."""
    number = start(endpoint)["id"]
    assert stop(endpoint)["id"] == str(number)
    return number


def has_ended(endpoint, number):
    found = state(endpoint)
    return found["current_run"] == {"id": number, "remaining_seconds": 0} and found["tmp_dir"] != "Not yet generated"


def is_off(endpoint):
    answers = [ask(endpoint, path) for path in ENDPOINTS]
    return all((answer.status, answer.text) == (404, "404 Not Found.") for answer in answers)


@pytest.mark.parametrize("dialects", ["none", "libmtev,userver,pprof"])
def test_d1_switched_off(scratch, profiled, dialects):  # noqa: F811
    with serve(scratch, f"--dialects={dialects}", profiled.pid) as endpoint:
        assert is_off(endpoint)


@pytest.mark.parametrize("value", ["false", "disabled", "true"])
def test_d1_switched_by_libprocess_own_variable(scratch, profiled, value):  # noqa: F811
    """Of the program, or of the server."""
    variable = {"LIBPROCESS_MEMORY_PROFILING": value}
    with standin(scratch, "on", **variable) as victim, serve(scratch, victim.pid) as endpoint:
        assert is_off(endpoint) == (value != "true")
    with serve(scratch, profiled.pid, **variable) as endpoint:
        assert is_off(endpoint) == (value != "true")


def test_d2_without_jemalloc(scratch, foreign):  # noqa: F811
    with serve(scratch, foreign.pid) as endpoint:
        for path in ("start", "start?duration=600", "stop", "statistics"):
            answer = ask(endpoint, path)
            assert (answer.status, answer.type) == (400, PLAIN)
            assert answer.text.startswith("\nThe current binary doesn't seem to be linked against jemalloc")
            assert answer.text.endswith(".\n")


def test_d3_start(scratch, ready):
    before = int(time.time())
    answer = start(ready)
    assert sorted(answer) == ["id", "message", "remaining_seconds"]
    assert before <= answer["id"] <= time.time()
    assert answer["message"].startswith("Successfully started new heap profiling run. ")
    assert f"{BASE}/download/raw?id={answer['id']}" in answer["message"] and f"{BASE}/stop" in answer["message"]
    assert answer["remaining_seconds"] == "300"
    assert is_active(scratch, ready.pid)


def test_d3_a_browser_lands_on_the_result(ready):
    answer = ask(ready, "start?duration=2secs")
    assert answer.header("refresh") == f"2; url={BASE}/download/graph?id={answer.json()['id']}"
    fill(ready.redis)
    wait_for(lambda: has_ended(ready, answer.json()["id"]), "the run ends")
    assert ready.get(answer.header("refresh").partition("url=")[2]).status == 200


def test_d4_duration(ready):
    assert start(ready, "10secs")["remaining_seconds"] == "10"


def test_d5_start_again(ready):
    first = start(ready, "2hrs")
    again = start(ready, "10secs")
    assert again["id"] == first["id"]
    assert again["message"].startswith("Heap profiling is already active.")
    assert 7190 <= int(again["remaining_seconds"]) <= 7200
    assert 7190 <= state(ready)["current_run"]["remaining_seconds"] <= 7200


def test_d6_start_while_others_profile(scratch, ready):
    set_active(scratch, ready.pid, True)
    refused(ask(ready, "start"), "Heap profiling was started externally.\n", 409)
    assert is_active(scratch, ready.pid)


def test_d7_start_with_prof_false(scratch, unprofiled, unbuilt, old_unprofiled):  # noqa: F811
    for program in (unprofiled, unbuilt):
        with serve(scratch, program.pid) as endpoint:
            answer = ask(endpoint, "start")
            assert (answer.status, answer.type) == (400, PLAIN)
            assert answer.text.startswith("\nThe current process seems to be using jemalloc, but profiling")
            assert "couldn't be enabled." in answer.text and answer.text.endswith(".\n")
    with serve(scratch, old_unprofiled.pid) as endpoint:
        answer = start(endpoint)
        assert answer["message"].startswith("Successfully started") and answer["remaining_seconds"] == "300"


@pytest.mark.parametrize("duration", ["600", "", "abc", "-5secs", "+5secs", "5 secs".replace(" ", "%20"), "secs5"])
def test_d8_duration_without_unit(scratch, ready, duration):
    answer = ask(ready, f"start?duration={duration}")
    assert (answer.status, answer.type) == (400, PLAIN)
    assert answer.text.startswith("Could not parse parameter 'duration': ") and answer.text.endswith(".\n")
    if duration in ("600", ""):
        assert answer.text == f"Could not parse parameter 'duration': Invalid duration '{duration}'.\n"
    assert not is_active(scratch, ready.pid)


@pytest.mark.parametrize("unit", ["m", "s", "minutes", "SECS"])
def test_d9_unknown_unit(ready, unit):
    refused(ask(ready, f"start?duration=5{unit}"),
            f"Could not parse parameter 'duration': Unknown duration unit '{unit}'; {UNITS}.\n")


def test_d10_unit_alone(ready):
    refused(ask(ready, "start?duration=mins"), "Could not parse parameter 'duration': Failed to convert '' to number.\n")


@pytest.mark.parametrize("duration", ["500ms", "25hrs", "2days", "1ns", "3weeks"])
def test_d11_duration_out_of_range(ready, duration):
    refused(ask(ready, f"start?duration={duration}"), f"Duration '{duration}' must be between 1secs and 1days.\n")


@pytest.mark.parametrize("duration, seconds", [("1secs", 1), ("1days", 86400), ("0.5mins", 30), ("1500ms", 2), ("24hrs", 86400)])
def test_d12_durations(ready, duration, seconds):
    assert int(start(ready, duration)["remaining_seconds"]) in (seconds, seconds - 1)


def test_d13_bad_duration_during_a_run(ready):
    number = start(ready)["id"]
    refused(ask(ready, "start?duration=600"), "Could not parse parameter 'duration': Invalid duration '600'.\n")
    refused(ask(ready, "start?duration=500ms"), "Duration '500ms' must be between 1secs and 1days.\n")
    assert state(ready)["current_run"]["id"] == number


def test_d14_stop(scratch, ready):
    number = start(ready)["id"]
    answer = stop(ready)
    message = answer.pop("message")
    assert message.startswith("Successfully stopped memory profiling run.")
    assert answer == {
        "id": str(number),
        "url_graph_profile": f"{BASE}/download/graph?id={number}",
        "url_raw_profile": f"{BASE}/download/raw?id={number}",
        "url_symbolized_profile": f"{BASE}/download/text?id={number}",
    }
    assert not is_active(scratch, ready.pid)


def test_d15_stop_without_a_run(ready):
    refused(ask(ready, "stop"), "Not yet generated.\n")


def test_d16_stop_after_a_run(ready):
    number = run(ready)
    again = stop(ready)
    assert again["id"] == str(number) and again["message"].startswith("Successfully stopped memory profiling run.")


def test_d17_stop_while_others_profile(scratch, ready):
    set_active(scratch, ready.pid, True)
    refused(ask(ready, "stop"), "Profiling is active, but was not started by libprocess. Accessing the raw profile through libprocess "
                                "is currently not supported.\n")
    assert is_active(scratch, ready.pid)


def test_d18_stop_without_knowing_the_state(scratch, unbuilt, tmp_path):  # noqa: F811
    unreadable = "Error interfacing with jemalloc: Couldn't read option prof.active: No such file or directory.\n"
    with serve(scratch, unbuilt.pid) as endpoint:
        refused(ask(endpoint, "stop"), unreadable)
    failures = tmp_path / "failures"
    with standin(scratch, "on", STANDIN_FAIL=str(failures)) as victim, serve(scratch, victim.pid) as endpoint:
        failures.write_text("read prof.active 2\n")
        refused(ask(endpoint, "stop"), unreadable)


def test_d19_the_dump_fails(scratch, old_unprofiled, tmp_path):  # noqa: F811
    failures = tmp_path / "failures"
    failures.write_text("write prof.dump 14\n")
    pattern = r"Failed to create artifact: Couldn't write value (/\S+/profile\.dump) for option prof\.dump: Bad address\.\n"
    with standin(scratch, "on", STANDIN_FAIL=str(failures)) as victim, serve(scratch, victim.pid) as endpoint:
        start(endpoint)
        answer = ask(endpoint, "stop")
        assert (answer.status, answer.type) == (400, PLAIN)
        assert re.fullmatch(pattern, answer.text), answer.text
        assert not is_active(scratch, victim.pid)
    with serve(scratch, old_unprofiled.pid) as endpoint:
        start(endpoint)
        assert ask(endpoint, "stop").status == 400


def test_d20_switched_off_by_others(scratch, ready):
    start(ready)
    set_active(scratch, ready.pid, False)
    refused(ask(ready, "stop"), "Not yet generated.\n")
    earlier = run(ready)
    start(ready, "1secs")
    set_active(scratch, ready.pid, False)
    wait_for(lambda: has_ended(ready, earlier), "the run is dropped")
    assert stop(ready)["id"] == str(earlier)
    assert is_whole_dump(ask(ready, "download/raw").body)


def test_d21_expiry(scratch, ready):
    first = run(ready)
    before = ask(ready, "download/raw")
    second = start(ready, "1secs")["id"]
    assert second != first
    fill(ready.redis)
    wait_for(lambda: has_ended(ready, second), "the run ends")
    assert not is_active(scratch, ready.pid)
    after = ask(ready, f"download/raw?id={second}")
    assert after.status == 200 and is_whole_dump(after.body) and after.body != before.body
    assert after.header("content-disposition") == before.header("content-disposition")
    refused(ask(ready, f"download/raw?id={first}"), f"Cannot serve requested id #{first}.\n")


def test_d22_state_without_jemalloc(scratch, foreign):  # noqa: F811
    with serve(scratch, foreign.pid) as endpoint:
        assert ask(endpoint, "state").text == (
            '{"memory_profiler":{"current_run":{"id":null},"jemalloc_detected":false,"tmp_dir":"Not yet generated"}}')


def test_d23_state_before_a_run(ready):
    found = whole_state(ready)
    assert found["jemalloc"]["malloc_conf"].pop("environment").startswith("prof:true,prof_active:false,")
    assert found == {
        "jemalloc": {"malloc_conf": {"build_options": ""}, "profiling_active": False, "profiling_enabled": True},
        "memory_profiler": {"current_run": {"id": None}, "jemalloc_detected": True, "tmp_dir": "Not yet generated"},
    }


def test_d23_options_of_the_build_and_of_the_environment(scratch):
    with standin(scratch, "on", STANDIN_CONF="narenas:3", MALLOC_CONF="prof:true") as victim, serve(scratch, victim.pid) as endpoint:
        assert whole_state(endpoint)["jemalloc"]["malloc_conf"] == {"build_options": "narenas:3", "environment": "prof:true"}


def test_d24_state_during_a_run(ready):
    number = start(ready, "100secs")["id"]
    found = state(ready)
    assert found["current_run"]["id"] == number
    assert 90 < found["current_run"]["remaining_seconds"] < 100
    assert whole_state(ready)["jemalloc"]["profiling_active"] is True


def test_d25_state_after_a_run(ready):
    number = run(ready)
    found = state(ready)
    assert found["current_run"] == {"id": number, "remaining_seconds": 0}
    folder = pathlib.Path(found["tmp_dir"])
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert (folder / "profile.dump").read_bytes() == ask(ready, "download/raw").body


def test_d26_state_without_profiling(scratch, unbuilt, unprofiled):  # noqa: F811
    with serve(scratch, unbuilt.pid) as endpoint:
        found = whole_state(endpoint)["jemalloc"]
        assert found["profiling_enabled"] is False
        assert found["profiling_active"] == "Couldn't read option prof.active: No such file or directory"
    with serve(scratch, unprofiled.pid) as endpoint:
        found = whole_state(endpoint)["jemalloc"]
        assert found["profiling_enabled"] is True and found["profiling_active"] is False


def test_d27_statistics(ready):
    answer = ask(ready, "statistics")
    assert (answer.status, answer.type) == (200, "application/json; charset=utf-8")
    assert answer.json()["jemalloc"]["version"].startswith("5.3")


def test_d28_raw(ready):
    run(ready)
    answer = ask(ready, "download/raw")
    assert (answer.status, answer.type) == (200, "application/octet-stream")
    assert answer.header("content-disposition") == f"attachment; filename={state(ready)['tmp_dir']}/profile.dump"
    assert is_whole_dump(answer.body)


@pytest.mark.parametrize("what", DOWNLOADS)
def test_d29_nothing_generated(ready, what):
    refused(ask(ready, f"download/{what}"), NOTHING[what])
    refused(ask(ready, f"download/{what}?id=1"), NOTHING[what])


@pytest.mark.parametrize("what", DOWNLOADS)
def test_d30_no_id_during_a_run(ready, what):
    start(ready)
    refused(ask(ready, f"download/{what}"), IN_PROGRESS)
    refused(ask(ready, f"download/{what}?id=1"), NOTHING[what])


@pytest.mark.parametrize("what", DOWNLOADS)
def test_d31_previous_profile_during_a_run(ready, what):
    number = run(ready)
    before = ask(ready, f"download/{what}")
    start(ready)
    refused(ask(ready, f"download/{what}"), IN_PROGRESS)
    answer = ask(ready, f"download/{what}?id={number}")
    assert answer.status == 200 and answer.body == before.body


@pytest.mark.parametrize("what", DOWNLOADS)
def test_d32_other_id(ready, what):
    number = run(ready)
    for other in (number - 1, number + 1, 1):
        refused(ask(ready, f"download/{what}?id={other}"), f"Cannot serve requested id #{other}.\n")


@pytest.mark.parametrize("what", DOWNLOADS)
@pytest.mark.parametrize("number", ["12x", "1%202", "1.5"])
def test_d33_id_that_is_none(ready, what, number):
    refused(ask(ready, f"download/{what}?id={number}"), "Invalid parameter 'id': Garbage after parsed id.\n")


@pytest.mark.parametrize("what", DOWNLOADS)
def test_d34_id_out_of_range(ready, what):
    refused(ask(ready, f"download/{what}?id=99999999999999999999"), "Invalid parameter 'id': Numerical result out of range.\n")


@pytest.mark.parametrize("what", DOWNLOADS)
def test_d35_empty_id(ready, what):
    run(ready)
    refused(ask(ready, f"download/{what}?id="), "Cannot serve requested id #0.\n")


def test_d36_removed_meanwhile(scratch, profiled):  # noqa: F811
    """A server that keeps one dump of each target forgets the run's when another one is taken."""
    set_active(scratch, profiled.pid, False)
    with serve(scratch, "--dumps=1", profiled.pid) as endpoint:
        run(endpoint)
        assert ask(endpoint, "download/raw").status == 200
        assert endpoint.post(f"/api/v1/targets/{profiled.pid}/dumps").status in (200, 201)
        for what in DOWNLOADS:
            answer = wait_for(lambda: next((found for found in [ask(endpoint, f"download/{what}")] if found.status != 200), None),
                              "the run's dump is gone")
            refused(answer, "Requested file was deleted from local disk.\n")


@pytest.mark.parametrize("what, file", [("text", "symbolized-profile.dump"), ("graph", "profile.svg")])
def test_d37_made_from_the_dump(scratch, ready, what, file):
    start(ready)
    fill(ready.redis)
    stop(ready)
    answer = ask(ready, f"download/{what}")
    assert (answer.status, answer.type) == (200, "application/octet-stream")
    assert answer.header("content-disposition") == f"attachment; filename={state(ready)['tmp_dir']}/{file}"
    assert b"Total: " in answer.body if what == "text" else b"<svg" in answer.body
    assert ask(ready, f"download/{what}").body == answer.body


def test_d38_no_other_program_is_needed(scratch, profiled):  # noqa: F811
    """The row's failure cannot come: no jeprof, perl or dot is run. So none is on PATH here."""
    set_active(scratch, profiled.pid, False)
    with serve(scratch, profiled.pid, PATH=str(scratch / "nothing-here")) as endpoint:
        start(endpoint)
        fill(profiled)
        stop(endpoint)
        assert ask(endpoint, "download/text").status == 200
        assert ask(endpoint, "download/graph").status == 200


def test_d39_graph_of_an_empty_profile(scratch):
    with running_redis(scratch, "empty") as server, serve(scratch, server.pid) as endpoint:
        run(endpoint)
        assert b"\n@ " not in ask(endpoint, "download/raw").body
        answer = ask(endpoint, "download/graph")
        assert (answer.status, answer.type) == (400, PLAIN)
        assert answer.text.startswith("Cannot generate file: Failed to create artifact: ") and answer.text.endswith(".\n")
        assert ask(endpoint, "download/text").status == 200


def test_d40_names_of_the_main_program(ready):
    start(ready)
    fill(ready.redis)
    stop(ready)
    rows = ask(ready, "download/text").text.splitlines()
    assert any(row.endswith(("zmalloc", "processCommand", "call", "sdsnewlen", "_sdsnewlen", "main", "aeMain")) for row in rows), rows


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_d41_any_method(scratch, ready, method):
    answer = ask(ready, "start?duration=10secs", method)
    assert (answer.status, answer.json()["remaining_seconds"]) == (200, "10")
    assert is_active(scratch, ready.pid)
    assert ask(ready, "stop", method).json()["id"] == str(answer.json()["id"])
    assert ask(ready, "state", method).json()["memory_profiler"]["current_run"]["id"] == answer.json()["id"]
    assert is_whole_dump(ask(ready, "download/raw", method).body)


@pytest.mark.parametrize("path", ["state/", "state/x", "state/x/y"])
def test_d42_more_components(ready, path):
    assert ask(ready, path).text == ask(ready, "state").text


@pytest.mark.parametrize("path", ["", "other", "States", "download", "download/", "download/svg", "stat"])
def test_d43_unknown(ready, path):
    answer = ask(ready, path)
    assert (answer.status, answer.text) == (404, "404 Not Found.")


def test_d44_no_credentials(scratch, profiled, read_token):  # noqa: F811
    with serve(scratch, *read_token.options, "--require-token", profiled.pid) as endpoint:
        answer = ask(endpoint, "state")
        assert answer.status == 401 and answer.header("www-authenticate").startswith("Bearer")
        assert endpoint.get(f"{BASE}/state", *read_token.headers).status == 200


def live_bytes(dump):
    return sum(int(size) for size in re.findall(rb"^@ .*\n  t\*: \d+: (\d+) ", dump, re.M))


def test_d45_a_run_does_not_reset(scratch):
    with running_redis(scratch, "twice", "--sample", "4KiB") as server, serve(scratch, server.pid) as endpoint:
        start(endpoint)
        fill(server, 400)
        stop(endpoint)
        first = live_bytes(ask(endpoint, "download/raw").body)
        assert first > 0
        run(endpoint)
        assert live_bytes(ask(endpoint, "download/raw").body) > first / 2


def test_d46_the_end_fails(scratch, tmp_path):
    failures = tmp_path / "failures"
    with standin(scratch, "on", STANDIN_FAIL=str(failures)) as victim, serve(scratch, victim.pid) as endpoint:
        number = start(endpoint, "3secs")["id"]
        failures.write_text("write prof.active 14\n")
        wait_for(lambda: "prof.active" in endpoint.log.read_text(), "the end fails")
        assert state(endpoint)["current_run"]["id"] == number
        failures.write_text("")
        wait_for(lambda: has_ended(endpoint, number), "the run ends")
        assert is_whole_dump(ask(endpoint, "download/raw").body)


def test_d47_directory(scratch):
    folder = scratch / "elsewhere"
    folder.mkdir()
    folder.chmod(0o1777)  # as /tmp: the server of root's is another user
    with standin(scratch, "on") as victim, serve(scratch, victim.pid, TMPDIR=str(folder)) as endpoint:
        start(endpoint)
        assert state(endpoint)["tmp_dir"] == "Not yet generated" and list(folder.iterdir()) == []
        stop(endpoint)
        (made,) = folder.iterdir()
        assert re.fullmatch(r"libprocess\.\w{6}", made.name) and stat.S_IMODE(made.stat().st_mode) == 0o700
        assert state(endpoint)["tmp_dir"] == str(made)
        assert [file.name for file in made.iterdir()] == ["profile.dump"]
        for what, file in (("raw", "profile.dump"), ("text", "symbolized-profile.dump"), ("graph", "profile.svg")):
            answer = ask(endpoint, f"download/{what}")
            assert answer.header("content-disposition") == f"attachment; filename={made}/{file}"
            assert (made / file).read_bytes() == answer.body
            assert stat.S_IMODE((made / file).stat().st_mode) == 0o600
        # A later run's files take the place of these; a link created there is not followed.
        other = folder / "other"
        other.write_text("untouched")
        (made / "profile.dump").unlink()
        (made / "profile.dump").symlink_to(other)
        number = run(endpoint)
        assert ask(endpoint, f"download/raw?id={number}").body == (made / "profile.dump").read_bytes()
        assert not (made / "profile.dump").is_symlink() and other.read_text() == "untouched"
        other.unlink()
        # Files removed by a cleaner of temporary files are recreated.
        shutil.rmtree(made)
        again = pathlib.Path(state(endpoint)["tmp_dir"])
        assert (again / "profile.dump").exists()
    assert list(folder.iterdir()) == []


def test_d3_a_run_after_one_that_others_broke_off(scratch, ready):
    first = start(ready, "1hrs")["id"]
    set_active(scratch, ready.pid, False)
    second = start(ready, "1secs")
    assert second["id"] > first and second["message"].startswith("Successfully started") and second["remaining_seconds"] == "1"
    assert is_active(scratch, ready.pid)
    wait_for(lambda: has_ended(ready, second["id"]), "the second run ends")
    assert not is_active(scratch, ready.pid)


def test_d21_expiry_after_others_switched_off_and_on(scratch, ready):
    number = start(ready, "2secs")["id"]
    set_active(scratch, ready.pid, False)
    set_active(scratch, ready.pid, True)
    wait_for(lambda: has_ended(ready, number), "the run ends")
    assert not is_active(scratch, ready.pid)
    assert stop(ready)["id"] == str(number)


def test_help_pages(ready):
    listed = ready.get("/help/memory-profiler")
    assert (listed.status, listed.type) == (200, PLAIN)
    for path in ENDPOINTS:
        assert f"{BASE}/{path}" in listed.text
        one = ready.get(f"/help/memory-profiler/{path}")
        assert one.status == 200 and one.text.startswith("USAGE\n")
    assert ready.get("/help/memory-profiler/nothing").status == 404


@pytest.mark.parametrize("value, on", [("disabled", False), ("false", False), ("0", False), ("enabled", True), ("true", True)])
def test_flag_of_libprocess(scratch, profiled, value, on):  # noqa: F811
    with serve(scratch, profiled.pid, f"--memory_profiling={value}") as endpoint:
        assert is_off(endpoint) != on
        assert (endpoint.get("/help/memory-profiler").status == 200) == on


def test_flag_of_libprocess_with_another_value(scratch):
    done = jescope(scratch, "serve", "--memory_profiling=perhaps", check=False)
    assert done.returncode == 2 and "use enabled or disabled" in done.stderr
