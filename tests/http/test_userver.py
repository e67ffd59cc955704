# SPDX-License-Identifier: Apache-2.0
"""userver's handler-jemalloc: one test a row of the conformance table, by its number."""

import pytest
import victims
from endpoint import is_active, is_whole_dump, serve, set_active
from programs import foreign, old_unprofiled, profiled, running_redis, standin, unbuilt, unprofiled  # noqa: F401
from services import jescope
from served import none, off, old_off, ready, server, without  # noqa: F401

PROF = "/service/jemalloc/prof"
OK = b"OK\n"
COMMANDS = ("enable", "disable", "dump", "stat", "bg_threads_set_max?count=1", "bg_threads_enable", "bg_threads_disable")


def do(endpoint, command):
    """The body of a command's answer, which is 200 whatever became of it."""
    answer = endpoint.post(f"{PROF}/{command}")
    assert answer.status == 200, answer
    return answer.body


def error(text):
    return f"mallctl() returned error: {text}\n".encode()


def test_c1_enable(scratch, ready):
    assert do(ready, "enable") == OK
    assert is_active(scratch, ready.pid)


def test_c2_enable_with_prof_false(off, old_off):
    assert do(off, "enable") == error("No such file or directory")
    assert do(old_off, "enable") == OK


def test_c3_disable(scratch, ready, off, old_off):
    set_active(scratch, ready.pid, True)
    assert do(ready, "disable") == OK
    assert not is_active(scratch, ready.pid)
    assert do(off, "disable") == OK
    assert do(old_off, "disable") == OK


@pytest.mark.parametrize("command", ["enable", "disable", "dump"])
def test_c4_not_compiled(none, command):
    assert do(none, command) == error("No such file or directory")


def test_c5_dump(scratch, tmp_path):
    with running_redis(scratch, "dumping", MALLOC_CONF=f"prof_prefix:{tmp_path}/dump") as redis, serve(scratch, redis.pid) as endpoint:
        for number in range(2):
            assert do(endpoint, "dump") == OK
            assert is_whole_dump((tmp_path / f"dump.{redis.pid}.{number}.m{number}.heap").read_bytes())


@pytest.mark.parametrize("prefix", ["/proc/none/dump", ""], ids=["missing", "empty"])
def test_c6_dump_into_nowhere(scratch, prefix):
    with running_redis(scratch, f"nowhere{len(prefix)}", MALLOC_CONF=f"prof_prefix:{prefix}") as redis, \
         serve(scratch, redis.pid) as endpoint:
        assert do(endpoint, "dump") == error("Bad address")


def test_c7_dump_with_prof_false(off, old_off):
    assert do(off, "dump") == error("No such file or directory")
    assert do(old_off, "dump") == error("Bad address")


def test_c8_statistics(ready, off, old_off):
    text = do(ready, "stat").decode()
    assert text.startswith("___ Begin jemalloc statistics ___\n") and text.endswith("--- End jemalloc statistics ---\n")
    for endpoint in (ready, off, old_off):
        assert "  prof.active: false\n" in do(endpoint, "stat").decode()


def test_c9_limit_of_background_threads(ready):
    for count in ("1", "4", "%2B2", "1"):
        assert do(ready, f"bg_threads_set_max?count={count}") == OK


@pytest.mark.parametrize("count", ["5", "1000"])
def test_c10_limit_above_the_maximum(ready, count):
    assert do(ready, f"bg_threads_set_max?count={count}") == error("Invalid argument")


@pytest.mark.parametrize("count", ["0", "-0", "%2B0", "000"])
def test_c11_no_background_threads_at_all(scratch, ready, tmp_path, count):
    """The original lets it pass, and the program dies of it with the next command."""
    assert do(ready, f"bg_threads_set_max?count={count}") == error("Invalid argument")
    assert do(ready, "bg_threads_enable") == OK
    assert do(ready, "bg_threads_disable") == OK
    log = tmp_path / "calls"
    with standin(scratch, "off", STANDIN_LOG=str(log)) as victim, serve(scratch, victim.pid) as old:
        assert do(old, f"bg_threads_set_max?count={count}") == error("Invalid argument")
        assert do(old, "bg_threads_enable") == OK
    assert "write background_thread" in log.read_text() and "write max_background_threads" not in log.read_text()


@pytest.mark.parametrize("query", ["", "?", "?Count=1", "?counts=1"])
def test_c12_no_count(ready, query):
    answer = ready.post(f"{PROF}/bg_threads_set_max{query}")
    assert (answer.status, answer.body) == (400, b"missing 'count' argument")


def test_c13_count_without_a_number(ready):
    answer = ready.post(f"{PROF}/bg_threads_set_max?count=abc")
    assert (answer.status, answer.text) == (
        400, "invalid 'count' value: utils::FromString error: \"no number found\" while converting \"abc\" to unsigned long")


@pytest.mark.parametrize("count, why", [
    ("12x", "extra junk at the end of the string is not allowed"),
    ("-1", "overflow"),
    ("99999999999999999999", "overflow"),
    ("%201", "leading spaces are not allowed"),
    ("1%20", "trailing spaces are not allowed"),
    ("", "empty string"),
])
def test_c14_count_that_is_none(ready, count, why):
    answer = ready.post(f"{PROF}/bg_threads_set_max?count={count}")
    said = count.replace("%20", " ")
    assert (answer.status, answer.text) == (
        400, f"invalid 'count' value: utils::FromString error: \"{why}\" while converting \"{said}\" to unsigned long")


def has_background_thread(pid):
    return "jemalloc_bg_thd" in victims.threads(pid).values()


def test_c15_background_threads(ready):
    assert do(ready, "bg_threads_disable") == OK
    victims.eventually(lambda: not has_background_thread(ready.pid), "no background thread")
    assert do(ready, "bg_threads_enable") == OK
    victims.eventually(lambda: has_background_thread(ready.pid), "a background thread")
    assert do(ready, "bg_threads_disable") == OK
    victims.eventually(lambda: not has_background_thread(ready.pid), "no background thread")


@pytest.mark.parametrize("command", ["other", "Enable", "enable%20", "stats"])
def test_c16_another_command(ready, command):
    assert do(ready, command) == b"Unsupported command"


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "HEAD"])
def test_c17_another_method(scratch, ready, method):
    answer = ready.ask(method, f"{PROF}/enable")
    assert (answer.status, answer.body) == (405, b"")
    assert not is_active(scratch, ready.pid)


def test_c18_no_command(ready):
    answer = ready.post(PROF)
    assert (answer.status, answer.body) == (404, b"")
    assert do(ready, "") == b"Unsupported command"


@pytest.mark.parametrize("command", [command for command in COMMANDS if command != "stat"])
def test_c19_without_jemalloc(without, command):
    assert do(without, command) == error("Operation not supported")


def test_c20_statistics_without_jemalloc(without):
    assert do(without, "stat") == b"(libjemalloc support is disabled)"


@pytest.mark.parametrize("command", [*COMMANDS, "other", "bg_threads_set_max"])
def test_c21_content_type(ready, command):
    assert ready.post(f"{PROF}/{command}").type == "application/octet-stream"


def test_c22_a_slash_at_the_end(scratch, ready):
    assert do(ready, "enable/") == OK
    assert is_active(scratch, ready.pid)
    assert do(ready, "other/") == b"Unsupported command"
    assert ready.get(f"{PROF}/enable/").status == 405


def most_threads(endpoint, pid):
    return endpoint.get(f"/api/v1/targets/{pid}/controls/max_background_threads").json()["value"]


def test_c23_limit_from_the_start(scratch):
    """userver sets it to 1 when it starts: serve does so if it is told to, and a program may start with it."""
    limit = "--max-background-threads=1"
    with running_redis(scratch, "unlimited") as redis, running_redis(scratch, "limited", MALLOC_CONF="max_background_threads:1") as limited:
        with serve(scratch, redis.pid, limited.pid) as endpoint:
            assert most_threads(endpoint, redis.pid) > 1 and most_threads(endpoint, limited.pid) == 1
        with serve(scratch, redis.pid, limit) as endpoint:
            victims.eventually(lambda: most_threads(endpoint, redis.pid) == 1, "the limit is set")
            assert do(endpoint, "bg_threads_set_max?count=2") == OK
            assert most_threads(endpoint, redis.pid) == 2
    for words in ("0", "-1", "many"):
        assert "--max-background-threads: invalid number" in jescope(scratch, "serve", f"--max-background-threads={words}", check=False).stderr


def test_c24_what_the_statistics_say_of_profiling(ready):
    for command, word in (("enable", "true"), ("disable", "false")):
        assert do(ready, command) == OK
        lines = do(ready, "stat").decode().splitlines()
        assert [line for line in lines if " prof.active:" in line] == [f"  prof.active: {word}"]
