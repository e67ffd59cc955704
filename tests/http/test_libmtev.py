# SPDX-License-Identifier: Apache-2.0
"""libmtev's /mtev/memory.json and /mtev/heap_profile: one test a row of the conformance table, by its number."""

import pathlib

import pytest
from endpoint import is_active, is_whole_dump, serve, set_active
from programs import fill, foreign, old_unprofiled, profiled, unbuilt, unprofiled  # noqa: F401
from served import none, off, old_off, ready, server, without  # noqa: F401

PATHS = ("/mtev/memory.json", "/mtev/heap_profile")
STATUS_ACTIVE = b"opt.prof: true\nprof.active: true\nprof.thread_active_init: true\n"
STATUS_INACTIVE = STATUS_ACTIVE.replace(b"prof.active: true", b"prof.active: false")
STATUS_OFF = b'opt.prof: false\n# needs MALLOC_CONF="prof:true"\nprof.active: false\nprof.thread_active_init: false\n'
STATUS_UNBUILT = b"opt.prof: error\nprof.active: error\nprof.thread_active_init: error\n"


def check(answer, status, kind, body):
    assert (answer.status, answer.type, answer.body) == (status, kind, body)


def check_plain(answer, body, status=200):
    check(answer, status, "text/plain", body)


def test_b1_statistics(ready):
    answer = ready.get("/mtev/memory.json")
    assert (answer.status, answer.type) == (200, "application/json")
    assert answer.json()["jemalloc"]["version"].startswith("5.3")
    assert "stats.arenas" in answer.json()["jemalloc"]
    assert not answer.body.endswith(b"\n"), "5.3 writes no line end, and nothing is added"


def test_b1_statistics_are_passed_on_as_the_version_writes_them(old_off):
    check(old_off.get("/mtev/memory.json"), 200, "application/json",
          b'{\n\t"jemalloc": {\n\t\t"version": "5.2.1-0-gea6b3e973b477b8061e0076bb257dbd7f3faa756"\n\t}\n}\n')


def test_b2_statistics_without_jemalloc(without):
    check(without.get("/mtev/memory.json"), 200, "application/json", b"{}\n")


@pytest.mark.parametrize("query", ["active=true", "trigger_dump=true", "x", "=", "a=%zz"])
def test_b3_statistics_take_no_parameters(scratch, ready, query):
    answer = ready.get(f"/mtev/memory.json?{query}")
    assert (answer.status, answer.type) == (200, "application/json")
    assert "jemalloc" in answer.json()
    assert not is_active(scratch, ready.pid)


@pytest.mark.parametrize("query", ["", "?active=true", "?trigger_dump=true"])
def test_b4_without_jemalloc(without, query):
    check_plain(without.get(f"/mtev/heap_profile{query}"), b"libjemalloc is not loaded, cannot heap profile\n", 500)


def test_b5_active(scratch, ready):
    set_active(scratch, ready.pid, True)
    check_plain(ready.get("/mtev/heap_profile"), STATUS_ACTIVE)


def test_b6_inactive(ready):
    check_plain(ready.get("/mtev/heap_profile"), STATUS_INACTIVE)


def test_b7_prof_false(off, old_off):
    check_plain(off.get("/mtev/heap_profile"), STATUS_OFF)
    check_plain(old_off.get("/mtev/heap_profile"), STATUS_OFF)


def test_b8_not_compiled(none):
    check_plain(none.get("/mtev/heap_profile"), STATUS_UNBUILT)


def test_b9_activate(scratch, ready):
    for _ in range(2):
        check_plain(ready.get("/mtev/heap_profile?active=true"), b"Profiling is activated\n")
        assert is_active(scratch, ready.pid)


def test_b10_deactivate(scratch, ready):
    set_active(scratch, ready.pid, True)
    check_plain(ready.get("/mtev/heap_profile?active=false"), b"Profiling is deactivated\n")
    assert not is_active(scratch, ready.pid)


@pytest.mark.parametrize("value", ["TRUE", "1", "yes", "", "true%20", "tru"])
def test_b11_anything_but_true_deactivates(scratch, ready, value):
    set_active(scratch, ready.pid, True)
    check_plain(ready.get(f"/mtev/heap_profile?active={value}"), b"Profiling is deactivated\n")
    assert not is_active(scratch, ready.pid)


def test_b12_a_name_without_value_is_not_true(scratch, ready):
    set_active(scratch, ready.pid, True)
    check_plain(ready.get("/mtev/heap_profile?active"), b"Profiling is deactivated\n")
    assert not is_active(scratch, ready.pid)
    check_plain(ready.get("/mtev/heap_profile?trigger_dump"), STATUS_INACTIVE)


def test_b13_activate_with_prof_false(off, old_off):
    check_plain(off.get("/mtev/heap_profile?active=true"), b"No such file or directory", 500)
    check_plain(old_off.get("/mtev/heap_profile?active=true"), b"Profiling is activated\n")
    check_plain(old_off.get("/mtev/heap_profile"), STATUS_OFF)


def test_b14_deactivate_with_prof_false(off, old_off):
    check_plain(off.get("/mtev/heap_profile?active=false"), b"Profiling is deactivated\n")
    check_plain(old_off.get("/mtev/heap_profile?active=false"), b"Profiling is deactivated\n")


@pytest.mark.parametrize("value", ["true", "false"])
def test_b15_switch_what_is_not_compiled(none, value):
    check_plain(none.get(f"/mtev/heap_profile?active={value}"), b"No such file or directory", 500)


def heap_files():
    return set(pathlib.Path("/tmp").glob("heap_profile.*"))


def test_b16_dump(scratch, ready):
    set_active(scratch, ready.pid, True)
    before = heap_files()
    answer = ready.get("/mtev/heap_profile?trigger_dump=true")
    assert (answer.status, answer.type) == (200, "application/x-jemalloc-heap-profile")
    assert is_whole_dump(answer.body)
    assert heap_files() == before
    assert is_active(scratch, ready.pid)


def test_b17_dump_while_inactive(scratch, ready, profiled):  # noqa: F811
    set_active(scratch, ready.pid, True)
    fill(profiled)
    set_active(scratch, ready.pid, False)
    answer = ready.get("/mtev/heap_profile?trigger_dump=true")
    assert (answer.status, answer.type) == (200, "application/x-jemalloc-heap-profile")
    assert is_whole_dump(answer.body) and b"\n@ 0x" in answer.body
    assert not is_active(scratch, ready.pid)


def test_b18_dump_with_prof_false(off, old_off, none):
    check_plain(off.get("/mtev/heap_profile?trigger_dump=true"), b"No such file or directory", 500)
    check_plain(old_off.get("/mtev/heap_profile?trigger_dump=true"), b"Bad address", 500)
    check_plain(none.get("/mtev/heap_profile?trigger_dump=true"), b"No such file or directory", 500)


def test_b19_nothing_in_tmp_is_in_the_way_of_a_dump(ready):
    """No file is written, so the row's failure cannot come: here its path is a directory, which the original fails at."""
    obstacle = pathlib.Path(f"/tmp/heap_profile.{ready.pid}")
    obstacle.mkdir()
    try:
        answer = ready.get("/mtev/heap_profile?trigger_dump=true")
    finally:
        obstacle.rmdir()
    assert answer.status == 200 and is_whole_dump(answer.body)


@pytest.mark.parametrize("value", ["false", "TRUE", "1", ""])
def test_b20_anything_but_true_asks_for_the_status(ready, off, none, value):
    query = f"/mtev/heap_profile?trigger_dump={value}"
    check_plain(ready.get(query), STATUS_INACTIVE)
    check_plain(off.get(query), STATUS_OFF)
    check_plain(none.get(query), STATUS_UNBUILT)


@pytest.mark.parametrize("query", ["active=true&trigger_dump=true", "trigger_dump=true&active=true"])
def test_b21_active_goes_before_dump(scratch, ready, query):
    check_plain(ready.get(f"/mtev/heap_profile?{query}"), b"Profiling is activated\n")
    assert is_active(scratch, ready.pid)


def test_b22_the_first_of_two_counts(scratch, ready):
    check_plain(ready.get("/mtev/heap_profile?active=true&active=false"), b"Profiling is activated\n")
    assert is_active(scratch, ready.pid)
    check_plain(ready.get("/mtev/heap_profile?active=false&active=true"), b"Profiling is deactivated\n")
    assert not is_active(scratch, ready.pid)


def test_b23_dumps_at_the_same_time(ready):
    for answer in ready.ask_at_once(8, "/mtev/heap_profile?trigger_dump=true"):
        assert (answer.status, answer.type) == (200, "application/x-jemalloc-heap-profile")
        assert is_whole_dump(answer.body)
        assert answer.body.count(b"heap_v2/") == 1


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["HEAD", "POST", "PUT", "DELETE"])
def test_b24_other_methods(ready, method, path):
    answer = ready.ask(method, path)
    assert (answer.status, answer.reason.upper(), answer.body) == (404, "NOT FOUND", b"")


@pytest.mark.parametrize("path", PATHS)
def test_b25_options(ready, path):
    answer = ready.ask("OPTIONS", path)
    assert answer.header("allow") == "OPTIONS, GET"
    check(answer, 200, "text/html", b"")


def test_b26_not_allowed(scratch, profiled, read_token):  # noqa: F811
    with serve(scratch, *read_token.options, profiled.pid) as endpoint:
        answer = endpoint.get("/mtev/heap_profile?active=true", *read_token.headers)
        assert (answer.status, answer.reason, answer.type, answer.body) == (403, "DENIED", "text/html", b"")
        assert endpoint.get("/mtev/heap_profile", *read_token.headers).body == STATUS_INACTIVE
    assert not is_active(scratch, profiled.pid)


@pytest.mark.parametrize("path", ["/mtev/heap_profileX", "/mtev/heap_profile/", "/mtev/heap_profil", "/mtev/memoryXjson", "/mtev/"])
def test_b27_the_whole_path_counts(ready, path):
    answer = ready.get(path)
    assert (answer.status, answer.body) == (404, b"")


def test_b28_counts_of_events(ready, without):
    for endpoint in (ready, without):
        check(endpoint.get("/eventer/memory.json"), 200, "application/json", b'{"eventer_t":{"current":0,"total":0}}')
    assert ready.ask("HEAD", "/eventer/memory.json").status == 404
