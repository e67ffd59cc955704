# SPDX-License-Identifier: Apache-2.0
"""Root's commands and server beside processes of many users, who may all be one: any user can have thousands of subordinate user ids."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import time

import neighbours
import pytest
from endpoint import serve
from neighbours import LOCKED_S, PS_S, SHELL_WORDS, known, locked, slow_files
from programs import profiled  # noqa: F401
from services import free_port, jescope, wait_for

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="targets of another user need root")

# Users below this one, of whom no other test has processes.
USER = 65500

SLOW = 90
# Processes of one jescope that wait and cannot be killed: 64, and one for each further user, all of whom have a prompt process, too.
# Three for each user would be more.
STUCK = SLOW + 6
FOUND_S = 30  # two scans, each with 9 s for such processes


def test_ps_waits_for_agents_of_many_users_together(folder, profiled):  # noqa: F811
    """For a second with each it would take longer than the whole list may."""
    with contextlib.ExitStack() as stack:
        strangers = []
        for user in range(USER - 60, USER):
            own = folder / str(user)
            own.mkdir()
            strangers += stack.enter_context(neighbours.hostile(own, 1, "silent", user=user))
        begin = time.monotonic()
        rows = {row["pid"]: row for row in json.loads(jescope(folder, "ps", "--json").stdout)["processes"]}
        assert time.monotonic() - begin < PS_S
        assert rows[profiled.pid]["trouble"] is None
        assert all(rows[pid]["trouble"] for pid in strangers)


def test_ps_ends_where_file_systems_of_many_users_do_not_answer(folder, profiled):  # noqa: F811
    """It says whom it left out, and lists those whose users nobody delays."""
    with contextlib.ExitStack() as stack:
        for user in range(USER - 60, USER):
            own = folder / str(user)
            own.mkdir()
            stack.enter_context(slow_files(own, user=user))
        begin = time.monotonic()
        done = jescope(folder, "ps")
        assert time.monotonic() - begin < PS_S
        assert re.search(r"^ *%d .* agent " % profiled.pid, done.stdout, re.M), done.stdout
        assert re.search(r"processes were left out, since others did not answer in time; their users: .*65\d{3}, .* more;", done.stderr), done.stderr


def stuck():
    """Processes of the commands that this test has begun that wait without end for a file system, and cannot be killed."""
    found = 0
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, group = re.match(r"\d+ \(jescope\) (.) \d+ (\d+)|", path.read_text()).groups()
            found += state == "D" and int(group) == os.getpgrp()
    return found


def test_file_systems_of_many_users_that_do_not_answer(folder, profiled):  # noqa: F811
    """One may have thousands of user ids. Of the processes that wait for each of them, a bounded number remains; the others are found."""
    with contextlib.ExitStack() as stack:
        for user in range(USER - SLOW, USER):
            own = folder / str(user)
            own.mkdir()
            stack.enter_context(slow_files(own, user=user))
        assert jescope(folder, "ps", check=False).stdout
        after_ps = stuck()
        assert 0 < after_ps <= STUCK
        with serve(folder, "--every=1s") as server:
            begin = time.monotonic()
            wait_for(lambda: profiled.pid in known(server), "a target of root's is found")
            assert time.monotonic() - begin < FOUND_S
            time.sleep(FOUND_S / 2)
            assert stuck() - after_ps <= STUCK


def test_a_user_who_is_known_is_found_beside_many_who_are_slow(folder):
    """Those of a user whose processes answered before come first."""
    folder.chmod(0o755)
    with contextlib.ExitStack() as stack:
        first = folder / "first"
        first.mkdir()
        server = stack.enter_context(serve(folder, "--every=1s", port=free_port()))
        [known_one] = stack.enter_context(neighbours.hostile(first, 1, "late", user=USER - 91))
        wait_for(lambda: known_one in known(server), "a target of this user is found")
        for user in range(USER - 40, USER):
            own = folder / str(user)
            own.mkdir()
            stack.enter_context(slow_files(own, user=user))
        second = folder / "second"
        second.mkdir()
        [next_one] = stack.enter_context(neighbours.hostile(second, 1, "late", user=USER - 91))
        begin = time.monotonic()
        wait_for(lambda: next_one in known(server), "another one of it is found")
        assert time.monotonic() - begin < FOUND_S


@pytest.mark.parametrize("words", [["status"], ["record", "--children", "--for=1s"]])
def test_namesakes_of_many_users_whose_files_do_not_answer(folder, words):
    """A command about a name looks at all processes that have it."""
    with contextlib.ExitStack() as stack:
        for user in range(USER - 40, USER):
            own = folder / str(user)
            own.mkdir()
            shell = shutil.copy("/bin/sh", own / "slow_namesake")
            stack.enter_context(slow_files(own, user=user, words=(shell, *SHELL_WORDS)))
        begin = time.monotonic()
        done = jescope(folder, *words, "slow_namesake", check=False)
        assert time.monotonic() - begin < PS_S, done
        assert done.returncode != 0 and "'slow_namesake'" in done.stderr, done


@pytest.mark.parametrize("words", [["ps"], ["status", "no-such-name"]])
def test_memory_of_many_users_that_is_locked(folder, profiled, words):  # noqa: F811
    """The arguments are there, in which there are the whole of a name that the kernel has cut, and names to find a process by."""
    folder.chmod(0o755)
    with contextlib.ExitStack() as stack:
        for user in range(USER - 25, USER):
            own = folder / str(user)
            own.mkdir()
            stack.enter_context(locked(own, user))
        time.sleep(LOCKED_S)
        begin = time.monotonic()
        done = jescope(folder, *words, check=False)
        assert time.monotonic() - begin < PS_S, done
        if words[0] == "ps":
            assert re.search(r"^ *%d .* agent " % profiled.pid, done.stdout, re.M), done
        else:
            assert "no-such-name" in done.stderr, done
